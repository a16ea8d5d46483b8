package client_test

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cluster-tests/fakenodes"
	"github.com/jeton-dev/jeton/rpc/client"
	"github.com/jeton-dev/jeton/rpc/pb"
)

// TestReturnFromOutside goes to one node, without a mark. Whether a node that broke off did it is not known.
func TestReturnFromOutside(t *testing.T) {
	f := fakenodes.StartCluster(t, 3)
	c := connectTo(t, f)
	marks := make(chan []string, 10)
	answer := func(ctx context.Context) []bool {
		marks <- metadata.ValueFromIncomingContext(ctx, pb.MarkRouted)
		return []bool{true, false}
	}
	for _, n := range f.Nodes {
		n.GiveUp = answer
	}
	key, receipts := f.KeyOf(0), make([]limit.Receipt, 2)
	if got, err := c.Return(t.Context(), key, receipts); err != nil || !reflect.DeepEqual(got, []bool{true, false}) {
		t.Errorf("got %v and %v", got, err)
	}
	if got := <-marks; len(got) > 0 {
		t.Errorf("the call has the mark %q", got)
	}
	killed := make(chan struct{})
	f.Nodes[0].GiveUp = func(ctx context.Context) []bool {
		go func() {
			defer close(killed)
			f.Nodes[0].Kill(t)
		}()
		<-ctx.Done()
		return nil
	}
	if got, err := c.Return(t.Context(), key, receipts); !errors.Is(err, limit.ErrUnavailable) {
		t.Errorf("the node died in between: got %v and %v", got, err)
	}
	<-killed
}

// TestSettleFromOutside goes to the key's owner, and to the next replica when that fails or is silent.
func TestSettleFromOutside(t *testing.T) {
	f := fakenodes.StartCluster(t, 3)
	c := connectTo(t, f)
	asked := make(chan int, 10)
	for i, n := range f.Nodes {
		n.Settled = func(ctx context.Context, m *pb.SettleRequest) (*pb.SettleResponse, error) {
			if marks := metadata.ValueFromIncomingContext(ctx, pb.MarkRouted); len(marks) != 1 {
				t.Errorf("the call has the marks %q", marks)
			}
			asked <- i
			return &pb.SettleResponse{Charged: m.GetUsed(), Limits: []*pb.SettledLimit{{Name: "demo", State: "settled", Charged: m.GetUsed()}}}, nil
		}
	}
	for owner := range f.Nodes {
		want := limit.SumSettled([]limit.SettledLimit{{Name: "demo", State: limit.HoldSettled, Charged: 3}})
		got, err := c.Settle(t.Context(), limit.Settlement{Hold: limit.Hold{Key: f.KeyOf(owner), Granted: 5}, Used: 3})
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v and %v, want %+v", got, err, want)
		}
		if at := <-asked; at != owner || len(asked) > 0 {
			t.Errorf("node %d was asked, and %d more; want node %d", at, len(asked), owner)
		}
	}
	f.Nodes[0].Settled = func(ctx context.Context, _ *pb.SettleRequest) (*pb.SettleResponse, error) { // it is silent
		<-ctx.Done()
		return nil, ctx.Err()
	}
	h := limit.Hold{Key: f.KeyOf(0), Granted: 5}
	if got, err := c.Settle(t.Context(), limit.Settlement{Hold: h, Used: 2}); err != nil || got.Charged != 2 {
		t.Errorf("the owner is silent: %+v, %v", got, err)
	}
	if at := <-asked; at != 1 {
		t.Errorf("node %d was asked, want the next replica", at)
	}
	f.Nodes[0].Kill(t)
	if got, err := c.Settle(t.Context(), limit.Settlement{Hold: h, Used: 2}); err != nil || got.Charged != 2 {
		t.Errorf("the owner is dead: %+v, %v", got, err)
	}
	f.Nodes[1].Settled = nil
	if _, err := c.Settle(t.Context(), limit.Settlement{Hold: h}); !errors.Is(err, limit.ErrUnknownHold) || strings.Contains(err.Error(), f.Nodes[1].Address) {
		t.Errorf("unknown: %v", err)
	}
	if _, err := c.Settle(t.Context(), limit.Settlement{Hold: h, Used: -1}); err == nil || !strings.Contains(err.Error(), "cost") {
		t.Errorf("a negative cost: %v", err)
	}
}

// An operated node answers operators.
type operated struct {
	pb.UnimplementedAdminServer
	asked chan any
}

func (o operated) ApplyLimits(_ context.Context, m *pb.ApplyLimitsRequest) (*pb.ApplyLimitsResponse, error) {
	o.asked <- []any{m.GetDocument(), m.GetVersion(), m.GetRemove(), m.GetDryRun()}
	return &pb.ApplyLimitsResponse{
		Version: 4, Added: []string{"a"}, Changed: []string{"b"}, Removed: []string{"c"}, Silent: []string{"n3"},
		Changes: []*pb.LimitChange{{Limit: "b", Field: "capacity", Before: "1", After: "2"}},
		Used:    []*pb.LimitUse{{Limit: "c", AgoNs: int64(time.Minute)}},
	}, nil
}

