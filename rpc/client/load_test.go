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

// An excuse looks at a client from now on: what it returns says whether a node seemed silent since, as on a machine that stands still,
// so that another one was asked.
type excuse func() (excused func() bool)

// excusedByTries is whether a node seems silent, or a call was hedged or tried again.
func excusedByTries(c *client.Client) excuse {
	return excusedBy(c, func() uint64 {
		_, hedges, retries := c.Tries()
		return hedges + retries
	})
}

// excusedByHedges is excusedByTries where a retry is no excuse.
func excusedByHedges(c *client.Client) excuse {
	return excusedBy(c, func() uint64 {
		_, hedges, _ := c.Tries()
		return hedges
	})
}

func excusedBy(c *client.Client, count func() uint64) excuse {
	return func() func() bool {
		bad, before := c.Bad(), count()
		return func() bool { return bad || c.Bad() || count() > before }
	}
}

// eventually judges until nothing is wrong. What is wrong without an excuse fails the test, and what stays wrong for a minute.
func eventually(tb testing.TB, look excuse, judge func() (wrong string)) {
	tb.Helper()
	again := time.NewTicker(time.Millisecond)
	defer again.Stop()
	for start := time.Now(); ; <-again.C {
		excused := look()
		wrong := judge()
		if wrong == "" {
			return
		}
		if !excused() || time.Since(start) > time.Minute {
			tb.Error(wrong)
			return
		}
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
