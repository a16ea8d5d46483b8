package rpc

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/metadata"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cluster-tests/conformance"
	"github.com/jeton-dev/jeton/cluster-tests/fakenodes"
	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/rpc/nodes"
	"github.com/jeton-dev/jeton/rpc/pb"
)

// A local is the own node's Limiter: functions, and what it was asked.
type local struct {
	limit.Limiter
	check    func(context.Context, limit.Request) (limit.Decision, error)
	returned []bool

	mu   sync.Mutex
	keys []string
}

// decided are the keys that it was asked for since the last call.
func (l *local) decided() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	keys := l.keys
	l.keys = nil
	return keys
}

func (l *local) Check(ctx context.Context, r limit.Request) (limit.Decision, error) {
	l.mu.Lock()
	l.keys = append(l.keys, r.Key)
	l.mu.Unlock()
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

// routerAt makes the Router of the first of some nodes, of which the others are not real. It is connected to them.
func routerAt(t *testing.T, f *fakenodes.Cluster, l limit.Limiter) *Router {
	t.Helper()
	r, err := NewRouter(RouterConfig{Self: f.Nodes[0].ID, Local: l, Tables: f.Tables})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	r.nodes.AwaitConnections(t.Context()) // one that takes long to connect seems silent
	return r
}

// demo is a check of a key.
func demo(key string) limit.Request {
	return limit.Request{Key: key, Limits: []limit.Ref{limit.Named("demo")}, Cost: 1}
}

// TestOwnNodeFirst asks the own node for what it owns, and marks what goes to others as forwarded.
func TestOwnNodeFirst(t *testing.T) {
	f := fakenodes.StartCluster(t, 4)
	own := &local{}
	c := routerAt(t, f, own)
	if first, none := c.nodes.Part(f.KeyOf(0)), c.nodes.Part(f.KeyOf(1)); c.nodes.Version() != 1 || first != nodes.First || none != nodes.None {
		t.Errorf("table %d, parts %d and %d", c.nodes.Version(), first, none)
	}
	say := func(format string, args ...any) { // on a machine that stands still, a node looks silent and the own one is asked too
		t.Helper()
		if _, hedges, retries, _ := c.nodes.Counts(); hedges+retries > 0 {
			t.Logf(format, args...)
			return
		}
		t.Errorf(format, args...)
	}
	forwarded := make(chan []string, 1000)
	f.Nodes[1].Answers(func(ctx context.Context, _ *pb.CheckRequest) error {
		forwarded <- metadata.ValueFromIncomingContext(ctx, pb.MarkForwarded)
		return nil
	})
	for _, owner := range []int{0, 1} {
		if _, err := c.Check(t.Context(), demo(f.KeyOf(owner))); err != nil {
			t.Error(err)
		}
	}
	if marks := <-forwarded; len(marks) != 1 {
		t.Errorf("the other node was asked with the marks %q", marks)
	}
	if keys := own.decided(); !reflect.DeepEqual(keys, []string{f.KeyOf(0)}) {
		say("the own node was asked for %q", keys)
	}
	var rs []limit.Request
	for i := range 100 {
		rs = append(rs, demo(strconv.Itoa(i)))
	}
	for i, r := range c.CheckBatch(t.Context(), rs) {
		if r.Err != nil || r.Decision.Limits[0].Remaining != int64(i) {
			t.Fatalf("%d is answered %+v", i, r)
		}
	}
	if n := len(own.decided()); n < 10 || n > 50 {
		say("the own node was asked for %d of 100", n)
	}
	f.Publish(f.Table(2, f.Nodes[0]))
	for c.nodes.Version() < 2 {
		if _, err := c.Check(t.Context(), demo(f.KeyOf(1))); err != nil {
			t.Fatal(err)
		}
	}
	own.decided()
	if _, err := c.Check(t.Context(), demo(f.KeyOf(0))); err != nil {
		t.Error(err)
	}
	if keys := own.decided(); len(keys) > 0 {
		say("the own node leaves, and was asked for %q", keys)
	}
}

// TestTheLastNodeStanding freezes both others: what the own node cannot decide by itself waits for nobody who is known to be
// silent, alone or in a batch.
func TestTheLastNodeStanding(t *testing.T) {
	f := fakenodes.StartCluster(t, 3)
	alone := fmt.Errorf("%w: too few replicas can answer", limit.ErrUnavailable)
	own := &local{check: func(context.Context, limit.Request) (limit.Decision, error) { return limit.Decision{}, alone }}
	c := routerAt(t, f, own)
	if _, err := c.Check(t.Context(), demo(f.KeyOf(0))); err != nil { // which connects
		t.Fatal(err)
	}
	c.nodes.AwaitConnections(t.Context())
	f.Nodes[1].Ice.Freeze()
	f.Nodes[2].Ice.Freeze()
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
		for i := range f.Nodes {
			_, err := c.Check(ctx, demo(f.KeyOf(i)))
			judge("a check", err)
		}
		for _, r := range c.CheckBatch(ctx, []limit.Request{demo(f.KeyOf(0)), demo(f.KeyOf(1)), demo(f.KeyOf(2))}) {
			judge("a check of a batch", r.Err)
		}
	}
}

