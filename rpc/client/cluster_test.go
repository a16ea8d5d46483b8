package client_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/rpc/client"
	"github.com/jeton-dev/jeton/rpc/pb"
)

func TestGoesToTheOwner(t *testing.T) {
	f := startCluster(t, 4)
	c := connectTo(t, f)
	for i := range 200 {
		key := strconv.Itoa(i)
		owner := f.nodes[f.owner(key)]
		// A machine that stands still makes a node look silent for a while, and then its keys go elsewhere.
		for attempt := 1; ; attempt++ {
			checks, routed := owner.checks.Load(), owner.routed.Load()
			if _, err := c.Check(t.Context(), check(key)); err != nil {
				t.Fatal(err)
			}
			if owner.checks.Load() == checks+1 && owner.routed.Load() == routed+1 {
				break
			}
			if attempt == 100_000 {
				t.Fatalf("%s never goes to its owner with a mark", key)
			}
		}
	}
	if err := c.Reset(t.Context(), f.keyOf(3), limit.Named("demo")); err != nil {
		t.Error(err)
	}
}

// TestWithoutTables asks nodes that know of none: they are asked all the same, without a mark.
func TestWithoutTables(t *testing.T) {
	for what, b := range map[string]*book{"a node that does not know Watch": nil, "before the founding": newBook()} {
		t.Run(what, func(t *testing.T) {
			one, two := startFake(t, 0, "", b), startFake(t, 1, "", b)
			c := connect(t, client.Config{Servers: []string{one.address, two.address}, Server: one.address, Timeout: time.Minute})
			for i := range 100 {
				if _, err := c.Check(t.Context(), check(strconv.Itoa(i))); err != nil {
					t.Fatal(err)
				}
			}
			// A machine that stands still makes a node look silent for a while, and a check is tried at the other one too.
			_, second, retries := c.Tries()
			if one.checks.Load() == 0 || two.checks.Load() == 0 || one.checks.Load()+two.checks.Load() > int64(100+second+retries) {
				t.Errorf("%d and %d checks, %d second tries, %d retries", one.checks.Load(), two.checks.Load(), second, retries)
			}
			if one.routed.Load()+two.routed.Load() != 0 || c.Version() != 0 {
				t.Errorf("%d and %d checks with a mark, table %d", one.routed.Load(), two.routed.Load(), c.Version())
			}
		})
	}
}

// TestNodeKilledUnderLoad kills a node, and starts it again: no check fails, and the node gets its keys back.
func TestNodeKilledUnderLoad(t *testing.T) {
	f := startCluster(t, 3)
	c := connectTo(t, f)
	stop, answered := load(t, c, 16)
	more(t, c, answered, 500)
	f.nodes[0].kill(t)
	more(t, c, answered, 1000)
	again := startFake(t, 0, f.nodes[0].address, f.book)
	until(t, c, f.keyOf(0), func() bool { return again.checks.Load() > 20 })
	stop()
	calls, second, retries := c.Tries()
	t.Logf("%d calls, %d second tries, %d retries", calls, second, retries)
}

// TestNodeFrozenUnderLoad freezes a node, so that it takes everything and answers nothing: every check is answered
// elsewhere, second tries stay in bounds, and the node gets its keys back when it thaws.
func TestNodeFrozenUnderLoad(t *testing.T) {
	f := startCluster(t, 3)
	c := connectTo(t, f)
	stop, answered := load(t, c, 64)
	more(t, c, answered, 500)
	f.nodes[1].ice.freeze()
	more(t, c, answered, 3000)
	before := f.nodes[1].checks.Load()
	f.nodes[1].ice.thaw()
	until(t, c, f.keyOf(1), func() bool { return f.nodes[1].checks.Load() > before+100 })
	stop()
	calls, second, retries := c.Tries()
	t.Logf("%d calls, %d second tries, %d retries", calls, second, retries)
	if second == 0 || second > 10+calls/20 {
		t.Errorf("%d second tries of %d calls", second, calls)
	}
}

// TestSilentForAMoment has a check that finds two nodes silent and gives them up, while the third never decides: those that
// were silent are asked once more.
func TestSilentForAMoment(t *testing.T) {
	f := startCluster(t, 3)
	c := connect(t, client.Config{Servers: f.servers(), Timeout: time.Hour})
	awaitVersion(t, c, 1)
	c.AwaitConnections(t.Context())
	asked := make(chan struct{})
	tell := sync.OnceFunc(func() { close(asked) })
	f.nodes[2].answers(func(ctx context.Context, _ *pb.CheckRequest) error {
		tell()
		<-ctx.Done()
		return ctx.Err()
	})
	f.nodes[0].ice.freeze()
	f.nodes[1].ice.freeze()
	answered := make(chan error, 1)
	go func() {
		_, err := c.Check(t.Context(), check(f.keyOf(0)))
		answered <- err
	}()
	<-asked
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for again := uint64(0); again == 0; _, _, again = c.Tries() { // until the third is given up too, or the test hangs
		<-tick.C
	}
	f.nodes[0].ice.thaw()
	f.nodes[1].ice.thaw()
	if err := <-answered; err != nil {
		t.Error(err)
	}
}

