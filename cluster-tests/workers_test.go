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
	"github.com/jeton-dev/jeton/cluster-tests/load"
	"github.com/jeton-dev/jeton/cluster-tests/process"
	"github.com/jeton-dev/jeton/rpc/client"
)

const (
	workers     = 500
	places      = 10
	lease       = 2 * time.Second
	crewLimits  = "limits:\n  crew: {algorithm: concurrency, limit: 10, lease: 2s}\n"
	crewClients = 10
	crewDeaths  = 3 // of nodes
	leastKilled = 3 // workers that die inside
)

// A crew are workers who may work only while they are inside, and who count themselves: a worker is inside from the answer that
// let it in until it begins to leave, or, if it does not, until its lease is over, counted from when it asked or last asked to extend.
type crew struct {
	*testing.T

	clients  []*client.Client
	admitted chan struct{} // a signal for each

	mu     sync.Mutex
	inside map[int]time.Time // until when each worker is, at the latest
	most   int               // that were inside at once
	killed int               // inside
	seen   history.History
}

// TestWorkersThatDie lets 500 workers ask for 10 places. Many are killed inside or while they ask, and so are nodes: never
// more than 10 are inside, and the places of the dead are free again after the lease.
func TestWorkersThatDie(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	nodes := process.StartCluster(t, process.Build(t), 3, crewLimits)
	c := newCrew(t, nodes)
	ctx, over := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	kill := make([]context.CancelFunc, workers)
	for i := range workers {
		alive, dies := context.WithCancel(ctx)
		kill[i] = dies
		w := &worker{crew: c, id: i, client: c.clients[i%crewClients], random: rand.New(rand.NewPCG(seed, uint64(1+i)))}
		wg.Go(func() { w.work(alive, ctx) })
	}
	for range crewDeaths {
		c.await(10 + random.IntN(20))
		at := time.Now().UnixNano()
		m := nodes.Members[random.IntN(len(nodes.Members))]
		m.Kill()
		for range workers / 10 { // wherever they are
			kill[random.IntN(workers)]()
		}
		c.await(1 + random.IntN(10))
		m.Launch()
		m.Ready()
		c.fault(at, time.Now().UnixNano(), m.Name+" is killed")
	}
	for !c.proven() && !t.Failed() { // how soon so many are inside at once, and die there, is a matter of chance and of how fast the machine is
		c.await(1)
	}
	over()
	wg.Wait()
	c.fault(time.Now().UnixNano(), time.Now().UnixNano(), "healed")
	c.allIn()
	c.verdict()
}

func newCrew(t *testing.T, nodes *process.Cluster) *crew {
	t.Helper()
	doc, err := limit.ParseDocument([]byte(crewLimits))
	if err != nil {
		t.Fatal(err)
	}
	c := &crew{T: t, inside: map[int]time.Time{}, admitted: make(chan struct{}, 1<<16)}
	c.seen.Limits = []history.Limit{load.Limit(doc.Rules()[0])}
	for range crewClients {
		asks, err := client.New(client.Config{Servers: nodes.Servers()})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { asks.Close() }) //nolint:errcheck // nothing is asked any more
		c.clients = append(c.clients, asks)
	}
	return c
}

// proven says whether all places were taken at once, and workers died inside.
func (c *crew) proven() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.most >= places && c.killed >= leastKilled
}

// await returns when so many more have been let in.
func (c *crew) await(n int) {
	c.Helper()
	patience, end := context.WithTimeout(c.Context(), process.Patience)
	defer end()
	for range n {
		select {
		case <-c.admitted:
		case <-patience.Done():
			c.Fatal("nobody was let in for minutes")
		}
	}
}

func (c *crew) fault(start, end int64, what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen.Faults = append(c.seen.Faults, history.Fault{Start: start, End: end, What: what})
}

// enter counts a worker in until a time, and all that are inside.
func (c *crew) enter(id int, until time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.inside[id] = until
	n, now := 0, time.Now()
	for _, until := range c.inside {
		if now.Before(until) {
			n++
		}
	}
	if c.most = max(c.most, n); n > places {
		c.Errorf("%d workers are inside", n)
	}
}

// leave counts a worker out, before it says so to anyone.
func (c *crew) leave(id int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.inside, id)
}

// keep keeps a call of a worker for the judges.
func (c *crew) keep(call history.Call, start time.Time, id int) {
	call.Limit, call.Key, call.Via = "crew", "k", fmt.Sprint("worker ", id)
	call.Start, call.End = start.UnixNano(), start.UnixNano()+int64(time.Since(start))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen.Calls = append(c.seen.Calls, call)
}

// A worker is one of a crew.
type worker struct {
	*crew
	id     int
	client *client.Client
	random *rand.Rand
}

