package node

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cluster-tests/history"
)

// The limits of a rig. A token of the first that was spent never comes back within a test: what was forgotten would be
// admitted again. The second serves as long as it is served.
const (
	limitsText = "limits:\n  kept: {capacity: 20, refill: 1/h}\n  quick: {capacity: 20, refill: 200/s}\n"
	kept       = "kept"
	quick      = "quick"
)

var limitsOfLoad = []history.Limit{
	{Name: kept, Capacity: 20, Tokens: 1, PerNS: int64(time.Hour)},
	{Name: quick, Capacity: 20, Tokens: 200, PerNS: int64(time.Second)},
}

// A load asks the nodes of a rig for checks, each time another one of those that run.
type load struct {
	rig  *rig
	keys int

	stop    context.CancelFunc
	askers  sync.WaitGroup
	mu      sync.Mutex
	calls   []history.Call
	counts  map[history.Outcome]int
	changed chan struct{} // closed at the next call
	begun   int64
	healed  int64 // when each node decided about each key again, and drain began
}

// askers is how many ask at once, every askEvery.
const (
	askers   = 3
	askEvery = 20 * time.Millisecond
)

// patient is how long a check is waited for that is to be decided, however slow the machine.
const patient = 20 * time.Second

// load begins to ask about so many keys.
func (r *rig) load(keys int) *load {
	ctx, cancel := context.WithCancel(context.Background())
	l := &load{
		rig: r, keys: keys, stop: cancel, counts: map[history.Outcome]int{}, changed: make(chan struct{}), begun: time.Now().UnixNano(),
	}
	for range askers {
		l.askers.Go(func() { l.run(ctx) })
	}
	r.t.Cleanup(l.end)
	return l
}

func (l *load) end() {
	l.stop()
	l.askers.Wait()
}

func (l *load) run(ctx context.Context) {
	tick := time.NewTicker(askEvery)
	defer tick.Stop()
	rng := l.rig.source()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		name := kept
		if rng.IntN(4) == 0 {
			name = quick
		}
		key := fmt.Sprintf("key:%d", rng.IntN(l.keys))
		l.ask(rng.IntN(1<<20), name, key, 1+rng.Int64N(3), 400*time.Millisecond)
	}
}

// ask makes one check at one of the nodes that run, and keeps what came of it. It says whether it was decided, and how.
func (l *load) ask(at int, name, key string, cost int64, within time.Duration) (allowed, decided bool) {
	var nodes []*Node
	var lives []*life
	var via []string
	for _, s := range l.rig.seated() {
		if n, life := s.running(); n != nil {
			nodes, lives, via = append(nodes, n), append(lives, life), append(via, s.cfg.Name)
		}
	}
	if len(nodes) == 0 {
		return false, false
	}
	at %= len(nodes)
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	call := history.Call{
		Kind: history.KindCheck, Limit: name, Key: key, Cost: cost, Start: time.Now().UnixNano(), Via: via[at],
	}
	began := time.Now()
	d, err := nodes[at].Check(ctx, limit.Request{
		Key: key, Limits: []limit.Ref{limit.Named(name)}, Cost: cost, Look: cost == 0, Receipt: true,
	})
	if lives[at].cut() && err == nil {
		err = errors.New("the answer was lost: the power was cut")
	}
	if cost == 0 { // which charges nothing, and so shows nothing
		return d.Allowed, err == nil
	}
	call.End = call.Start + int64(time.Since(began))
	switch {
	case err != nil:
		call.Outcome, call.Error = history.Failed, err.Error()
	case d.Allowed:
		call.Outcome, call.Receipt = history.Admitted, receiptOf(d.Receipts[0])
	default:
		call.Outcome = history.Denied
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls = append(l.calls, call)
	l.counts[call.Outcome]++
	close(l.changed)
	l.changed = make(chan struct{})
	return call.Outcome == history.Admitted, err == nil
}

func receiptOf(r limit.Receipt) *history.Receipt {
	own := &history.Receipt{
		Generation: r.Generation, Span: history.Span{Start: r.Start, End: r.End}, Owner: r.Owner.String(), Serial: r.Serial,
	}
	for _, again := range r.Reuses {
		own.Reuses = append(own.Reuses, history.Span{Start: again.Start, End: again.End})
	}
	return own
}

// seated are the rig's nodes.
func (r *rig) seated() []*seat {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.seats
}

// admitted waits until n more checks were admitted.
func (l *load) admitted(n int) {
	l.rig.t.Helper()
	limit := time.After(long)
	l.mu.Lock()
	target := l.counts[history.Admitted] + n
	for l.counts[history.Admitted] < target {
		changed := l.changed
		l.mu.Unlock()
		select {
		case <-changed:
		case <-limit:
			l.rig.t.Fatalf("not %d checks were admitted in %v: %s", n, long, l.summary())
		}
		l.mu.Lock()
	}
	l.mu.Unlock()
}

// drain spends what is left of every key, until it is denied: eventual service, and the sum of all that was ever admitted.
// All nodes are up.
func (l *load) drain() {
	l.rig.t.Helper()
	l.each(l.decided)
	l.healed = time.Now().UnixNano()
	l.each(func(key string) bool {
		return l.until(quick, key, []int64{1}, true) && l.until(kept, key, []int64{4, 1}, false)
	})
}

// each says of every key whether it is served.
func (l *load) each(served func(key string) bool) {
	t := l.rig.t
	t.Helper()
	var all sync.WaitGroup
	stuck := make(chan string, l.keys)
	gate := make(chan struct{}, 8)
	for k := range l.keys {
		all.Go(func() {
			gate <- struct{}{}
			defer func() { <-gate }()
			if key := fmt.Sprintf("key:%d", k); !served(key) {
				stuck <- key
			}
		})
	}
	all.Wait()
	close(stuck)
	for key := range stuck {
		t.Errorf("%s is not served any more", key)
	}
}

// decided asks each node about a key until it decides.
func (l *load) decided(key string) bool {
	limit := time.Now().Add(long)
	for at := range l.rig.seated() {
		for _, decided := l.ask(at, kept, key, 0, patient); !decided; _, decided = l.ask(at, kept, key, 0, patient) {
			if time.Now().After(limit) {
				return false
			}
			pass(20 * time.Millisecond)
		}
	}
	return true
}

// until asks about a key, at one node after the other, until a check of each of these costs is decided as wanted.
func (l *load) until(name, key string, costs []int64, allowed bool) bool {
	limit := time.Now().Add(long)
	for at := 0; len(costs) > 0; at++ {
		got, decided := l.ask(at, name, key, costs[0], patient)
		switch {
		case decided && got == allowed:
			costs = costs[1:]
		case time.Now().After(limit):
			return false
		case !decided || allowed:
			pass(20 * time.Millisecond)
		}
	}
	return true
}

// err is what the checkers say of all that was asked.
func (l *load) err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return history.Check(&history.History{
		Limits: limitsOfLoad, Calls: l.calls, Faults: []history.Fault{
			{Start: l.begun, End: l.healed, What: "whatever the test does"}, {Start: l.healed, End: l.healed, What: "healed"},
		},
	}, int64(250*time.Millisecond))
}

// held ends the load, spends what is left, and has the checkers judge.
func (l *load) held() {
	l.rig.t.Helper()
	l.end()
	l.drain()
	if err := l.err(); err != nil {
		l.rig.t.Error(err)
	}
	l.rig.t.Log(l.summary())
}

func (l *load) summary() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return fmt.Sprintf("%d checks: %d admitted, %d denied, %d failed",
		len(l.calls), l.counts[history.Admitted], l.counts[history.Denied], l.counts[history.Failed])
}
