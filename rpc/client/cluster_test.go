package client_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cluster-tests/fakenodes"
	"github.com/jeton-dev/jeton/rpc/client"
	"github.com/jeton-dev/jeton/rpc/pb"
)

func TestGoesToTheOwner(t *testing.T) {
	f := fakenodes.StartCluster(t, 4)
	c := connectTo(t, f)
	for i := range 200 {
		key := strconv.Itoa(i)
		owner := f.Nodes[f.Owner(key)]
		// A machine that stands still makes a node look silent for a while, and then its keys go elsewhere.
		for attempt := 1; ; attempt++ {
			checks, routed := owner.Checks.Load(), owner.Routed.Load()
			if _, err := c.Check(t.Context(), check(key)); err != nil {
				t.Fatal(err)
			}
			if owner.Checks.Load() == checks+1 && owner.Routed.Load() == routed+1 {
				break
			}
			if attempt == 100_000 {
				t.Fatalf("%s never goes to its owner with a mark", key)
			}
		}
	}
	if err := c.Reset(t.Context(), f.KeyOf(3), limit.Named("demo")); err != nil {
		t.Error(err)
	}
}

// TestFirst asks who decides first: the node that answers while all are well, before there is a table, by a table with other addresses than
// the configured ones, and while a node is leaving.
func TestFirst(t *testing.T) {
	agree := func(c *client.Client, key, want string) {
		t.Helper()
		// A machine that stands still makes a node look silent for a while, and then another one answers.
		for attempt := 1; ; attempt++ {
			d, err := c.Check(t.Context(), check(key))
			if err != nil {
				t.Fatal(err)
			}
			first := c.First(key)
			if first == d.Node && (want == "" || first == want) {
				return
			}
			if attempt == 10_000 {
				t.Fatalf("%s: first is %q, want %q; %q answered", key, first, want, d.Node)
			}
		}
	}
	f := fakenodes.StartCluster(t, 3)
	c := connectTo(t, f)
	for i := range 50 {
		key := strconv.Itoa(i)
		agree(c, key, f.Nodes[f.Owner(key)].Address)
	}
	f.Book.Publish(f.Table(2, f.Nodes[1]))
	awaitVersion(t, c, 2)
	agree(c, f.KeyOf(0), f.Nodes[0].Address)
	agree(c, f.KeyOf(1), f.Nodes[2].Address)

	_, port, _ := net.SplitHostPort(f.Nodes[0].Address)
	named := connect(t, client.Config{Servers: []string{"localhost:" + port}, Timeout: 20 * time.Second})
	awaitVersion(t, named, 2)
	agree(named, f.KeyOf(0), f.Nodes[0].Address)

	book := fakenodes.NewBook()
	one, two := fakenodes.Start(t, 0, "", book), fakenodes.Start(t, 1, "", book)
	early := connect(t, client.Config{Servers: []string{one.Address, two.Address}, Timeout: 20 * time.Second})
	for i := range 20 {
		agree(early, strconv.Itoa(i), "")
	}
}

// TestWithoutTables asks nodes that know of none: they are asked all the same, without a mark.
func TestWithoutTables(t *testing.T) {
	for what, b := range map[string]*fakenodes.Book{"a node that does not know Watch": nil, "before the founding": fakenodes.NewBook()} {
		t.Run(what, func(t *testing.T) {
			one, two := fakenodes.Start(t, 0, "", b), fakenodes.Start(t, 1, "", b)
			c := connect(t, client.Config{Servers: []string{one.Address, two.Address}, Server: one.Address, Timeout: time.Minute})
			c.AwaitConnections(t.Context())
			asked := 0
			for ; asked < 100 || asked < 100_000 && (one.Checks.Load() == 0 || two.Checks.Load() == 0); asked++ {
				if _, err := c.Check(t.Context(), check(strconv.Itoa(asked))); err != nil {
					t.Fatal(err)
				}
			}
			// A machine that stands still makes a node look silent for a while, and a check is tried at the other one too.
			_, second, retries := c.Tries()
			if one.Checks.Load() == 0 || two.Checks.Load() == 0 || one.Checks.Load()+two.Checks.Load() > int64(uint64(asked)+second+retries) {
				t.Errorf("%d and %d checks, %d second tries, %d retries", one.Checks.Load(), two.Checks.Load(), second, retries)
			}
			if one.Routed.Load()+two.Routed.Load() != 0 || c.Version() != 0 {
				t.Errorf("%d and %d checks with a mark, table %d", one.Routed.Load(), two.Routed.Load(), c.Version())
			}
		})
	}
}