func (o operated) Status(context.Context, *pb.StatusRequest) (*pb.StatusResponse, error) {
	return &pb.StatusResponse{Status: []byte(`{}`)}, nil
}

func (o operated) Drain(_ context.Context, m *pb.DrainRequest) (*pb.DrainResponse, error) {
	o.asked <- []any{m.GetNode(), m.GetUndo()}
	return &pb.DrainResponse{Left: 7}, nil
}

func (o operated) Remove(_ context.Context, m *pb.RemoveRequest) (*pb.RemoveResponse, error) {
	o.asked <- []any{m.GetNode(), m.GetForce()}
	return nil, status.Error(codes.FailedPrecondition, "n1 still has partitions")
}

func (o operated) Recover(_ context.Context, m *pb.RecoverRequest) (*pb.RecoverResponse, error) {
	o.asked <- m.GetLost()
	return &pb.RecoverResponse{Floored: 2, Moved: 3}, nil
}

func (o operated) Limits(context.Context, *pb.LimitsRequest) (*pb.LimitsResponse, error) {
	return &pb.LimitsResponse{Document: "limits: {}", Version: 9}, nil
}

func TestOperating(t *testing.T) {
	o := operated{asked: make(chan any, 1)}
	dead := fakenodes.Start(t, 0, "", nil)
	n := fakenodes.StartSpec(t, fakenodes.Spec{Index: 1, Admin: o})
	dead.Kill(t)
	c := connect(t, client.Config{Servers: []string{dead.Address, n.Address}, Timeout: time.Minute})
	want := func(what string, got any, err error, want, asked any) {
		t.Helper()
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v and %v, want %+v", what, got, err, want)
		}
		if asked == nil {
			return
		}
		if got := <-o.asked; !reflect.DeepEqual(got, asked) {
			t.Errorf("%s: the node was asked %v, want %v", what, got, asked)
		}
	}
	applied, err := c.ApplyLimits(t.Context(), client.Apply{Document: "limits: {}", Version: 3, DryRun: true})
	want("apply", applied, err, client.Applied{
		Version: 4, Silent: []string{"n3"},
		Changes: limit.Changes{
			Added: []string{"a"}, Changed: []string{"b"}, Removed: []string{"c"},
			Fields: []limit.FieldChange{{Limit: "b", Field: "capacity", Before: "1", After: "2"}},
		},
		Used: []client.LimitUse{{Limit: "c", Ago: time.Minute}},
	}, []any{"limits: {}", uint64(3), false, true})
	_, err = c.ApplyLimits(t.Context(), client.Apply{Document: "limits: {}", Remove: true})
	want("apply and remove", nil, err, nil, []any{"limits: {}", uint64(0), true, false})
	state, err := c.Status(t.Context())
	want("status", string(state), err, "{}", nil)
	left, err := c.Drain(t.Context(), "n1", true)
	want("drain", left, err, 7, []any{"n1", true})
	text, version, err := c.LimitsText(t.Context())
	want("limits", []any{text, version}, err, []any{"limits: {}", uint64(9)}, nil)
	err = c.Remove(t.Context(), "n1", true)
	if err == nil || !strings.Contains(err.Error(), "still has partitions") || !strings.Contains(err.Error(), n.Address) {
		t.Errorf("remove: %v", err)
	}
	if got := <-o.asked; !reflect.DeepEqual(got, []any{"n1", true}) {
		t.Errorf("remove: the node was asked %v", got)
	}
	if _, err := c.Recover(t.Context(), []string{"n1"}); !errors.Is(err, limit.ErrUnavailable) || !strings.Contains(err.Error(), dead.Address) {
		t.Errorf("a recovery at a dead node: %v", err)
	}
	c = connect(t, client.Config{Server: n.Address, Timeout: time.Minute})
	recovered, err := c.Recover(t.Context(), []string{"n1", "n2"})
	want("recover", recovered, err, client.Recovered{Floored: 2, Moved: 3}, []string{"n1", "n2"})
}

// TestProbeOfAnOlderNode says that the node does not know the call.
func TestProbeOfAnOlderNode(t *testing.T) {
	n := fakenodes.StartSpec(t, fakenodes.Spec{Admin: pb.UnimplementedAdminServer{}})
	c := connect(t, client.Config{Servers: []string{n.Address}, Timeout: time.Minute})
	if _, err := c.Probe(t.Context()); !errors.Is(err, client.ErrOlderNode) {
		t.Errorf("got %v", err)
	}
}
