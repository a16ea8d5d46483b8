package client_test

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/cluster-tests/fakenodes"
	"github.com/jeton-dev/jeton/rpc/client"
)

// connectTo makes a client of the cluster that has a table.
func connectTo(tb testing.TB, c *fakenodes.Cluster) *client.Client {
	tb.Helper()
	cl := connect(tb, client.Config{Servers: c.Servers(), Timeout: 20 * time.Second})
	awaitVersion(tb, cl, 1)
	cl.AwaitConnections(tb.Context())
	return cl
}

// awaitVersion checks until the client has that table.
func awaitVersion(tb testing.TB, c *client.Client, version uint64) {
	tb.Helper()
	until(tb, c, "0", func() bool { return c.Version() >= version })
}

// eventually judges until nothing is wrong: on a machine that stands still, a node looks silent for a while, and another one is asked too. What
// stays wrong fails the test.
func eventually(tb testing.TB, judge func() (wrong string)) {
	tb.Helper()
	again := time.NewTicker(time.Millisecond)
	defer again.Stop()
	for range 1000 {
		if judge() == "" {
			return
		}
		<-again.C
	}
	if wrong := judge(); wrong != "" {
		tb.Error(wrong)
	}
}

// until checks key again and again until done. Every check must be answered.
func until(tb testing.TB, c *client.Client, key string, done func() bool) {
	tb.Helper()
	for !done() {
		if _, err := c.Check(tb.Context(), check(key)); err != nil {
			tb.Fatalf("until it is done: %v", err)
		}
	}
}

// load makes callers check keys of all nodes until stop is called, which fails the test if one was not answered.
func load(tb testing.TB, c *client.Client, callers int) (stop func(), answered *atomic.Int64) {
	tb.Helper()
	var wait sync.WaitGroup
	var stopped atomic.Bool
	answered = new(atomic.Int64)
	for caller := range callers {
		wait.Go(func() {
			for i := caller; !stopped.Load(); i++ {
				key := strconv.Itoa(i % 1000)
				d, err := c.Check(context.Background(), check(key))
				if err != nil || fmt.Sprint(d.Limits[0].Remaining) != key {
					tb.Errorf("check of %s: %+v and %v", key, d, err)
					return
				}
				answered.Add(1)
			}
		})
	}
	return func() {
		stopped.Store(true)
		wait.Wait()
	}, answered
}

// more returns when n more checks were answered.
func more(tb testing.TB, c *client.Client, answered *atomic.Int64, n int64) {
	tb.Helper()
	least := answered.Load() + n
	until(tb, c, "1", func() bool { return answered.Load() >= least || tb.Failed() })
}
