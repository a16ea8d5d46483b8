package rpc

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cluster-tests/conformance"
	"github.com/jeton-dev/jeton/cluster-tests/fakenodes"
	"github.com/jeton-dev/jeton/rpc/pb"
)

// holdOf is a hold of key.
func holdOf(key string) limit.Hold {
	return limit.Hold{Key: key, Granted: 5, Limits: []limit.Held{{Limit: "demo", Generation: 1, Owner: limit.OwnerID{15: 1}, ID: 7}}}
}

func settlementOf(key string, used int64) limit.Settlement {
	return limit.Settlement{Hold: holdOf(key), Used: used}
}

func settleMessage(key string, used int64) *pb.SettleRequest {
	return pb.EncodeSettlement(settlementOf(key, used))
}

// TestHoldOverGRPC takes a hold and settles it, as a program in another language does.
func TestHoldOverGRPC(t *testing.T) {
	var asked []limit.Request
	var told []limit.Settlement
	h := holdOf("user:42")
	want := limit.SumSettled([]limit.SettledLimit{{Name: "demo", State: limit.HoldOpen, Charged: 2, Returned: 3, Until: 9}})
	_, conn := serve(t, Config{Limiter: conformance.Stub{
		OnCheck: func(_ context.Context, r limit.Request) (limit.Decision, error) {
			asked = append(asked, r)
			return limit.Decision{Allowed: true, Hold: &h}, nil
		},
		OnSettle: func(_ context.Context, s limit.Settlement) (limit.Settled, error) {
			told = append(told, s)
			if s.For > 0 {
				return limit.Settled{}, limit.ErrUnknownHold
			}
			return want, nil
		},
	}})
	client, ref := pb.NewLimiterClient(conn), &pb.LimitRef{Ref: &pb.LimitRef_Name{Name: "demo"}}
	cost := int64(5)
	d, err := client.Check(t.Context(), &pb.CheckRequest{Key: "user:42", Limits: []*pb.LimitRef{ref}, Cost: &cost, HoldNs: 60e9, Least: 2})
	if err != nil || d.GetDecision().GetHold() != h.String() || d.GetDecision().GetGranted() != 5 {
		t.Fatalf("got %v, %v", d, err)
	}
	if r := (limit.Request{Key: "user:42", Limits: []limit.Ref{limit.Named("demo")}, Cost: 5, Hold: 60e9, Least: 2}); len(asked) != 1 || !reflect.DeepEqual(asked[0], r) {
		t.Errorf("asked %+v, want %+v", asked, r)
	}
	got, err := client.Settle(t.Context(), &pb.SettleRequest{Hold: d.GetDecision().GetHold(), Used: 2, Open: true})
	if err != nil || !reflect.DeepEqual(pb.DecodeSettled(got), want) {
		t.Errorf("got %v, %v, want %+v", got, err, want)
	}
	if s := (limit.Settlement{Hold: h, Used: 2, Open: true}); len(told) != 1 || !reflect.DeepEqual(told[0], s) {
		t.Errorf("told %+v, want %+v", told, s)
	}
	_, err = client.Settle(t.Context(), &pb.SettleRequest{Hold: h.String(), Used: 2, Open: true, ForNs: 60e9})
	wantCode(t, err, codes.NotFound, "unknown hold")
	if back := pb.DecodeError(err); !errors.Is(back, limit.ErrUnknownHold) || errors.Is(back, limit.ErrUnknownLimit) {
		t.Errorf("it is read as %v", back)
	}
	for field, m := range map[string]*pb.SettleRequest{
		"hold": {Used: 1},
		"used": {Hold: h.String(), Used: -1},
		"for":  {Hold: h.String(), Used: 1, ForNs: 60e9},
	} {
		_, err := client.Settle(t.Context(), m)
		if fe, is := errors.AsType[*limit.FieldError](pb.DecodeError(err)); !is || fe.Field != field {
			t.Errorf("%v: got %v, want an error of the field %s", m, err, field)
		}
	}
	_, err = client.Settle(t.Context(), &pb.SettleRequest{Hold: h.String()[:20]})
	wantCode(t, err, codes.InvalidArgument, "a character is missing")
}

