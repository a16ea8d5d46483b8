package edge

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/jeton-dev/jeton/actor/lease"
	"github.com/jeton-dev/jeton/actor/limit"
)

const (
	// tidyEvery is how often a part of the shards is looked at, and tidyTurns how many parts there are: surplus is given back within a second.
	tidyEvery = 250 * time.Millisecond
	tidyTurns = 4
	// askWithin is how long an ask for a lease may take.
	askWithin = time.Second
	// giveBackWithin is how long giving back may take.
	giveBackWithin = 500 * time.Millisecond
)

// ask sends an ask of s in the background, for a lease or to report what was admitted, and takes in the answer. The ask was made by the numbers of rule, which is that of the plan in id.
func (e *Edge) ask(id bucketID, rule *limit.Rule, s *share, ask lease.Ask) {
	if ask.Report {
		e.report(dueReport{id, s, ask})
		return
	}
	if e.cfg.Go(func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, askWithin)
		defer cancel()
		sent, _ := e.clock.read()
		r := limit.Request{Key: id.key, Plan: id.plan, Limits: []limit.Ref{limit.Named(id.limit)}, Cost: ask.Tokens, Least: ask.Least}
		r.Lease = &limit.LeaseAsk{Life: time.Duration(ask.Life), Now: sent, Terms: rule.LeaseTerms(), Held: ask.Held, Edge: e.cfg.Name, ID: e.tag}
		d, err := e.cfg.Cluster.Check(ctx, r)
		a := lease.Answer{Number: ask.Number, Sent: sent, Lease: d.Lease, Outcome: outcomeOf(&d)}
		a.Now, _ = e.clock.read()
		e.counts.asked(false, &a, err)
		e.answered(s, a)
		if !a.Compares(mostOff) { // this edge will not spend it
			e.giveBackAll(ctx, map[string][]limit.Receipt{id.key: {d.Lease.Receipt}})
		}
	}) {
		return
	}
	e.answered(s, lease.Answer{Number: ask.Number})
}

// keepTidy starts the goroutine that tidies, unless it runs.
func (e *Edge) keepTidy() {
	if e.tidying.Swap(true) {
		return
	}
	if !e.cfg.Go(e.tidy) {
		e.tidying.Store(false)
	}
}

// tidy gives back what is not needed, and forgets shares that are idle, until there is none, or ctx ends. What is held then, Close gives back.
func (e *Edge) tidy(ctx context.Context) {
	ticker := time.NewTicker(tidyEvery)
	defer ticker.Stop()
	for turn := 0; ; turn++ {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		e.tidyPart(turn % tidyTurns)
		if e.size() == 0 {
			e.tidying.Store(false)
			if e.size() > 0 { // a share came meanwhile
				e.keepTidy()
			}
			return
		}
	}
}

// tidyPart looks at the shares of every tidyTurns-th shard.
func (e *Edge) tidyPart(turn int) {
	at := e.limits()
	tails, giving := map[string][]limit.Receipt{}, e.giving.Load()
	for i := turn; i < len(e.shards); i += tidyTurns {
		sh := &e.shards[i]
		sh.mu.Lock()
		now, jumps := e.clock.read()
		e.jumpedLocked(sh, jumps)
		var due []func()
		for id, s := range sh.shares {
			if ask := s.Due(now); ask.Number != 0 {
				id, rule := s.asks(), s.Rule() // both may be others once the lock is free
				due = append(due, func() { e.ask(id, rule, s, ask) })
			}
			if !giving { // otherwise it has its turn later
				if surplus := s.Surplus(now); len(surplus) > 0 {
					tails[id.key] = append(tails[id.key], surplus...)
				}
			}
			if s.Idle(now) && s.answered == nil || at.of != nil && !at.knows(s.Rule()) {
				sh.dropLocked(s)
			}
		}
		if len(sh.shares) == 0 {
			sh.given = given{}
		}
		sh.mu.Unlock()
		for _, send := range due {
			send()
		}
	}
	e.giveBackAside(tails)
}

// giveBackAside gives tails back, while the tidying goes on.
func (e *Edge) giveBackAside(tails map[string][]limit.Receipt) {
	if len(tails) == 0 || e.giving.Swap(true) {
		return
	}
	if !e.cfg.Go(func(ctx context.Context) {
		defer e.giving.Store(false)
		e.giveBackAll(ctx, tails)
	}) {
		e.giving.Store(false)
	}
}

// size is how many shares there are.
func (e *Edge) size() (n int) {
	for i := range e.shards {
		e.shards[i].mu.Lock()
		n += len(e.shards[i].shares)
		e.shards[i].mu.Unlock()
	}
	return n
}

// Held is how many leases the edge holds, and how many tokens of them can be spent.
func (e *Edge) Held() (leases, tokens int64) {
	now, _ := e.clock.read()
	for i := range e.shards {
		sh := &e.shards[i]
		sh.mu.Lock()
		for _, s := range sh.shares {
			of, leased := s.Holding.(*lease.Share)
			if !leased {
				continue
			}
			for l := range of.Held() {
				if l.Until > now {
					leases++
				}
			}
			tokens += of.Left(now)
		}
		sh.mu.Unlock()
	}
	return leases, tokens
}

func (e *Edge) heldTokens() float64 {
	_, tokens := e.Held()
	return float64(tokens)
}

// givingBack is how many keys are given back at once.
const givingBack = 32

// giveBackAll gives tails back to their owners, many keys at once. What fails is gone, until time has brought it back.
func (e *Edge) giveBackAll(ctx context.Context, tails map[string][]limit.Receipt) {
	var all errgroup.Group
	all.SetLimit(givingBack)
	for key, receipts := range tails {
		if len(receipts) == 0 {
			continue
		}
		all.Go(func() error {
			within, cancel := context.WithTimeout(ctx, giveBackWithin)
			defer cancel()
			returned, err := e.cfg.Cluster.Return(within, key, receipts)
			e.counts.gaveBack(returned, len(receipts), err)
			return nil
		})
	}
	_ = all.Wait() // none fails
}
