package peers

import (
	"context"
	"reflect"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/rpc/pb"
	reg "github.com/jeton-dev/jeton/storage/register"
)

// A watched stream notes how its node answers, and may hide that the owner takes counts.
type watched struct {
	grpc.ServerStream

	hides         bool
	whole, counts *atomic.Int64 // messages that say an answer to each reservation, and that may count
}

func (w watched) Context() context.Context {
	ctx := w.ServerStream.Context()
	md, _ := metadata.FromIncomingContext(ctx)
	if md = md.Copy(); w.hides {
		delete(md, countsHeader)
	}
	return metadata.NewIncomingContext(ctx, md)
}

func (w watched) SendMsg(m any) error {
	if out := m.(*pb.ReservedOut); out.Asked != nil {
		w.counts.Add(1)
	} else {
		w.whole.Add(1)
	}
	return w.ServerStream.SendMsg(m)
}

// TestCountsAreForThoseThatTakeThem reserves with and without saying that the owner takes counts: the answers are the same, and only the one that
// says so gets a count. The scripted streams of TestSlowNode and others are a replica of before counts.
func TestCountsAreForThoseThatTakeThem(t *testing.T) {
	rs := someReservations(0, 20)
	rs[3].From--    // is behind what the replica has
	rs[7].Epoch = 9 // another one
	rs[9].Claim = true
	rs = append(rs, rs[5]) // again
	var answers [][]reg.Answer
	for _, takes := range []bool{true, false} {
		var whole, counts atomic.Int64
		store := newLedger(1, reg.Partition{Epoch: ring.FirstEpoch, Horizon: midday})
		n := startStation(t, stationConfig{id: 1, store: store, intercept: func(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
			return inWireForm(srv, watched{stream, !takes, &whole, &counts}, info, next)
		}})
		o := reserve(t, connectTo(t, newTestClient(t, ClientConfig{}), n.address), rs...)
		if o.err != nil {
			t.Fatal(o.err)
		}
		answers = append(answers, o.answers)
		if counted := counts.Load() > 0; counted != takes || (whole.Load() > 0) == takes {
			t.Errorf("takes counts: %v, got %d messages with counts and %d without", takes, counts.Load(), whole.Load())
		}
	}
	if !reflect.DeepEqual(answers[0], answers[1]) {
		t.Errorf("with a count\n%+v, without\n%+v", answers[0], answers[1])
	}
	for i, want := range map[int]reg.Verdict{0: reg.Accepted, 3: reg.Taken, 7: reg.WrongEpoch, 9: reg.Accepted, 20: reg.Accepted} {
		if got := answers[0][i].Verdict; got != want {
			t.Errorf("reservation %d: verdict %d, want %d", i, got, want)
		}
	}
}
