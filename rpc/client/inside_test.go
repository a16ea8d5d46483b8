package client_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cluster-tests/conformance"
	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/rpc/client"
	"github.com/jeton-dev/jeton/rpc/pb"
)

// A local is the own node's Limiter: functions, and what it was asked.
type local struct {
	limit.Limiter
	check    func(context.Context, limit.Request) (limit.Decision, error)
	returned []bool
	keys     []string
}

func (l *local) Check(ctx context.Context, r limit.Request) (limit.Decision, error) {
	l.keys = append(l.keys, r.Key)
	if l.check != nil {
		return l.check(ctx, r)
	}
	n, _ := strconv.ParseInt(r.Key, 10, 64)
	return limit.Decision{Allowed: true, Limits: []limit.Outcome{{Remaining: n}}}, nil
}

func (l *local) CheckBatch(ctx context.Context, rs []limit.Request) []limit.Result {
	results := make([]limit.Result, len(rs))
	for i, r := range rs {
		results[i].Decision, results[i].Err = l.Check(ctx, r)
	}
	return results
}

func (l *local) Return(context.Context, string, []limit.Receipt) ([]bool, error) {
	return l.returned, nil
}

// inside makes the client of the first node.
func inside(t *testing.T, f *fakeCluster, l limit.Limiter) *client.Client {
	t.Helper()
	return connect(t, client.Config{Tables: f.tables, Self: f.nodes[0].id, Local: l, Timeout: 20 * time.Second, FailFast: true})
}

// TestInsideANode asks the own node for what it owns, and marks what goes to others as forwarded.
func TestInsideANode(t *testing.T) {
	f := startCluster(t, 4)
	own := &local{}
	c := inside(t, f, own)
	if c.Version() != 1 || !c.Mine(f.keyOf(0)) || c.Mine(f.keyOf(1)) {
		t.Errorf("table %d, mine: %v and %v", c.Version(), c.Mine(f.keyOf(0)), c.Mine(f.keyOf(1)))
	}
	forwarded := make(chan []string, 1000)
	f.nodes[1].answers(func(ctx context.Context, _ *pb.CheckRequest) error {
		forwarded <- metadata.ValueFromIncomingContext(ctx, pb.MarkForwarded)
		return nil
	})
	for _, owner := range []int{0, 1} {
		if _, err := c.Check(t.Context(), check(f.keyOf(owner))); err != nil {
			t.Error(err)
		}
	}
	if marks := <-forwarded; len(marks) != 1 || !reflect.DeepEqual(own.keys, []string{f.keyOf(0)}) {
		t.Errorf("the own node was asked for %q, the other one with the marks %q", own.keys, marks)
	}
	var rs []limit.Request
	for i := range 100 {
		rs = append(rs, check(strconv.Itoa(i)))
	}
	for i, r := range c.CheckBatch(t.Context(), rs) {
		if r.Err != nil || r.Decision.Limits[0].Remaining != int64(i) {
			t.Fatalf("%d is answered %+v", i, r)
		}
	}
	if n := len(own.keys); n < 10 || n > 50 {
		t.Errorf("the own node was asked for %d of 100", n)
	}
	f.publish(f.table(2, f.nodes[0]))
	until(t, c, f.keyOf(1), func() bool { return c.Version() == 2 })
	own.keys = nil
	if _, err := c.Check(t.Context(), check(f.keyOf(0))); err != nil || len(own.keys) > 0 {
		t.Errorf("the own node leaves, and was asked for %q: %v", own.keys, err)
	}
}