// TestNodeKilledUnderLoad kills a node, and starts it again: no check fails, and the node gets its keys back.
func TestNodeKilledUnderLoad(t *testing.T) {
	f := fakenodes.StartCluster(t, 3)
	c := connectTo(t, f)
	stop, answered := load(t, c, 16)
	more(t, c, answered, 500)
	f.Nodes[0].Kill(t)
	more(t, c, answered, 1000)
	again := fakenodes.Start(t, 0, f.Nodes[0].Address, f.Book)
	until(t, c, f.KeyOf(0), func() bool { return again.Checks.Load() > 20 })
	stop()
	calls, second, retries := c.Tries()
	t.Logf("%d calls, %d second tries, %d retries", calls, second, retries)
}

// TestNodeFrozenUnderLoad freezes a node, so that it takes everything and answers nothing: every check is answered
// elsewhere, second tries stay in bounds, and the node gets its keys back when it thaws.
func TestNodeFrozenUnderLoad(t *testing.T) {
	f := fakenodes.StartCluster(t, 3)
	c := connectTo(t, f)
	stop, answered := load(t, c, 64)
	more(t, c, answered, 500)
	f.Nodes[1].Ice.Freeze()
	more(t, c, answered, 3000)
	before := f.Nodes[1].Checks.Load()
	f.Nodes[1].Ice.Thaw()
	until(t, c, f.KeyOf(1), func() bool { return f.Nodes[1].Checks.Load() > before+100 })
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
	f := fakenodes.StartCluster(t, 3)
	c := connect(t, client.Config{Servers: f.Servers(), Timeout: time.Hour})
	awaitVersion(t, c, 1)
	c.AwaitConnections(t.Context())
	asked := make(chan struct{})
	tell := sync.OnceFunc(func() { close(asked) })
	f.Nodes[2].Answers(func(ctx context.Context, _ *pb.CheckRequest) error {
		tell()
		<-ctx.Done()
		return ctx.Err()
	})
	f.Nodes[0].Ice.Freeze()
	f.Nodes[1].Ice.Freeze()
	answered := make(chan error, 1)
	go func() {
		_, err := c.Check(t.Context(), check(f.KeyOf(0)))
		answered <- err
	}()
	<-asked
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for again := uint64(0); again == 0; _, _, again = c.Tries() { // until the third is given up too, or the test hangs
		<-tick.C
	}
	f.Nodes[0].Ice.Thaw()
	f.Nodes[1].Ice.Thaw()
	if err := <-answered; err != nil {
		t.Error(err)
	}
}

