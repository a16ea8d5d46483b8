package client_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cluster-tests/fakenodes"
	"github.com/jeton-dev/jeton/rpc/client"
)

// await tries again and again until it is done, or the test's time is over.
func await(tb testing.TB, what string, done func() bool) {
	tb.Helper()
	again := time.NewTicker(time.Millisecond)
	defer again.Stop()
	for !done() {
		select {
		case <-again.C:
		case <-tb.Context().Done():
			tb.Fatalf("never: %s", what)
		}
	}
}

// hurried checks key within 50 ms.
func hurried(tb testing.TB, c *client.Client, key string) error {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := c.Check(ctx, check(key))
	return err
}

// failFast makes a client of the cluster that has a table.
func failFast(tb testing.TB, f *fakenodes.Cluster) *client.Client {
	tb.Helper()
	c := connect(tb, client.Config{Servers: f.Servers(), Timeout: 20 * time.Second, FailFast: true})
	awaitVersion(tb, c, 1)
	c.AwaitConnections(tb.Context())
	return c
}

// refusesAll says that checks of all keys, alone and in batches, are refused without being sent.
func refusesAll(t *testing.T, c *client.Client, f *fakenodes.Cluster) {
	t.Helper()
	var arrived int64
	for _, n := range f.Nodes {
		arrived += n.Checks.Load()
	}
	before := c.Unsent()
	var batch []limit.Request
	for i := range f.Nodes {
		key := f.KeyOf(i)
		batch = append(batch, check(key))
		if d, err := c.Check(t.Context(), check(key)); !errors.Is(err, limit.ErrUnavailable) || d.Allowed {
			t.Errorf("a check of %s: %+v and %v", key, d, err)
		}
	}
	for i, r := range c.CheckBatch(t.Context(), batch) {
		if !errors.Is(r.Err, limit.ErrUnavailable) || r.Decision.Allowed {
			t.Errorf("item %d of the batch: %+v", i, r)
		}
	}
	if got, want := c.Unsent()-before, 2*uint64(len(f.Nodes)); got != want {
		t.Errorf("%d checks were counted as not sent, want %d", got, want)
	}
	for _, n := range f.Nodes {
		arrived -= n.Checks.Load()
	}
	if arrived != 0 {
		t.Errorf("%d checks arrived somewhere", -arrived)
	}
}

// allRefused waits until the client knows that nobody can decide anything.
func allRefused(t *testing.T, c *client.Client, f *fakenodes.Cluster) {
	t.Helper()
	await(t, "the client knows that all nodes are bad", func() bool {
		before := c.Unsent()
		for i := range f.Nodes {
			if err := hurried(t, c, f.KeyOf(i)); err == nil {
				t.Fatal("a dead cluster has decided")
			}
		}
		return c.Unsent() == before+uint64(len(f.Nodes))
	})
}

// TestFailFastDead kills all nodes: soon no check is sent any more; and when the nodes are back, all are decided.
func TestFailFastDead(t *testing.T) {
	f := fakenodes.StartCluster(t, 3)
	c := failFast(t, f)
	for _, n := range f.Nodes {
		n.Kill(t)
	}
	allRefused(t, c, f)
	refusesAll(t, c, f)
	for i, n := range f.Nodes {
		f.Nodes[i] = fakenodes.Start(t, i, n.Address, f.Book)
	}
	back(t, c, f)
}

// TestFailFastFrozen freezes all nodes, which take what they are sent and say nothing.
func TestFailFastFrozen(t *testing.T) {
	f := fakenodes.StartCluster(t, 3)
	c := failFast(t, f)
	for _, n := range f.Nodes {
		n.Ice.Freeze()
	}
	allRefused(t, c, f)
	refusesAll(t, c, f)
	for _, n := range f.Nodes {
		n.Ice.Thaw()
	}
	back(t, c, f)
}

// back waits until keys of all nodes are decided, and tells how long that took.
func back(t *testing.T, c *client.Client, f *fakenodes.Cluster) {
	t.Helper()
	start := time.Now()
	await(t, "every key is decided", func() bool {
		for i := range f.Nodes {
			if hurried(t, c, f.KeyOf(i)) != nil {
				return false
			}
		}
		return true
	})
	t.Logf("decided again after %v", time.Since(start))
	for i := range f.Nodes {
		if _, err := c.Check(t.Context(), check(f.KeyOf(i))); err != nil {
			t.Error(err)
		}
	}
}

// TestFailFastWithOneLeft kills two of three replicas: what the third one may decide is sent to it.
func TestFailFastWithOneLeft(t *testing.T) {
	f := fakenodes.StartCluster(t, 3)
	c := failFast(t, f)
	f.Nodes[0].Kill(t)
	f.Nodes[1].Kill(t)
	for range 20 {
		for i := range f.Nodes {
			d, err := c.Check(t.Context(), check(f.KeyOf(i)))
			if err != nil || d.Node != f.Nodes[2].Address {
				t.Fatalf("a check of %s: %+v and %v", f.KeyOf(i), d, err)
			}
		}
	}
	if c.Unsent() != 0 {
		t.Errorf("%d checks were not sent", c.Unsent())
	}
}

// TestFailFastFromTheStart makes a client while there is no cluster yet.
func TestFailFastFromTheStart(t *testing.T) {
	n := fakenodes.Start(t, 0, "", fakenodes.NewBook())
	n.Kill(t)
	c := connect(t, client.Config{Server: n.Address, Timeout: 20 * time.Second, FailFast: true})
	f := &fakenodes.Cluster{Book: fakenodes.NewBook(), Nodes: []*fakenodes.Node{n}}
	allRefused(t, c, f)
	f.Nodes[0] = fakenodes.Start(t, 0, n.Address, f.Book)
	f.Publish(f.Table(1))
	<-c.Heard()
	back(t, c, f)
}

// TestDecidedAt names the node that answered: the owner, and the next replica once the owner is gone.
func TestDecidedAt(t *testing.T) {
	f := fakenodes.StartCluster(t, 3)
	c := connectTo(t, f)
	key := f.KeyOf(1)
	at := func(want *fakenodes.Node) {
		t.Helper()
		eventually(t, excusedByTries(c), func() (wrong string) {
			d, err := c.Check(t.Context(), check(key))
			if err != nil || d.Node != want.Address {
				return fmt.Sprintf("a check was decided at %q with %v, want %s", d.Node, err, want.Address)
			}
			r := c.CheckBatch(t.Context(), []limit.Request{check(key), check("\xff")})
			if r[0].Err != nil || r[0].Decision.Node != want.Address || r[1].Decision.Node != "" {
				return fmt.Sprintf("a batch was decided at %q and %q with %v, want %s", r[0].Decision.Node, r[1].Decision.Node, r[0].Err, want.Address)
			}
			return ""
		})
	}
	at(f.Nodes[1])
	f.Nodes[1].Kill(t)
	at(f.Nodes[2])
}

// BenchmarkDeadCluster is what a check costs while all nodes are known to be bad.
func BenchmarkDeadCluster(b *testing.B) {
	c := connect(b, client.Config{Servers: []string{"127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3"}, FailFast: true})
	r := check("user:42")
	await(b, "the client knows that all nodes are bad", func() bool {
		_ = hurried(b, c, r.Key)
		return c.Unsent() > 0
	})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Check(b.Context(), r); !errors.Is(err, limit.ErrUnavailable) {
			b.Fatal(err)
		}
	}
}
