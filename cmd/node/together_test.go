package node

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/rpc/client"
)

// wholes ask the nodes of a rig for several keys at once, in the process or by a client, and count what was admitted of each.
type wholes struct {
	rig     *rig
	client  *client.Client
	metrics *prometheus.Registry // of the client
	stop    context.CancelFunc
	wait    sync.WaitGroup

	mu                       sync.Mutex
	spent                    map[string]int64 // by whole requests that were admitted, per key
	admitted, denied, failed int
	changed                  chan struct{} // closed at the next answer
}

func (r *rig) wholes() *wholes {
	var servers []string
	for _, s := range r.seated() {
		servers = append(servers, s.cfg.ListenGRPC)
	}
	metrics := prometheus.NewRegistry()
	c, err := client.New(client.Config{Servers: servers, Registerer: metrics})
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = c.Close() })
	ctx, cancel := context.WithCancel(context.Background())
	w := &wholes{rig: r, client: c, metrics: metrics, stop: cancel, spent: map[string]int64{}, changed: make(chan struct{})}
	for range askers {
		rng := r.source()
		w.wait.Go(func() {
			tick := time.NewTicker(askEvery / 4)
			defer tick.Stop()
			for {
				select {
				case <-ctx.Done():
					return
				case <-tick.C:
				}
				w.ask(rng.IntN(1<<20), []limit.Request{
					spend(fmt.Sprintf("ip:%d", rng.IntN(40)), 1+rng.Int64N(2)), spend(fmt.Sprintf("user:%d", rng.IntN(20)), 1),
					spend(fmt.Sprintf("org:%d", rng.IntN(10)), 1+rng.Int64N(3)),
				})
			}
		})
	}
	r.t.Cleanup(w.end)
	return w
}

func spend(key string, cost int64) limit.Request {
	return limit.Request{Key: key, Limits: []limit.Ref{limit.Named(kept)}, Cost: cost}
}

func (w *wholes) end() {
	w.stop()
	w.wait.Wait()
}

// ask asks one of the nodes that run, or the client.
func (w *wholes) ask(at int, rs []limit.Request) {
	seats := w.rig.seated()
	n, life := seats[at%len(seats)].running()
	if n == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 400*time.Millisecond)
	defer cancel()
	var asked limit.AllChecker = w.client
	lost := func() bool { return false }
	if at/len(seats)%2 == 0 {
		asked, lost = n, life.cut
	}
	d, err := asked.CheckAll(ctx, rs)
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case err != nil, lost():
		w.failed++
	case !d.Allowed:
		w.denied++
	default:
		w.admitted++
		for _, r := range rs {
			w.spent[r.Key] += r.Cost
		}
	}
	close(w.changed)
	w.changed = make(chan struct{})
}

// answered waits until so many further requests had an answer.
func (w *wholes) answered(n int) {
	w.rig.t.Helper()
	late := time.After(long)
	for range n {
		w.mu.Lock()
		changed := w.changed
		w.mu.Unlock()
		select {
		case <-changed:
		case <-late:
			w.rig.t.Fatal("no more requests are answered")
		}
	}
}

// bound spends what every key has left, one token after another, and compares it with what whole requests were admitted for. It
// returns how many tokens are missing, of how many.
func (w *wholes) bound() (missing, of int64) {
	t := w.rig.t
	t.Helper()
	w.end()
	var all sync.WaitGroup
	var lost, unanswered atomic.Int64
	gate := make(chan struct{}, 8)
	for key, spent := range w.spent {
		all.Go(func() {
			gate <- struct{}{}
			defer func() { <-gate }()
			left, late := int64(0), time.Now().Add(long)
			for at := 0; ; at++ {
				if time.Now().After(late) {
					t.Errorf("%s is not served any more", key)
					return
				}
				seats := w.rig.seated()
				n, _ := seats[at%len(seats)].running()
				ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
				d, err := n.Check(ctx, spend(key, 1))
				cancel()
				if err == nil && !d.Allowed {
					break
				}
				if err == nil {
					left++
				} else {
					unanswered.Add(1)
				}
			}
			lost.Add(20 - spent - left)
			if spent+left > 20 {
				t.Errorf("%s: whole requests spent %d, and %d were left, of 20", key, spent, left)
			}
		})
	}
	all.Wait()
	w.failed += int(unanswered.Load())
	missing, of = lost.Load(), int64(20*len(w.spent))
	t.Logf("%d requests of three keys admitted, %d denied, %d without an answer; %d of %d tokens are missing",
		w.admitted, w.denied, w.failed, missing, of)
	if w.admitted == 0 || w.denied == 0 {
		t.Error("some must be admitted, and some denied")
	}
	return missing, of
}

// TestTogether asks three nodes for three keys at once until most are denied. What they took before that is given back. On a machine
// that stands still, a check is sent to a second node now and then, and charged twice: what it costs, 3 at most, may be missing, as may
// be all that a request takes, 6 at most, which has no answer.
func TestTogether(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	nodes := started(r.founders()...)
	r.eventually("three nodes have founded a cluster", arrived(3, 3, nodes...))
	w := r.wholes()
	w.answered(600)
	missing, of := w.bound()
	again := askedAgainBy(t, w.metrics)
	for _, s := range nodes {
		again += askedAgainBy(t, s.present().node.metrics)
	}
	if most := of/4 + 3*int64(again) + 6*int64(w.failed); missing > most {
		t.Errorf("%d of %d tokens are missing, and %d checks were asked again: what was taken is not given back", missing, of, int64(again))
	}
}

// TestTogetherThroughPowerCuts cuts the power of one node after another, at any moment, so between a take and its return too: no key is
// ever granted more than its capacity.
func TestTogetherThroughPowerCuts(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	nodes := started(r.founders()...)
	r.eventually("three nodes have founded a cluster", arrived(3, 3, nodes...))
	w := r.wholes()
	for range 4 {
		w.answered(60)
		s := nodes[r.intN(len(nodes))]
		powerCut(s)
		w.answered(60)
		s.start()
		ready(s)
	}
	ready(nodes...)
	w.bound()
}