// TestNodeThatCannotDecide has a node whose checks do not end, while it says that all is well.
func TestNodeThatCannotDecide(t *testing.T) {
	f := fakenodes.StartCluster(t, 3)
	c := connectTo(t, f)
	canceled := make(chan struct{})
	tell := sync.OnceFunc(func() { close(canceled) })
	f.Nodes[2].Answers(func(ctx context.Context, _ *pb.CheckRequest) error {
		<-ctx.Done()
		tell()
		return ctx.Err()
	})
	r := check(f.KeyOf(2))
	r.ID = "the same"
	ids := make(chan string, 1000)
	for _, n := range f.Nodes[:2] { // the second one too, should the first one seem silent
		n.Answers(func(_ context.Context, m *pb.CheckRequest) error {
			ids <- m.GetRequestId()
			return nil
		})
	}
	if _, err := c.Check(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if id := <-ids; id != r.ID {
		t.Errorf("the second try has the id %q, want %q", id, r.ID)
	}
	<-canceled // or the test hangs: the first try is not wanted any more
	f.Nodes[0].Answers(nil)
	f.Nodes[1].Answers(nil)
	stop, answered := load(t, c, 16)
	more(t, c, answered, 1500)
	stop()
	if calls, second, _ := c.Tries(); second > 10+calls/20 {
		t.Errorf("%d second tries of %d calls", second, calls)
	}
}

// TestHoldsAreNotHedged freezes the owner of a key: holds and settlements go to the next node once the owner is known not to answer, and to
// none beside it before.
func TestHoldsAreNotHedged(t *testing.T) {
	f := fakenodes.StartCluster(t, 3)
	for _, n := range f.Nodes[1:] { // the last one too, should the next one seem silent
		n.Settled = func(_ context.Context, m *pb.SettleRequest) (*pb.SettleResponse, error) {
			return &pb.SettleResponse{Charged: m.GetUsed()}, nil
		}
	}
	for what, ask := range map[string]func(*client.Client) error{
		"a hold": func(c *client.Client) error {
			r := check(f.KeyOf(0))
			r.Hold = time.Minute
			_, err := c.Check(t.Context(), r)
			return err
		},
		"a batch with one": func(c *client.Client) error {
			r := check(f.KeyOf(0))
			r.Hold = time.Minute
			return c.CheckBatch(t.Context(), []limit.Request{check(f.KeyOf(0)), r})[1].Err
		},
		"a settlement": func(c *client.Client) error {
			_, err := c.Settle(t.Context(), limit.Settlement{Hold: limit.Hold{Key: f.KeyOf(0)}, Used: 3})
			return err
		},
	} {
		c := connect(t, client.Config{Servers: f.Servers(), Timeout: time.Hour})
		awaitVersion(t, c, 1)
		c.AwaitConnections(t.Context())
		_, hedged, retried := c.Tries() // of the checks until then
		f.Nodes[0].Ice.Freeze()
		if err := ask(c); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if _, hedges, retries := c.Tries(); hedges > hedged || retries == retried {
			t.Errorf("%s was hedged %d times, and went on to another node %d times", what, hedges-hedged, retries-retried)
		}
		f.Nodes[0].Ice.Thaw()
	}
}

// TestNodeLeavesUnderLoad stops a node in good order: it leaves the order first.
func TestNodeLeavesUnderLoad(t *testing.T) {
	f := fakenodes.StartCluster(t, 3)
	c := connectTo(t, f)
	stop, answered := load(t, c, 16)
	more(t, c, answered, 500)
	f.Publish(f.Table(2, f.Nodes[0]))
	awaitVersion(t, c, 2)
	more(t, c, answered, 1000)
	eventually(t, excusedByTries(c), func() (wrong string) {
		before := f.Nodes[0].Checks.Load()
		more(t, c, answered, 500)
		if n := f.Nodes[0].Checks.Load() - before; n > 50 && !t.Failed() { // a few, should others have been silent for a while
			return fmt.Sprintf("%d of 500 checks at a node that leaves", n)
		}
		return ""
	})
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		f.Nodes[0].Server.GracefulStop()
	}()
	more(t, c, answered, 500)
	stop()
	f.Nodes[0].Kill(t)
	<-stopped
}

// TestRefusingNode has a node that refuses everything and says so: it is not asked again and again.
func TestRefusingNode(t *testing.T) {
	f := fakenodes.StartCluster(t, 3)
	c := connectTo(t, f)
	before := f.Nodes[0].Checks.Load()
	f.Nodes[0].Answers(func(ctx context.Context, _ *pb.CheckRequest) error {
		fakenodes.Refuse(ctx)
		return status.Error(codes.Unavailable, "the clock is off")
	})
	for range 1000 {
		if _, err := c.Check(t.Context(), check(f.KeyOf(0))); err != nil {
			t.Fatal(err)
		}
	}
	if n := f.Nodes[0].Checks.Load() - before; n == 0 || n > 500 {
		t.Errorf("a node that refuses was asked %d times of 1000", n)
	}
}

func TestTableChangesUnderLoad(t *testing.T) {
	f := fakenodes.StartCluster(t, 5)
	c := connectTo(t, f)
	stop, answered := load(t, c, 16)
	nodes := f.Nodes
	for version := range uint64(20) {
		v := &fakenodes.Cluster{Nodes: slices.Concat(nodes[version%5:], nodes[:version%5])[:3+version%3]}
		f.Publish(v.Table(version + 2))
		more(t, c, answered, 50)
	}
	awaitVersion(t, c, 21)
	stop()
}

// TestRemovedNode takes a node out of the table: its connections are closed, but for a server that the caller named.
func TestRemovedNode(t *testing.T) {
	f := fakenodes.StartCluster(t, 4)
	c := connect(t, client.Config{Servers: []string{f.Nodes[0].Address}, Timeout: time.Minute})
	awaitVersion(t, c, 1)
	c.AwaitConnections(t.Context())
	if f.Nodes[3].Ice.Connections() == 0 {
		t.Fatal("not connected")
	}
	all := f.Nodes
	f.Nodes = all[1:3]
	f.Publish(f.Table(2))
	awaitVersion(t, c, 2)
	until(t, c, "0", func() bool { return all[3].Ice.Connections() == 0 })
	if all[0].Ice.Connections() == 0 {
		t.Error("the connections to the server that was named are closed")
	}
}

