package edge

import (
	"context"
	"strings"

	"github.com/jeton-dev/jeton/actor/lease"
	"github.com/jeton-dev/jeton/actor/limit"
)

// taken is line that a check was given of one share.
type taken struct {
	shard   *shard
	id      bucketID
	piece   lease.Piece
	number  uint64 // by which it comes back; 0 if it cannot
	outcome limit.Outcome
}

// decide decides r, if there is line for all that is leased, and the cluster admits the rest.
func (e *Edge) decide(ctx context.Context, r *limit.Request, leased []*limit.Rule) (limit.Decision, bool) {
	rest := e.rest(r, leased)
	if rest == nil {
		took := e.take(ctx, r, leased, true)
		if took == nil {
			return limit.Decision{}, false
		}
		return e.decision(r, took, limit.Decision{}), true
	}
	if !e.has(r, leased) {
		return limit.Decision{}, false
	}
	d, err := e.cfg.Cluster.Check(ctx, *rest)
	switch {
	case err != nil: // the cluster says so again, of all limits
		return limit.Decision{}, false
	case !d.Allowed:
		return e.denied(r, leased, d), true
	}
	took := e.take(ctx, r, leased, false)
	if took == nil { // other checks were faster
		e.giveBack(r.Key, d.Receipts)
		return limit.Decision{}, false
	}
	return e.decision(r, took, d), true
}