// work asks for a place, works there, and leaves, until all do, or this worker is killed: then it stops wherever it is, and says
// nothing to anyone.
func (w *worker) work(alive, all context.Context) {
	for alive.Err() == nil {
		permit := w.ask(alive, 0)
		if permit == nil {
			w.rest(alive, 800*time.Millisecond)
			continue
		}
		select {
		case w.admitted <- struct{}{}:
		default:
		}
		for permit != nil && w.random.IntN(3) == 0 && w.rest(alive, lease/3) {
			permit = w.ask(alive, permit.Serial)
		}
		dies := w.random.IntN(5) == 0 || !w.rest(alive, 200*time.Millisecond)
		switch {
		case permit == nil: // it was asked to leave, or has died
		case dies && all.Err() == nil:
			w.mu.Lock()
			w.killed++
			w.mu.Unlock()
			return
		default:
			w.leave(w.id)
			w.giveBack(*permit)
		}
	}
}

// rest waits for a random time, up to most, and says whether the worker lives.
func (w *worker) rest(alive context.Context, most time.Duration) bool {
	t := time.NewTimer(time.Duration(w.random.Int64N(int64(most))))
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-alive.Done():
		return false
	}
}

// ask asks for a place, or to keep the one that it has, and returns the permit; nil for none. One who hears nothing of keeping it
// leaves.
func (w *worker) ask(alive context.Context, extend uint64) *limit.Receipt {
	ctx, cancel := context.WithTimeout(alive, time.Second)
	defer cancel()
	call := history.Call{Kind: history.KindCheck, Cost: 1}
	start := time.Now()
	d, err := w.client.Check(ctx, limit.Request{Key: "k", Limits: []limit.Ref{limit.Named("crew")}, Extend: extend, Receipt: true})
	if err == nil && d.Allowed {
		w.enter(w.id, start.Add(lease-10*time.Millisecond)) // what the clocks of this machine may be apart, twice
	}
	load.Decided(&call, d, err)
	if extend != 0 {
		call.Kind, call.Cost = history.KindExtend, 0
		if call.Receipt == nil {
			call.Receipt = &history.Receipt{Owner: "unknown", Serial: extend}
		}
	}
	w.keep(call, start, w.id)
	if err != nil || !d.Allowed {
		if extend != 0 && alive.Err() == nil {
			w.leave(w.id)
		}
		return nil
	}
	return &d.Receipts[0]
}

// giveBack returns a permit.
func (w *worker) giveBack(permit limit.Receipt) {
	ctx, cancel := context.WithTimeout(w.Context(), time.Second)
	defer cancel()
	call := history.Call{Kind: history.KindReturn, Outcome: history.Ignored, Receipt: load.Receipt(permit)}
	start := time.Now()
	taken, err := w.client.Return(ctx, "k", []limit.Receipt{permit})
	switch {
	case err != nil:
		call.Outcome, call.Error = history.Failed, err.Error()
	case taken[0]:
		call.Outcome = history.Taken
	}
	w.keep(call, start, w.id)
}

// allIn asks for all places at once, until they are free: nobody is inside any more, but for the dead, and those are forgotten.
func (c *crew) allIn() {
	c.Helper()
	ctx, end := context.WithTimeout(c.Context(), process.Patience)
	defer end()
	for ctx.Err() == nil {
		call := history.Call{Kind: history.KindCheck, Cost: places}
		start := time.Now()
		d, err := c.clients[0].Check(ctx, limit.Request{Key: "k", Limits: []limit.Ref{limit.Named("crew")}, Cost: places, Receipt: true})
		load.Decided(&call, d, err)
		c.keep(call, start, workers)
		if err == nil && d.Allowed {
			return
		}
		w := &worker{random: rand.New(rand.NewPCG(1, 2))}
		w.rest(ctx, 100*time.Millisecond)
	}
	c.Error("places are never free again")
}

// verdict is that of the judges.
func (c *crew) verdict() {
	c.Helper()
	outcomes := map[string]int{}
	for i := range c.seen.Calls {
		outcomes[c.seen.Calls[i].Kind.String()+" "+c.seen.Calls[i].Outcome.String()]++
	}
	c.Logf("%d workers were killed inside, at most %d were inside at once; %v", c.killed, c.most, outcomes)
	if c.most < places || c.killed < leastKilled {
		c.Errorf("at most %d were inside, and %d were killed there: this proves nothing", c.most, c.killed)
	}
	results, err := history.Run(&c.seen, nodesApart)
	if err != nil {
		c.Fatal(err)
	}
	for i := range results {
		if err := results[i].Err(); err != nil {
			c.Error(err)
		}
	}
}