// TestTheLastNodeStanding freezes both others: what the own node cannot decide by itself waits for nobody who is known to be
// silent, alone or in a batch.
func TestTheLastNodeStanding(t *testing.T) {
	f := startCluster(t, 3)
	alone := fmt.Errorf("%w: too few replicas can answer", limit.ErrUnavailable)
	own := &local{check: func(context.Context, limit.Request) (limit.Decision, error) { return limit.Decision{}, alone }}
	c := inside(t, f, own)
	if _, err := c.Check(t.Context(), check(f.keyOf(0))); err != nil { // which connects
		t.Fatal(err)
	}
	c.AwaitConnections(t.Context())
	f.nodes[1].ice.freeze()
	f.nodes[2].ice.freeze()
	judge := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, limit.ErrUnavailable) || !strings.Contains(err.Error(), alone.Error()) {
			t.Errorf("%s: %v", what, err)
		}
		if strings.Contains(err.Error(), "keepalive") || strings.Contains(err.Error(), "neither") {
			t.Errorf("%s waited until the connection broke: %v", what, err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	for range 3 {
		for i := range f.nodes {
			_, err := c.Check(ctx, check(f.keyOf(i)))
			judge("a check", err)
		}
		for _, r := range c.CheckBatch(ctx, []limit.Request{check(f.keyOf(0)), check(f.keyOf(1)), check(f.keyOf(2))}) {
			judge("a check of a batch", r.Err)
		}
	}
}

// TestOwnNodeCannotDecide goes to the next replica.
func TestOwnNodeCannotDecide(t *testing.T) {
	f := startCluster(t, 3)
	own := &local{check: func(context.Context, limit.Request) (limit.Decision, error) {
		return limit.Decision{}, limit.ErrUnavailable
	}}
	c := inside(t, f, own)
	if _, err := c.Check(t.Context(), check(f.keyOf(0))); err != nil || len(own.keys) != 1 {
		t.Errorf("the own node was asked for %q: %v", own.keys, err)
	}
	if r := c.CheckBatch(t.Context(), []limit.Request{check(f.keyOf(0))}); r[0].Err != nil {
		t.Error(r[0].Err)
	}
	own.keys = nil
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // the usual case inside a server
	defer cancel()
	if _, err := c.Check(ctx, check(f.keyOf(0))); err != nil || len(own.keys) != 1 {
		t.Errorf("in a call, the own node was asked for %q: %v", own.keys, err)
	}
	rs := []limit.Request{check(f.keyOf(0)), check(f.keyOf(0))}
	if r := c.CheckBatch(ctx, rs); r[0].Err != nil || r[1].Err != nil || len(own.keys) != 3 {
		t.Errorf("in a call, the own node was asked for %q: %+v", own.keys, r)
	}
	for _, n := range f.nodes {
		n.kill(t)
	}
	if _, err := c.Check(ctx, check(f.keyOf(0))); !errors.Is(err, limit.ErrUnavailable) || !strings.Contains(err.Error(), f.nodes[1].address) {
		t.Errorf("nobody can decide: %v", err)
	}
}

func TestInsideBeforeTheTable(t *testing.T) {
	c := connect(t, client.Config{Tables: newBook().tables, Self: ring.NodeID{1}, Local: &local{}})
	_, err := c.Check(t.Context(), check("k"))
	batch := c.CheckBatch(t.Context(), []limit.Request{check("k")})
	_, lookErr := c.Return(t.Context(), "k", nil)
	_, recoverErr := c.Recover(t.Context(), nil)
	for _, err := range []error{err, batch[0].Err, lookErr, recoverErr} {
		if !errors.Is(err, limit.ErrUnavailable) || !strings.Contains(err.Error(), "table") {
			t.Errorf("got %v, want %v for lack of a table", err, limit.ErrUnavailable)
		}
	}
}

// TestReturnInsideANode asks all replicas: what one of them took back, is.
func TestReturnInsideANode(t *testing.T) {
	f := startCluster(t, 3)
	c := inside(t, f, &local{returned: []bool{true, false, false}})
	f.nodes[1].giveUp = func(context.Context) []bool { return []bool{false, true, false} }
	receipts := make([]limit.Receipt, 3)
	got, err := c.Return(t.Context(), "k", receipts)
	if want := []bool{true, true, false}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v and %v, want %v", got, err, want)
	}
	f.nodes[2].kill(t)
	if _, err := c.Return(t.Context(), "k", receipts); !errors.Is(err, limit.ErrUnavailable) || !strings.Contains(err.Error(), "not known") {
		t.Errorf("with a replica that may have done it: %v", err)
	}
	if got, err := c.Return(t.Context(), "k", receipts[:2]); err != nil || !reflect.DeepEqual(got, []bool{true, true}) {
		t.Errorf("all were taken back elsewhere: got %v and %v", got, err)
	}
	if _, err := c.Return(t.Context(), "", receipts); err == nil {
		t.Error("a return without a key")
	}
}