// TestNodeThatCannotDecide has a node whose checks do not end, while it says that all is well.
func TestNodeThatCannotDecide(t *testing.T) {
	f := startCluster(t, 3)
	c := connectTo(t, f)
	canceled := make(chan struct{})
	tell := sync.OnceFunc(func() { close(canceled) })
	f.nodes[2].answers(func(ctx context.Context, _ *pb.CheckRequest) error {
		<-ctx.Done()
		tell()
		return ctx.Err()
	})
	r := check(f.keyOf(2))
	r.ID = "the same"
	ids := make(chan string, 1000)
	f.nodes[0].answers(func(_ context.Context, m *pb.CheckRequest) error {
		ids <- m.GetRequestId()
		return nil
	})
	if _, err := c.Check(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if id := <-ids; id != r.ID {
		t.Errorf("the second try has the id %q, want %q", id, r.ID)
	}
	<-canceled // or the test hangs: the first try is not wanted any more
	f.nodes[0].answers(nil)
	stop, answered := load(t, c, 16)
	more(t, c, answered, 1500)
	stop()
	if calls, second, _ := c.Tries(); second > 10+calls/20 {
		t.Errorf("%d second tries of %d calls", second, calls)
	}
}

// TestNodeLeavesUnderLoad stops a node in good order: it leaves the order first.
func TestNodeLeavesUnderLoad(t *testing.T) {
	f := startCluster(t, 3)
	c := connectTo(t, f)
	stop, answered := load(t, c, 16)
	more(t, c, answered, 500)
	f.publish(f.table(2, f.nodes[0]))
	awaitVersion(t, c, 2)
	more(t, c, answered, 1000)
	before := f.nodes[0].checks.Load()
	more(t, c, answered, 500)
	if n := f.nodes[0].checks.Load() - before; n > 50 { // a few, should others have been silent for a while
		t.Errorf("%d of 500 checks at a node that leaves", n)
	}
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		f.nodes[0].server.GracefulStop()
	}()
	more(t, c, answered, 500)
	stop()
	f.nodes[0].kill(t)
	<-stopped
}

// TestRefusingNode has a node that refuses everything and says so: it is not asked again and again.
func TestRefusingNode(t *testing.T) {
	f := startCluster(t, 3)
	c := connectTo(t, f)
	before := f.nodes[0].checks.Load()
	f.nodes[0].answers(func(ctx context.Context, _ *pb.CheckRequest) error {
		_ = grpc.SetTrailer(ctx, metadata.Pairs(pb.MarkRefuses, "1"))
		return status.Error(codes.Unavailable, "the clock is off")
	})
	for range 1000 {
		if _, err := c.Check(t.Context(), check(f.keyOf(0))); err != nil {
			t.Fatal(err)
		}
	}
	if n := f.nodes[0].checks.Load() - before; n == 0 || n > 500 {
		t.Errorf("a node that refuses was asked %d times of 1000", n)
	}
}

func TestTableChangesUnderLoad(t *testing.T) {
	f := startCluster(t, 5)
	c := connectTo(t, f)
	stop, answered := load(t, c, 16)
	nodes := f.nodes
	for version := range uint64(20) {
		v := &fakeCluster{nodes: slices.Concat(nodes[version%5:], nodes[:version%5])[:3+version%3]}
		f.publish(v.table(version + 2))
		more(t, c, answered, 50)
	}
	awaitVersion(t, c, 21)
	stop()
}

// TestRemovedNode takes a node out of the table: its connections are closed, but for a server that the caller named.
func TestRemovedNode(t *testing.T) {
	f := startCluster(t, 4)
	c := connect(t, client.Config{Servers: []string{f.nodes[0].address}, Timeout: time.Minute})
	awaitVersion(t, c, 1)
	c.AwaitConnections(t.Context())
	if f.nodes[3].ice.connections() == 0 {
		t.Fatal("there is no connection")
	}
	all := f.nodes
	f.nodes = all[1:3]
	f.publish(f.table(2))
	awaitVersion(t, c, 2)
	until(t, c, "0", func() bool { return all[3].ice.connections() == 0 })
	if all[0].ice.connections() == 0 {
		t.Error("the connections to the server that was named are closed")
	}
}

// TestOlderTables tells older tables after newer ones, and those of another cluster.
func TestOlderTables(t *testing.T) {
	f := startCluster(t, 3)
	f.publish(f.table(5))
	c := connectTo(t, f)
	awaitVersion(t, c, 5)
	f.publish(f.table(4, f.nodes[0]))
	for range 50 {
		if _, err := c.Check(t.Context(), check("1")); err != nil {
			t.Fatal(err)
		}
	}
	if c.Version() != 5 {
		t.Errorf("table %d after table 5", c.Version())
	}
	other := f.table(2)
	other.Cluster = [16]byte{2}
	f.publish(other)
	until(t, c, "1", func() bool { return c.Version() == 2 })
}