// rest is what of r the cluster is to decide; nil for nothing. Its receipts are for giving back.
func (e *Edge) rest(r *limit.Request, leased []*limit.Rule) *limit.Request {
	n := 0
	for _, rule := range leased {
		if rule == nil {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	rest := *r
	rest.Receipt = true
	rest.Limits = make([]limit.Ref, 0, n)
	for i, rule := range leased {
		if rule == nil {
			rest.Limits = append(rest.Limits, r.Limits[i])
		}
	}
	return &rest
}

// take takes line for all that is leased, or nothing: then it is nil. If it waits, it does for leases that are on their way, until ctx ends. What can come back is
// numbered.
func (e *Edge) take(ctx context.Context, r *limit.Request, leased []*limit.Rule, waits bool) []taken {
	took := make([]taken, 0, 1)
	for _, rule := range leased {
		if rule == nil {
			continue
		}
		t, ok := e.takeOne(ctx, r, rule, waits)
		if !ok {
			e.putBack(took)
			return nil
		}
		took = append(took, t)
	}
	return took
}

// takeOne takes line of one bucket.
func (e *Edge) takeOne(ctx context.Context, r *limit.Request, rule *limit.Rule, waits bool) (taken, bool) {
	numbered := r.Receipt || len(r.Limits) > 1
	t := taken{id: bucketID{r.Key, rule.Name, r.Plan}, shard: e.shardOf(r.Key)}
	cost := r.Tokens()
	now, jumps := e.clock.read()
	t.shard.mu.Lock()
	s := e.shareLocked(t.shard, t.id, rule, jumps)
	if s == nil {
		t.shard.mu.Unlock()
		return taken{}, false
	}
	piece, verdict, ask := s.Check(now, cost)
	var answered chan struct{}
	switch verdict {
	case lease.Spent:
		e.keepLocked(&t, s, piece, now, cost, numbered)
	case lease.Waits:
		if s.answered == nil {
			s.answered = make(chan struct{})
		}
		answered = s.answered
	case lease.Elsewhere:
	}
	t.shard.mu.Unlock()
	if ask.Number != 0 {
		e.ask(t.id, rule, s, ask)
	}
	if answered == nil || !waits {
		return t, verdict == lease.Spent
	}
	select {
	case <-answered:
	case <-ctx.Done():
		return taken{}, false
	}
	now, jumps = e.clock.read()
	t.shard.mu.Lock()
	defer t.shard.mu.Unlock()
	if e.shareLocked(t.shard, t.id, rule, jumps) != s {
		return taken{}, false
	}
	piece, ok := s.Again(now, cost)
	if ok {
		e.keepLocked(&t, s, piece, now, cost, numbered)
	}
	return t, ok
}

// keepLocked writes down what was taken.
func (e *Edge) keepLocked(t *taken, s *share, piece lease.Piece, now, cost int64, numbered bool) {
	if numbered {
		t.number = e.serials.Add(1)
		s.Give(t.number)
	}
	t.piece = piece
	t.outcome = s.Outcome(now, cost)
}

// has says whether there is line for all that is leased, and asks for more where that is little.
func (e *Edge) has(r *limit.Request, leased []*limit.Rule) bool {
	now, jumps := e.clock.read()
	sh := e.shardOf(r.Key)
	for _, rule := range leased {
		if rule == nil {
			continue
		}
		id := bucketID{r.Key, rule.Name, r.Plan}
		sh.mu.Lock()
		s := e.shareLocked(sh, id, rule, jumps)
		var ask lease.Ask
		has := false
		if s != nil {
			has, ask = s.Look(now, r.Tokens())
		}
		sh.mu.Unlock()
		if ask.Number != 0 {
			e.ask(id, rule, s, ask)
		}
		if !has {
			return false
		}
	}
	return true
}

// putBack puts back what was taken, each piece in its place.
func (e *Edge) putBack(took []taken) {
	for i := range took {
		e.putBackOne(&took[i])
	}
}

func (e *Edge) putBackOne(t *taken) bool {
	now, jumps := e.clock.read()
	t.shard.mu.Lock()
	defer t.shard.mu.Unlock()
	s := t.shard.shares[t.id]
	if s == nil || t.shard.jumps != jumps {
		return false
	}
	return s.PutBack(t.number, now)
}

// shareLocked is the share of a bucket under a rule; nil where the shard is full. What is held from before a jump of the clock, or of another rule, is dropped.
func (e *Edge) shareLocked(sh *shard, id bucketID, rule *limit.Rule, jumps uint64) *share {
	if sh.jumps != jumps {
		if len(sh.shares) > 0 {
			e.counts.dropped.Add(float64(len(sh.shares)))
			sh.forgetLocked()
		}
		sh.jumps = jumps
	}
	s := sh.shares[id]
	switch {
	case s != nil && (s.Rule() == rule || s.Rule().Equal(rule)):
		return s
	case s != nil:
		s.release()
	case len(sh.shares) >= maxShares:
		return nil
	default:
		id.key = strings.Clone(id.key) // it may be a piece of something larger
	}
	s = &share{Share: lease.NewShare(rule)}
	sh.shares[id] = s
	e.keepTidy()
	return s
}

// decision is what r is answered that was given all that it asked for, and of the rest what the cluster has decided.
func (e *Edge) decision(r *limit.Request, took []taken, rest limit.Decision) limit.Decision {
	d := limit.Decision{Allowed: true, Limits: make([]limit.Outcome, len(r.Limits)), Node: rest.Node}
	if r.Receipt {
		d.Receipts = rest.Receipts
	}
	for i, ref := range r.Limits {
		if len(took) == 0 || took[0].id.limit != ref.Name {
			d.Limits[i], rest.Limits = rest.Limits[0], rest.Limits[1:]
			continue
		}
		t := &took[0]
		took = took[1:]
		if d.Limits[i] = t.outcome; r.Plan != "" && t.outcome.Plan == "" {
			d.Limits[i].Plan = planOf(e.limits(), ref.Name, r.Plan)
		}
		if r.Receipt {
			d.Receipts = append(d.Receipts, e.receipt(t))
		}
	}
	return d
}

// receipt is that of line that was spent here.
func (e *Edge) receipt(t *taken) limit.Receipt {
	r := t.piece.Receipt
	r.Span = t.piece.Span
	r.Owner, r.Serial = e.id, t.number
	return r
}

// denied is what r is answered where the cluster has denied the rest: nothing is taken of what is leased, which would have admitted it.
func (e *Edge) denied(r *limit.Request, leased []*limit.Rule, rest limit.Decision) limit.Decision {
	now, _ := e.clock.read()
	d := limit.Decision{Limits: make([]limit.Outcome, len(r.Limits)), Node: rest.Node}
	sh := e.shardOf(r.Key)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	for i, rule := range leased {
		if rule == nil {
			d.Limits[i], rest.Limits = rest.Limits[0], rest.Limits[1:]
			continue
		}
		o := limit.Outcome{Name: rule.Name, Limit: rule.Capacity}
		if s := sh.shares[bucketID{r.Key, rule.Name, r.Plan}]; s != nil {
			o = s.Outcome(now, 0)
		}
		o.Allowed = true
		d.Limits[i] = o
	}
	return d
}