// TestReturnFromOutside goes to one node, without a mark. Whether a node that broke off did it is not known.
func TestReturnFromOutside(t *testing.T) {
	f := startCluster(t, 3)
	c := connectTo(t, f)
	marks := make(chan []string, 10)
	answer := func(ctx context.Context) []bool {
		marks <- metadata.ValueFromIncomingContext(ctx, pb.MarkRouted)
		return []bool{true, false}
	}
	for _, n := range f.nodes {
		n.giveUp = answer
	}
	key, receipts := f.keyOf(0), make([]limit.Receipt, 2)
	if got, err := c.Return(t.Context(), key, receipts); err != nil || !reflect.DeepEqual(got, []bool{true, false}) {
		t.Errorf("got %v and %v", got, err)
	}
	if got := <-marks; len(got) > 0 {
		t.Errorf("the call has the mark %q", got)
	}
	killed := make(chan struct{})
	f.nodes[0].giveUp = func(ctx context.Context) []bool {
		go func() {
			defer close(killed)
			f.nodes[0].kill(t)
		}()
		<-ctx.Done()
		return nil
	}
	if got, err := c.Return(t.Context(), key, receipts); !errors.Is(err, limit.ErrUnavailable) {
		t.Errorf("the node died in between: got %v and %v", got, err)
	}
	<-killed
}

// TestConformanceInsideANode holds the client inside a cluster of one against the contract of a Limiter.
func TestConformanceInsideANode(t *testing.T) {
	conformance.Run(t, func(t *testing.T, doc *limit.Document, now func() int64) limit.Limiter {
		t.Helper()
		b, id := newBook(), ring.NodeID{1}
		b.publish(&client.View{
			Version: 1, Nodes: []pb.Node{{ID: id}},
			Table: &ring.Table{Places: []ring.Place{{Epoch: 1, Replicas: []ring.NodeID{id}}}},
		})
		return connect(t, client.Config{Tables: b.tables, Self: id, Local: conformance.NewModel(doc, now), Timeout: time.Minute})
	})
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
	dead := startFake(t, 0, "", nil)
	n := startSpec(t, fakeSpec{index: 1, admin: o})
	dead.kill(t)
	c := connect(t, client.Config{Servers: []string{dead.address, n.address}, Timeout: time.Minute})
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
	if err == nil || !strings.Contains(err.Error(), "still has partitions") || !strings.Contains(err.Error(), n.address) {
		t.Errorf("remove: %v", err)
	}
	if got := <-o.asked; !reflect.DeepEqual(got, []any{"n1", true}) {
		t.Errorf("remove: the node was asked %v", got)
	}
	if _, err := c.Recover(t.Context(), []string{"n1"}); !errors.Is(err, limit.ErrUnavailable) || !strings.Contains(err.Error(), dead.address) {
		t.Errorf("a recovery at a dead node: %v", err)
	}
	c = connect(t, client.Config{Server: n.address, Timeout: time.Minute})
	recovered, err := c.Recover(t.Context(), []string{"n1", "n2"})
	want("recover", recovered, err, client.Recovered{Floored: 2, Moved: 3}, []string{"n1", "n2"})
}
