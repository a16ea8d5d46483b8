package rpc

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"sync"
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cluster-tests/conformance"
	"github.com/jeton-dev/jeton/rpc/pb"
)

// An eachFake is a Stub that takes many checks at once, and remembers how they came.
type eachFake struct {
	conformance.Stub

	mu   sync.Mutex
	came [][]string // the keys of each call
}

func (f *eachFake) CheckEach(ctx context.Context, rs []limit.Request, done func(int, limit.Result)) {
	var keys []string
	for i, r := range rs {
		keys = append(keys, r.Key)
		go func() {
			d, err := f.Check(ctx, r)
			done(i, limit.Result{Decision: d, Err: err})
		}()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.came = append(f.came, keys)
}

// calls are the keys that came together, since the last time.
func (f *eachFake) calls() [][]string {
	f.mu.Lock()
	defer f.mu.Unlock()
	came := f.came
	f.came = nil
	return came
}

// everyWay runs test with Limiters that streams ask one check at a time, and with such that take many at once.
func everyWay(t *testing.T, test func(t *testing.T, asked func(conformance.Stub) limit.Limiter)) {
	t.Helper()
	t.Run("one by one", func(t *testing.T) { test(t, func(f conformance.Stub) limit.Limiter { return f }) })
	t.Run("together", func(t *testing.T) { test(t, func(f conformance.Stub) limit.Limiter { return &eachFake{Stub: f} }) })
}

// TestStreamAsksTogether sends messages to a node that is a replica of some keys only: what is its business is asked in
// one call for each message, and nothing of it waits for what other nodes decide.
func TestStreamAsksTogether(t *testing.T) {
	fakes := make([]*eachFake, 3)
	stuck := make(chan struct{})
	nodes := routedNodes(t, 3, func(i int) limit.Limiter {
		fakes[i] = &eachFake{Stub: conformance.Stub{OnCheck: func(ctx context.Context, _ limit.Request) (limit.Decision, error) {
			if i == 0 {
				select {
				case <-stuck:
				case <-ctx.Done():
					return limit.Decision{}, ctx.Err()
				}
			}
			return limit.Decision{Allowed: true, Node: strconv.Itoa(i)}, nil
		}}}
		return fakes[i]
	})
	ours, elsewhere := []string{keyOf(1), keyOf(2)}, keyOf(0) // node 2 is a replica of the partitions that begin with 1 and 2
	m := &pb.CheckStreamRequest{}
	for i, key := range []string{ours[0], elsewhere, ours[1], ours[0]} {
		m.Checks = append(m.Checks, &pb.StreamCheck{Id: uint64(i), Check: checkMessage(key)})
	}
	for _, mark := range [][]string{{pb.MarkRouted}, {pb.MarkRouted, pb.MarkForwarded}} {
		stream, err := pb.NewLimiterClient(nodes[2].conn).CheckStream(with(t, mark...))
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(stream.Send(m), stream.CloseSend()); err != nil {
			t.Fatal(err)
		}
		got := map[uint64]limit.Result{}
		if forwarded := len(mark) > 1; forwarded {
			receive(t, stream, 4, got)
			if !errors.Is(got[1].Err, limit.ErrUnavailable) {
				t.Errorf("what is not its business, and was forwarded: %+v", got[1])
			}
		} else {
			receive(t, stream, 3, got)
			if ids := slices.Sorted(maps.Keys(got)); !slices.Equal(ids, []uint64{0, 2, 3}) {
				t.Errorf("answered while another node is stuck: %v", ids)
			}
			close(stuck)
			receive(t, stream, 4, got)
			if !got[1].Decision.Allowed {
				t.Errorf("what is not its business: %+v", got[1])
			}
		}
		for _, id := range []uint64{0, 2, 3} {
			if got[id].Err != nil || !got[id].Decision.Allowed {
				t.Errorf("%q, check %d: %+v", mark, id, got[id])
			}
		}
		if came := fakes[2].calls(); len(came) != 1 || !slices.Equal(came[0], []string{ours[0], ours[1], ours[0]}) {
			t.Errorf("%q: the node was asked %q, want its own in one call", mark, came)
		}
	}
}

// TestStreamPanicsBeforeDeciding has a bug met where many checks are handed over: it ends their call, and not the node.
func TestStreamPanicsBeforeDeciding(t *testing.T) {
	_, conn := serve(t, Config{Limiter: panicking{}})
	client := pb.NewLimiterClient(conn)
	for range 2 {
		stream, err := client.CheckStream(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		sendChecks(t, stream, 0, 3)
		if _, err := stream.Recv(); err == nil {
			t.Error("checks were answered that nobody has decided")
		} else {
			wantCode(t, err, codes.Internal, "out of range")
		}
	}
	if _, err := client.Check(t.Context(), checkMessage("k")); err != nil {
		t.Errorf("after the panic: %v", err)
	}
}

type panicking struct{ conformance.Stub }

func (panicking) CheckEach(context.Context, []limit.Request, func(int, limit.Result)) {
	panic("index out of range")
}