// TestOwnNodeCannotDecide goes to the next replica.
func TestOwnNodeCannotDecide(t *testing.T) {
	f := fakenodes.StartCluster(t, 3)
	own := &local{check: func(context.Context, limit.Request) (limit.Decision, error) {
		return limit.Decision{}, limit.ErrUnavailable
	}}
	c := routerAt(t, f, own)
	_, err := c.Check(t.Context(), demo(f.KeyOf(0)))
	if keys := own.decided(); err != nil || len(keys) != 1 {
		t.Errorf("the own node was asked for %q: %v", keys, err)
	}
	if r := c.CheckBatch(t.Context(), []limit.Request{demo(f.KeyOf(0))}); r[0].Err != nil {
		t.Error(r[0].Err)
	}
	own.decided()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // the usual case inside a server
	defer cancel()
	_, err = c.Check(ctx, demo(f.KeyOf(0)))
	if keys := own.decided(); err != nil || len(keys) != 1 {
		t.Errorf("in a call, the own node was asked for %q: %v", keys, err)
	}
	rs := []limit.Request{demo(f.KeyOf(0)), demo(f.KeyOf(0))}
	r := c.CheckBatch(ctx, rs)
	if keys := own.decided(); r[0].Err != nil || r[1].Err != nil || len(keys) != 2 {
		t.Errorf("in a call, the own node was asked for %q: %+v", keys, r)
	}
	for _, n := range f.Nodes {
		n.Kill(t)
	}
	if _, err := c.Check(ctx, demo(f.KeyOf(0))); !errors.Is(err, limit.ErrUnavailable) || !strings.Contains(err.Error(), f.Nodes[1].Address) {
		t.Errorf("nobody can decide: %v", err)
	}
}

func TestRouterBeforeTheTable(t *testing.T) {
	r := routerAt(t, &fakenodes.Cluster{Book: fakenodes.NewBook(), Nodes: []*fakenodes.Node{{ID: ring.NodeID{1}}}}, &local{})
	_, err := r.Check(t.Context(), demo("k"))
	batch := r.CheckBatch(t.Context(), []limit.Request{demo("k")})
	_, returnErr := r.Return(t.Context(), "k", nil)
	_, settleErr := r.Settle(t.Context(), settlementOf("k", 3))
	for _, err := range []error{err, batch[0].Err, returnErr, settleErr} {
		if !errors.Is(err, limit.ErrUnavailable) || !strings.Contains(err.Error(), "table") {
			t.Errorf("got %v, want %v for lack of a table", err, limit.ErrUnavailable)
		}
	}
}

// TestReturnAmongOthers asks all replicas: what one of them took back, is.
func TestReturnAmongOthers(t *testing.T) {
	f := fakenodes.StartCluster(t, 3)
	c := routerAt(t, f, &local{returned: []bool{true, false, false}})
	f.Nodes[1].GiveUp = func(context.Context) []bool { return []bool{false, true, false} }
	receipts := make([]limit.Receipt, 3)
	got, err := c.Return(t.Context(), "k", receipts)
	if want := []bool{true, true, false}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v and %v, want %v", got, err, want)
	}
	f.Nodes[2].Kill(t)
	if _, err := c.Return(t.Context(), "k", receipts); !errors.Is(err, limit.ErrUnavailable) || !strings.Contains(err.Error(), "may not have been taken back") {
		t.Errorf("with a replica that may have done it: %v", err)
	}
	if got, err := c.Return(t.Context(), "k", receipts[:2]); err != nil || !reflect.DeepEqual(got, []bool{true, true}) {
		t.Errorf("all were taken back elsewhere: got %v and %v", got, err)
	}
	if _, err := c.Return(t.Context(), "", receipts); err == nil {
		t.Error("a return without a key")
	}
}

// TestConformanceOfARouterAlone holds the router of a cluster of one against the contract of a Limiter.
func TestConformanceOfARouterAlone(t *testing.T) {
	conformance.Run(t, func(t *testing.T, doc *limit.Document, now func() int64) limit.Limiter {
		t.Helper()
		b, id := fakenodes.NewBook(), ring.NodeID{1}
		b.Publish(&pb.View{
			Version: 1, Nodes: []pb.Node{{ID: id}},
			Table: &ring.Table{Places: []ring.Place{{Epoch: 1, Replicas: []ring.NodeID{id}}}},
		})
		return routerAt(t, &fakenodes.Cluster{Book: b, Nodes: []*fakenodes.Node{{ID: id}}}, conformance.NewModel(doc, now))
	})
}