// TestRoutesOfSettlements sends settlements to each node, with and without marks: the first healthy replica settles, and a node that is
// no replica sends them on once.
func TestRoutesOfSettlements(t *testing.T) {
	nodes := routedNodes(t, 3, nil)
	key := keyOf(0) // at 0 and 1
	settle := func(at int, marks ...string) {
		t.Helper()
		got, err := pb.NewLimiterClient(nodes[at].conn).Settle(with(t, marks...), settleMessage(key, 3))
		if err != nil || got.GetCharged() != 3 {
			t.Errorf("at node %d with %q: got %v, %v", at, marks, got, err)
		}
	}
	for at := range nodes {
		settle(at)
		wantDecided(t, nodes, 0, "settle "+key)
		settle(at, pb.MarkRouted)
		wantDecided(t, nodes, 0, "settle "+key)
	}
	settle(1, pb.MarkRouted, pb.MarkForwarded)
	wantDecided(t, nodes, 1, "settle "+key)

	v := tableOf(2, nodes, nodes...)
	v.Nodes[0].GRPC = "127.0.0.1:1" // nobody is there
	for asked, at := range []int{1, 2} {
		nodes[at].book.publish(v)
		awaitTable(t, nodes[at], 2)
		settle(at)
		wantDecidedAfter(t, uint64(asked+1), nodes, 1, "settle "+key)
	}
}

// TestSettleAmongOthers asks the next replica only when the own node cannot.
func TestSettleAmongOthers(t *testing.T) {
	f := fakenodes.StartCluster(t, 3)
	own := conformance.Stub{OnSettle: func(context.Context, limit.Settlement) (limit.Settled, error) {
		return limit.Settled{Charged: 1}, nil
	}}
	r := routerAt(t, f, own)
	f.Nodes[1].Settled = func(ctx context.Context, m *pb.SettleRequest) (*pb.SettleResponse, error) {
		if marks := metadata.ValueFromIncomingContext(ctx, pb.MarkForwarded); len(marks) == 0 {
			t.Error("it is not marked as forwarded")
		}
		return &pb.SettleResponse{Charged: m.GetUsed()}, nil
	}
	if got, err := r.Settle(t.Context(), settlementOf(f.KeyOf(0), 7)); err != nil || got.Charged != 1 {
		t.Errorf("of the own node: %+v, %v", got, err)
	}
	if got, err := r.Settle(t.Context(), settlementOf(f.KeyOf(1), 7)); err != nil || got.Charged != 7 {
		t.Errorf("of another node: %+v, %v", got, err)
	}
	for _, err := range []error{limit.ErrUnavailable, limit.ErrUnknownHold} {
		r := routerAt(t, f, conformance.Stub{OnSettle: func(context.Context, limit.Settlement) (limit.Settled, error) { return limit.Settled{}, err }})
		got, met := r.Settle(t.Context(), settlementOf(f.KeyOf(0), 7))
		if moved := errors.Is(err, limit.ErrUnavailable); moved && (met != nil || got.Charged != 7) || !moved && !errors.Is(met, limit.ErrUnknownHold) {
			t.Errorf("the own node says %v: %+v, %v", err, got, met)
		}
	}
	_, err := r.Settle(t.Context(), limit.Settlement{Hold: holdOf(f.KeyOf(1)), Used: -1})
	if fe, is := errors.AsType[*limit.FieldError](err); !is || fe.Field != "cost" {
		t.Errorf("a negative cost: %v", err)
	}
	_, err = r.Settle(t.Context(), limit.Settlement{})
	if err == nil || !strings.Contains(err.Error(), "key") {
		t.Errorf("no hold: %v", err)
	}
}
