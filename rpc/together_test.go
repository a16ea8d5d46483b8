package rpc

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cluster-tests/conformance"
	"github.com/jeton-dev/jeton/rpc/pb"
)

// TestCheckAllOverGRPC asks for several keys at once, as a program in another language does.
func TestCheckAllOverGRPC(t *testing.T) {
	_, conn := serve(t, Config{Limiter: conformance.NewNoonModel(t)})
	client := pb.NewLimiterClient(conn)
	ask := func(rs ...limit.Request) (limit.AllDecision, error) {
		t.Helper()
		m := &pb.CheckAllRequest{}
		for _, r := range rs {
			m.Checks = append(m.Checks, pb.EncodeRequest(r))
		}
		answer, err := client.CheckAll(t.Context(), m)
		if err != nil {
			return limit.AllDecision{}, pb.DecodeError(err)
		}
		return pb.DecodeAllDecision(answer)
	}
	user, org := spendDemo("user:42", 1), spendDemo("org:acme", 3)
	user.Receipt = true
	d, err := ask(user, org)
	if err != nil || !d.Allowed || d.Denied != nil || d.Decisions[1].Limits[0].Remaining != 7 || len(d.Decisions[0].Receipts) != 1 {
		t.Errorf("got %+v, %v", d, err)
	}
	d, err = ask(user, spendDemo("org:acme", 8), spendDemo("ip", 1))
	if err != nil || d.Allowed || d.Denied == nil || *d.Denied != (limit.Denial{Check: 1, Key: "org:acme", Limit: "demo"}) || len(d.Decisions) != 3 || len(d.Decisions[2].Limits) > 0 {
		t.Errorf("got %+v, %v", d, err)
	}
	_, err = ask(user, spendDemo("", 1))
	if fe, ok := errors.AsType[*limit.FieldError](err); !ok || fe.Field != "checks[1].key" {
		t.Errorf("got %v", err)
	}
	for _, n := range []int{0, limit.MaxAll + 1, limit.MaxBatch + 1, 20_000} {
		_, err := client.CheckAll(t.Context(), &pb.CheckAllRequest{Checks: slices.Repeat([]*pb.CheckRequest{{}}, n)})
		wantCode(t, err, codes.InvalidArgument, "checks: ")
	}
}

func spendDemo(key string, cost int64) limit.Request {
	return limit.Request{Key: key, Limits: []limit.Ref{limit.Named("demo")}, Cost: cost}
}

// TestOwnerDiesBeforeItTakesBack has three nodes decide about a key of each. The first key's owner leaves the cluster when the last
// key denies: the denial comes all the same, the second key gets its token back, and that of the first one is lost.
func TestOwnerDiesBeforeItTakesBack(t *testing.T) {
	var nodes []*routedNode
	var once sync.Once
	models := []*conformance.Model{conformance.NewNoonModel(t), conformance.NewNoonModel(t), conformance.NewNoonModel(t)}
	nodes = routedNodes(t, 3, func(i int) limit.Limiter {
		if i < 2 {
			return models[i]
		}
		return conformance.Stub{
			OnCheck: func(ctx context.Context, r limit.Request) (limit.Decision, error) {
				once.Do(func() { nodes[0].refuse(errors.New("it has lost its power")) })
				return models[2].Check(ctx, r)
			},
			OnReturn: models[2].Return,
		}
	})
	publish(nodes, replicated(1, 2, nodes, nodes...)) // there are no second tries then, which would be charged twice
	for _, n := range nodes {
		awaitTable(t, n, 2)
	}
	rs := []limit.Request{spendDemo(keyOf(0), 4), spendDemo(keyOf(1), 4), spendDemo(keyOf(2), 11)}
	d, err := nodes[1].router.CheckAll(t.Context(), rs)
	if err != nil || d.Allowed || d.Denied == nil || d.Denied.Key != rs[2].Key {
		t.Errorf("got %+v, %v", d, err)
	}
	for i, want := range []int64{6, 10, 10} {
		look := rs[i]
		look.Cost, look.Look = 0, true
		if d, err := models[i].Check(t.Context(), look); err != nil || d.Limits[0].Remaining != want {
			t.Errorf("the key of node %d: %+v, %v, want %d left", i, d.Limits, err, want)
		}
	}
}

// TestRefusedTogether asks a node that decides nothing at present.
func TestRefusedTogether(t *testing.T) {
	nodes := routedNodes(t, 3, nil)
	nodes[0].refuse(errors.New("its clock is off"))
	_, err := nodes[0].router.CheckAll(t.Context(), []limit.Request{spendDemo("a", 1), spendDemo("b", 1)})
	if !errors.Is(err, limit.ErrUnavailable) || !strings.Contains(err.Error(), "its clock is off") {
		t.Errorf("got %v", err)
	}
}