// TestStaleTable has a client that watches a node which is behind: the answer of another one corrects it.
func TestStaleTable(t *testing.T) {
	old := newBook()
	f := startCluster(t, 2)
	f.nodes[0].kill(t)
	f.nodes[0] = startFake(t, 0, f.nodes[0].address, old)
	old.publish(f.table(1))
	c := connect(t, client.Config{Server: f.nodes[0].address, Timeout: time.Minute})
	awaitVersion(t, c, 1)
	f.publish(f.table(7))
	f.nodes[1].answers(func(ctx context.Context, _ *pb.CheckRequest) error {
		_ = grpc.SetTrailer(ctx, metadata.Pairs(pb.TableVersion, "7"))
		return nil
	})
	until(t, c, f.keyOf(1), func() bool { return c.Version() == 7 })
}

func TestBatchIsSplit(t *testing.T) {
	f := startCluster(t, 3)
	c := connectTo(t, f)
	batch := func(what string) {
		t.Helper()
		var rs []limit.Request
		for i := range 300 {
			rs = append(rs, check(strconv.Itoa(i)))
		}
		rs[7].Key = ""
		for i, r := range c.CheckBatch(t.Context(), rs) {
			if _, bad := errors.AsType[*limit.FieldError](r.Err); i == 7 && bad {
				continue
			}
			if r.Err != nil || r.Decision.Limits[0].Remaining != int64(i) {
				t.Fatalf("%s: %d is answered %+v", what, i, r)
			}
		}
	}
	before := []int64{f.nodes[0].checks.Load(), f.nodes[1].checks.Load(), f.nodes[2].checks.Load()}
	batch("all well")
	for i, n := range f.nodes {
		if got := n.checks.Load() - before[i]; got < 50 { // more are second tries on a machine that stood still
			t.Errorf("%s got %d of 300 checks", n.name, got)
		}
	}
	f.nodes[2].answers(func(_ context.Context, m *pb.CheckRequest) error {
		if n, _ := strconv.Atoi(m.GetKey()); n%2 == 0 {
			return status.Error(codes.Unavailable, "no quorum")
		}
		return nil
	})
	batch("some cannot be decided")
	f.nodes[2].answers(nil)
	f.nodes[1].ice.freeze()
	batch("a node is frozen")
	f.nodes[1].ice.thaw()
	f.nodes[0].kill(t)
	batch("a node is dead")
	for _, n := range f.nodes {
		n.kill(t)
	}
	results := c.CheckBatch(t.Context(), []limit.Request{check("1"), check("2")})
	for _, r := range results {
		wantAllDown(t, f, r.Err)
	}
}

// wantAllDown fails t unless err is about every node of the cluster.
func wantAllDown(t *testing.T, f *fakeCluster, err error) {
	t.Helper()
	if !errors.Is(err, limit.ErrUnavailable) {
		t.Errorf("got %v, want %v", err, limit.ErrUnavailable)
		return
	}
	for _, n := range f.nodes {
		if !containsOnce(err.Error(), "jeton at "+n.address) {
			t.Errorf("%v does not say once what is with %s", err, n.address)
		}
	}
}

func TestAllNodesDown(t *testing.T) {
	f := startCluster(t, 3)
	c := connectTo(t, f)
	for _, n := range f.nodes {
		n.kill(t)
	}
	_, err := c.Check(t.Context(), check("1"))
	wantAllDown(t, f, err)
	wantAllDown(t, f, c.Reset(t.Context(), "1", limit.Named("demo")))
	t.Log(err)
	_, err = c.StoredLimits(t.Context())
	wantAllDown(t, f, err)
}

// TestFinalErrors are not tried elsewhere.
func TestFinalErrors(t *testing.T) {
	f := startCluster(t, 3)
	c := connectTo(t, f)
	for _, want := range []error{limit.ErrUnknownLimit, limit.ErrOverloaded, context.DeadlineExceeded, errors.New("a bug")} {
		f.nodes[0].answers(func(context.Context, *pb.CheckRequest) error { return pb.EncodeError(want).Err() })
		_, _, before := c.Tries()
		_, err := c.Check(t.Context(), check(f.keyOf(0)))
		if _, _, after := c.Tries(); after != before || err == nil {
			t.Errorf("%v was tried again: %v", want, err)
		}
		batch := c.CheckBatch(t.Context(), []limit.Request{check(f.keyOf(0)), check(f.keyOf(1))})
		if _, _, after := c.Tries(); after != before || batch[0].Err == nil || batch[1].Err != nil {
			t.Errorf("%v in a batch was tried again: %v", want, batch)
		}
	}
}

func containsOnce(s, what string) bool { return strings.Count(s, what) == 1 }
