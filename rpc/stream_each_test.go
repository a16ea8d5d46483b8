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

// An eachFake is a Stub that is asked many things at once, and remembers how they came.
type eachFake struct {
	conformance.Stub

	mu   sync.Mutex
	came [][]string // the keys of each call, those of settlements with a sign
}

func (f *eachFake) Each(
	ctx context.Context, rs []limit.Request, checked func(int, limit.Result), ss []limit.Settlement, settled func(int, limit.Settled, error),
) {
	var keys []string
	for i, r := range rs {
		keys = append(keys, r.Key)
		go func() {
			d, err := f.Check(ctx, r)
			checked(i, limit.Result{Decision: d, Err: err})
		}()
	}
	for i, s := range ss {
		keys = append(keys, "settle "+s.Hold.Key)
		go func() {
			answer, err := f.Settle(ctx, s)
			settled(i, answer, err)
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
			if i < 2 { // the second replica too, should the first one seem silent
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
	m := &pb.CheckStreamRequest{Settlements: []*pb.StreamSettlement{{Id: 1, Settlement: settleMessage(ours[1], 3)}}}
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
		if came := fakes[2].calls(); len(came) != 1 || !slices.Equal(came[0], []string{ours[0], ours[1], ours[0], "settle " + ours[1]}) {
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

func (panicking) Each(context.Context, []limit.Request, func(int, limit.Result), []limit.Settlement, func(int, limit.Settled, error)) {
	panic("index out of range")
}

func TestStreamSettles(t *testing.T) { everyWay(t, streamSettles) }

// streamSettles sends settlements among checks: each gets the answer of its kind under its own number, and what cannot be read is an error
// of its own.
func streamSettles(t *testing.T, asked func(conformance.Stub) limit.Limiter) {
	t.Helper()
	_, conn := serve(t, Config{Limiter: asked(conformance.Stub{OnSettle: func(_ context.Context, s limit.Settlement) (limit.Settled, error) {
		switch s.Used {
		case 1:
			return limit.Settled{}, limit.ErrUnknownHold
		case 2:
			return limit.Settled{}, s.Validate()
		}
		return limit.SumSettled([]limit.SettledLimit{{Name: "demo", State: limit.HoldSettled, Charged: s.Used}}), nil
	}})})
	stream, err := pb.NewLimiterClient(conn).CheckStream(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	m := &pb.CheckStreamRequest{Checks: []*pb.StreamCheck{{Id: 9, Check: checkMessage("k")}}}
	for i, s := range []*pb.SettleRequest{settleMessage("k", 0), settleMessage("k", 1), {Hold: "none"}, settleMessage("l", 3), {Hold: holdOf("k").String(), Used: 2, ForNs: 60e9}} {
		m.Settlements = append(m.Settlements, &pb.StreamSettlement{Id: uint64(i), Settlement: s})
	}
	if err := errors.Join(stream.Send(m), stream.CloseSend()); err != nil {
		t.Fatal(err)
	}
	checked, charged, errs := 0, map[uint64]int64{}, map[uint64]error{}
	for checked+len(charged)+len(errs) < 6 {
		got, err := stream.Recv()
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range got.GetResults() {
			checked++
			if r.GetId() != 9 || !r.GetResult().GetDecision().GetAllowed() {
				t.Errorf("the check: %v", r)
			}
		}
		for _, r := range got.GetSettled() {
			settled, err := pb.DecodeSettledAnswer(r)
			if errs[r.GetId()] = err; err == nil {
				delete(errs, r.GetId())
				charged[r.GetId()] = settled.Charged
			}
		}
	}
	if want := map[uint64]int64{0: 0, 3: 3}; !maps.Equal(charged, want) || checked != 1 {
		t.Errorf("charged %v, and answered %d checks, want %v and one", charged, checked, want)
	}
	if !errors.Is(errs[1], limit.ErrUnknownHold) {
		t.Errorf("of an unknown hold: %v", errs[1])
	}
	for id, field := range map[uint64]string{2: "hold", 4: "for"} {
		if fe, is := errors.AsType[*limit.FieldError](errs[id]); !is || fe.Field != field {
			t.Errorf("settlement %d: %v, want an error of %s", id, errs[id], field)
		}
	}
}