// TestOlderTables tells older tables after newer ones, and those of another cluster.
func TestOlderTables(t *testing.T) {
	f := fakenodes.StartCluster(t, 3)
	f.Publish(f.Table(5))
	c := connectTo(t, f)
	awaitVersion(t, c, 5)
	f.Publish(f.Table(4, f.Nodes[0]))
	for range 50 {
		if _, err := c.Check(t.Context(), check("1")); err != nil {
			t.Fatal(err)
		}
	}
	if c.Version() != 5 {
		t.Errorf("table %d after table 5", c.Version())
	}
	other := f.Table(2)
	other.Cluster = [16]byte{2}
	f.Publish(other)
	until(t, c, "1", func() bool { return c.Version() == 2 })
}

// TestStaleTable has a client that watches a node which is behind: the answer of another one corrects it.
func TestStaleTable(t *testing.T) {
	old := fakenodes.NewBook()
	f := fakenodes.StartCluster(t, 2)
	f.Nodes[0].Kill(t)
	f.Nodes[0] = fakenodes.Start(t, 0, f.Nodes[0].Address, old)
	old.Publish(f.Table(1))
	c := connect(t, client.Config{Server: f.Nodes[0].Address, Timeout: time.Minute})
	awaitVersion(t, c, 1)
	f.Publish(f.Table(7))
	f.Nodes[1].Answers(func(ctx context.Context, _ *pb.CheckRequest) error {
		fakenodes.TellTable(ctx, 7)
		return nil
	})
	until(t, c, f.KeyOf(1), func() bool { return c.Version() == 7 })
}

func TestBatchIsSplit(t *testing.T) {
	f := fakenodes.StartCluster(t, 3)
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
	eventually(t, excusedByTries(c), func() (wrong string) {
		before := []int64{f.Nodes[0].Checks.Load(), f.Nodes[1].Checks.Load(), f.Nodes[2].Checks.Load()}
		batch("all well")
		for i, n := range f.Nodes {
			if got := n.Checks.Load() - before[i]; got < 50 { // more are second tries on a machine that stood still
				return fmt.Sprintf("%s got %d of 300 checks", n.Name, got)
			}
		}
		return ""
	})
	f.Nodes[2].Answers(func(_ context.Context, m *pb.CheckRequest) error {
		if n, _ := strconv.Atoi(m.GetKey()); n%2 == 0 {
			return status.Error(codes.Unavailable, "no quorum")
		}
		return nil
	})
	batch("some cannot be decided")
	f.Nodes[2].Answers(nil)
	f.Nodes[1].Ice.Freeze()
	batch("a node is frozen")
	f.Nodes[1].Ice.Thaw()
	f.Nodes[0].Kill(t)
	batch("a node is dead")
	for _, n := range f.Nodes {
		n.Kill(t)
	}
	results := c.CheckBatch(t.Context(), []limit.Request{check("1"), check("2")})
	for _, r := range results {
		wantAllDown(t, f, r.Err)
	}
}

// wantAllDown fails t unless err is about every node of the cluster.
func wantAllDown(t *testing.T, f *fakenodes.Cluster, err error) {
	t.Helper()
	if !errors.Is(err, limit.ErrUnavailable) {
		t.Errorf("got %v, want %v", err, limit.ErrUnavailable)
		return
	}
	for _, n := range f.Nodes {
		if !containsOnce(err.Error(), "node at "+n.Address) {
			t.Errorf("%v does not say once what is with %s", err, n.Address)
		}
	}
}

func TestAllNodesDown(t *testing.T) {
	f := fakenodes.StartCluster(t, 3)
	c := connectTo(t, f)
	for _, n := range f.Nodes {
		n.Kill(t)
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
	f := fakenodes.StartCluster(t, 3)
	c := connectTo(t, f)
	for _, want := range []error{limit.ErrUnknownLimit, limit.ErrOverloaded, context.DeadlineExceeded, errors.New("a bug")} {
		f.Nodes[0].Answers(func(context.Context, *pb.CheckRequest) error { return pb.EncodeError(want).Err() })
		eventually(t, excusedByHedges(c), func() (wrong string) { // retries are what is looked for: they excuse nothing
			_, _, before := c.Tries()
			_, err := c.Check(t.Context(), check(f.KeyOf(0)))
			if _, _, after := c.Tries(); after != before || err == nil {
				return fmt.Sprintf("%v was tried again: %v", want, err)
			}
			batch := c.CheckBatch(t.Context(), []limit.Request{check(f.KeyOf(0)), check(f.KeyOf(1))})
			if _, _, after := c.Tries(); after != before || batch[0].Err == nil || batch[1].Err != nil {
				return fmt.Sprintf("%v in a batch was tried again: %v", want, batch)
			}
			return ""
		})
	}
}

func containsOnce(s, what string) bool { return strings.Count(s, what) == 1 }
