package clustertests

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cluster-tests/history"
	"github.com/jeton-dev/jeton/cluster-tests/process"
	"github.com/jeton-dev/jeton/ring"
)

// Buckets are filled by operators while nodes are killed, and while registers are swept: those that say nothing any more
// are deleted. A reset is a newer generation of the bucket, which a majority knows. Here the one that does not know it
// wakes up after the others have swept the registers that did, with what it had before the reset; and then one of those
// who knew is killed, so that the majority is made of one that has forgotten and one that never knew. From each reset on,
// no key is over.
func TestEventResetsAndSweeps(t *testing.T) {
	t.Parallel()
	c, clocks := faultyCluster(t)
	for _, m := range c.Members {
		m.Launch()
	}
	for _, m := range c.Members {
		m.Ready()
	}
	d := &drill{T: t, cluster: c, perSecond: calmPerSecond, keys: calmKeys, rename: soonSwept(calmKeys)}
	d.begin()
	r := d.resetBuckets()
	d.load.Answered(2 * calmPerSecond)
	sleeper := c.Members[2]
	sleeper.Kill()
	d.load.Answered(3 * calmPerSecond)
	r.stop()

	if *long {
		d.pause(false)
		d.pass(125 * time.Second)
	} else {
		d.leap(clocks, 125*time.Second, sleeper)
	}
	swept := func(m *process.Member) bool { return d.metric(m, "jeton_storage_swept_registers_total", "") > 0 }
	d.until("two nodes have swept registers", func() bool { return swept(c.Members[0]) && swept(c.Members[1]) })
	sleeper.Launch()
	sleeper.Ready()
	d.begin()
	r = d.resetBuckets()
	d.load.Answered(calmPerSecond)
	c.Members[0].Kill()
	d.load.Answered(3 * calmPerSecond)
	c.Members[0].Launch()
	c.Members[0].Ready()
	d.load.Answered(calmPerSecond)
	r.stop()
	d.end(false)
}

// soonSwept are names of keys in the partitions that a node sweeps next once their registers say nothing any more: it takes
// one partition after the other, from the first on, each 2.2 s after the one before.
func soonSwept(n int) func(i int) string {
	from, to := ring.Partition(0), ring.Partition(30)
	if *long {
		from, to = 60, 90
	}
	var names []string
	for i := 0; len(names) < n; i++ {
		name := fmt.Sprint("swept:", i)
		if p := ring.PartitionOf(ring.Hash(name), ring.DefaultPartitions); p >= from && p < to {
			names = append(names, name)
		}
	}
	return func(i int) string { return names[i] }
}

// A resetter resets one bucket after the other, at one node after the other.
type resetter struct {
	drill  *drill
	cancel context.CancelFunc
	done   chan struct{}
	calls  []history.Call // guarded by done
}

// resetBuckets begins to reset the buckets of the load, twenty in a second.
func (d *drill) resetBuckets() *resetter {
	d.Helper()
	ctx, cancel := context.WithCancel(d.Context())
	r := &resetter{drill: d, cancel: cancel, done: make(chan struct{})}
	var nodes []*direct
	for _, m := range d.cluster.Members {
		nodes = append(nodes, newDirect(d.T, m))
	}
	d.Cleanup(r.end)
	go func() {
		defer close(r.done)
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		var calls sync.WaitGroup
		defer calls.Wait()
		var mu sync.Mutex
		for i := 0; ; i++ {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			calls.Go(func() {
				call := r.reset(nodes[i%len(nodes)])
				mu.Lock()
				defer mu.Unlock()
				r.calls = append(r.calls, call)
			})
		}
	}()
	return r
}

// reset resets one bucket at a node. It is not tried again: a reset that comes late is another one.
func (r *resetter) reset(node *direct) history.Call {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	call := history.Call{Kind: history.KindReset, Limit: "api", Outcome: history.Done}
	i := rand.IntN(r.drill.keys)
	call.Key = fmt.Sprint("key:", i)
	call.Start = time.Now().UnixNano()
	if err := node.Reset(ctx, r.drill.rename(i), limit.Named(call.Limit)); err != nil {
		call.Outcome, call.Error = history.Failed, err.Error()
	}
	call.End = time.Now().UnixNano()
	return call
}

func (r *resetter) end() {
	r.cancel()
	<-r.done
}

// stop ends the resets and adds them to what was asked.
func (r *resetter) stop() {
	r.drill.Helper()
	r.end()
	done := 0
	for _, c := range r.calls {
		if c.Outcome == history.Done {
			done++
		}
	}
	if done == 0 {
		r.drill.Error("no bucket was reset")
	}
	r.drill.Logf("%d resets, of which %d were done", len(r.calls), done)
	r.drill.keep(r.calls)
}
