package peers

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/rpc/pb"
	reg "github.com/jeton-dev/jeton/storage/register"
)

// An owner is the other end of a node's stream: it says what the test says.
type owner struct {
	grpc.ServerStream

	ctx   context.Context //nolint:containedctx // as a grpc.ServerStream has one
	says  chan *pb.ReserveIn
	hears chan *pb.ReservedOut
}

func (o *owner) Context() context.Context { return o.ctx }

func (*owner) SendHeader(metadata.MD) error { return nil }

func (o *owner) RecvMsg(m any) error {
	select {
	case in := <-o.says:
		*m.(*pb.ReserveIn) = *in
		return nil
	case <-o.ctx.Done():
		return o.ctx.Err()
	}
}

func (o *owner) SendMsg(m any) error {
	o.hears <- m.(*pb.ReservedOut)
	return nil
}

// TestSilentOwner opens a stream and pings for a while, then no more: the node ends the stream, but not while the silence is its own.
func TestSilentOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newLedger(1, reg.Partition{Epoch: 1})
		s, err := NewService(ServiceConfig{
			Store: store, Client: newTestClient(t, ClientConfig{}), Address: "here", Panics: newPanics(),
			Handle: func(context.Context, []byte) ([]byte, error) { return nil, errors.New("nothing is called") },
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(metadata.NewIncomingContext(t.Context(), metadata.Pairs(nodeHeader, ring.NodeID{5}.String())))
		defer cancel()
		o := &owner{ctx: ctx, says: make(chan *pb.ReserveIn), hears: make(chan *pb.ReservedOut, 10)}
		ended := make(chan error, 1)
		go func() { ended <- s.reserve(o) }()

		writer := string(make([]byte, 16))
		for i := range uint64(10) {
			time.Sleep(pingPeerEvery) //nolint:forbidigo // of the bubble
			o.says <- &pb.ReserveIn{ID: i, Now: midday, Writer: writer}
			if a := <-o.hears; a.ID != i || a.Error != "" || len(a.Answers) != 0 {
				t.Errorf("ping %d was answered with %+v", i, a)
			}
		}
		store.keepBack()
		rs := someReservations(0, 2)
		o.says <- &pb.ReserveIn{ID: 77, Now: midday, Writer: writer, Reservations: rs, Len: len(rs)}
		time.Sleep(time.Hour) //nolint:forbidigo // of the bubble
		if got := s.Connected(); len(got) != 1 || len(ended) > 0 {
			t.Errorf("while it waits for the disk, %v are connected", got)
		}
		start := time.Now()
		store.release(1)
		if a := <-o.hears; a.ID != 77 || len(a.Answers) != 2 {
			t.Errorf("got %+v", a)
		}
		o.says <- &pb.ReserveIn{ID: 78, Now: midday, Writer: writer}
		<-o.hears
		if err := <-ended; !errors.Is(err, limit.ErrUnavailable) {
			t.Errorf("ended with %v", err)
		}
		if took := time.Since(start); took < silentFor || took > silentFor+pingPeerEvery {
			t.Errorf("ended after a silence of %v", took)
		}
		if got := s.Connected(); len(got) != 0 {
			t.Errorf("%v are connected afterwards", got)
		}
		cancel()
		s.Wait()
	})
}

// TestNoRoundForNothing hands in answers before those before them are taken, as happens when run has just woken: when run has taken all, it
// does not wake once more for them, but for the next. The same holds for what an owner sends.
func TestNoRoundForNothing(t *testing.T) {
	r := &reserveStream{wake: make(chan struct{}, 1)}
	r.answered(&reserved{})
	<-r.wake // run wakes
	r.answered(&reserved{})
	if ready := r.take(nil); len(ready) != 2 || len(r.wake) != 0 {
		t.Errorf("%d of 2 answers are taken, and %d more rounds are to come", len(ready), len(r.wake))
	}
	if r.answered(&reserved{}); len(r.wake) != 1 {
		t.Error("run does not wake for an answer that comes later")
	}

	sent := make(chan *pb.ReserveIn, 2)
	o := newReserving(&script{ctx: t.Context(), sent: sent}, nil, atMidday, newMetrics().of("node"))
	defer func() { o.watching.Stop() }()
	ask(t, o, someReservations(0, 1))
	<-o.wake // send wakes
	ask(t, o, someReservations(1, 1))
	if err := o.sendAll(); err != nil {
		t.Fatal(err)
	}
	if m := <-sent; m.Len != 2 || len(o.wake) != 0 {
		t.Errorf("%d of 2 reservations are sent, and %d more rounds are to come", m.Len, len(o.wake))
	}
	if ask(t, o, someReservations(2, 1)); len(o.wake) != 1 {
		t.Error("send does not wake for what is asked later")
	}
}
