package edge

import (
	"context"
	"fmt"
	"slices"
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

// A ruling is what an edge decides by itself about one check: it is admitted, denied, or neither, so that the cluster has to.
type ruling uint8

const (
	neither ruling = iota
	admits
	denies
)

// decide decides r by what is held here, and by the cluster where that is not enough: limit by limit. Nothing is taken here before the cluster has admitted the rest,
// and if what was there is gone by then, what the cluster took goes back. It says no where nothing of r can be decided here.
func (e *Edge) decide(ctx context.Context, r *limit.Request, own []*limit.Rule) (limit.Decision, bool, error) {
	if !slices.Contains(own, nil) && !r.Look {
		if took, says := e.take(ctx, r, own, true); says != neither {
			return e.decision(r, took, limit.Decision{}, says == admits), true, nil
		}
	}
	rules := own
	own = slices.Clone(own)
	for range maxTries {
		took, says := e.look(r, own)
		rest := e.rest(r, own)
		switch {
		case rest != nil && len(rest.Limits) == len(own):
			return limit.Decision{}, false, nil
		case r.Look:
			return e.decision(r, took, limit.Decision{}, true), true, nil
		case says == denies:
			return e.decision(r, took, unasked(rest), false), true, nil
		}
		var d limit.Decision
		if rest != nil {
			var err error
			if d, err = e.askRest(ctx, rest, rules); err != nil {
				return limit.Decision{}, true, err
			}
		}
		if rest != nil && !d.Allowed {
			return e.decision(r, took, d, false), true, nil
		}
		took, says = e.take(ctx, r, own, false)
		if says == admits {
			return e.decision(r, took, d, true), true, nil
		}
		e.giveBack(r.Key, d.Receipts) // other checks were faster
		if says == denies {
			return e.decision(r, took, d, false), true, nil
		}
	}
	return limit.Decision{}, true, fmt.Errorf("%w: what this edge held for %s was spent by others, again and again", limit.ErrOverloaded, limit.Quote(r.Key))
}

// maxTries is how often a check is begun again because others have spent what was there for it.
const maxTries = 4

// askRest has the cluster decide the rest of a check, and takes in what it says of limits of which this edge goes by what it hears.
func (e *Edge) askRest(ctx context.Context, rest *limit.Request, rules []*limit.Rule) (limit.Decision, error) {
	sent, _ := e.clock.read()
	d, err := e.cfg.Cluster.Check(ctx, *rest)
	if err == nil {
		var of [limit.MaxLimits]*limit.Rule
		for i, ref := range rest.Limits {
			for _, rule := range rules {
				if rule != nil && rule.Name == ref.Name {
					of[i] = rule
				}
			}
		}
		e.heard(rest, of[:len(rest.Limits)], d, sent)
	}
	return d, err
}

// heard takes in what the cluster has decided about limits of which this edge goes by what it hears.
func (e *Edge) heard(r *limit.Request, own []*limit.Rule, d limit.Decision, sent int64) {
	if len(d.Limits) != len(own) {
		return
	}
	sh := e.shardOf(r.Key)
	for i, rule := range own {
		if rule == nil || rule.Consistency != limit.Eventual {
			continue
		}
		sh.mu.Lock()
		if s := sh.shares[bucketID{r.Key, rule.Name, r.Plan}]; s != nil {
			s.Heard(d.Limits[i], sent)
		}
		sh.mu.Unlock()
	}
}

// unasked is what is said of limits that the cluster was not asked for: nothing is known of them.
func unasked(r *limit.Request) (d limit.Decision) {
	if r == nil {
		return d
	}
	for _, ref := range r.Limits {
		d.Limits = append(d.Limits, limit.Outcome{Name: ref.Name, Allowed: true})
	}
	return d
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

// take takes of all that is held here, or nothing. If it waits, it does for leases that are on their way, until ctx ends. What can come back is numbered.
func (e *Edge) take(ctx context.Context, r *limit.Request, own []*limit.Rule, waits bool) ([]taken, ruling) {
	took := make([]taken, 0, 1)
	for i, rule := range own {
		if rule == nil {
			continue
		}
		t, says := e.takeOne(ctx, r, rule, waits)
		switch says {
		case neither:
			e.putBack(took)
			return nil, neither
		case denies:
			e.putBack(took)
			return e.others(r, append(took, t), own[i+1:]), denies
		case admits:
			took = append(took, t)
		}
	}
	return took, admits
}

// others adds what the other limits say to a check that one has denied.
func (e *Edge) others(r *limit.Request, took []taken, own []*limit.Rule) []taken {
	for _, rule := range own {
		if rule != nil {
			t, _ := e.lookOne(r, rule)
			took = append(took, t)
		}
	}
	return took
}

// takeOne takes of one bucket.
func (e *Edge) takeOne(ctx context.Context, r *limit.Request, rule *limit.Rule, waits bool) (taken, ruling) {
	numbered := r.Receipt || len(r.Limits) > 1
	t := taken{id: bucketID{r.Key, rule.Name, r.Plan}, shard: e.shardOf(r.Key)}
	cost := r.Tokens()
	now, jumps := e.clock.read()
	t.shard.mu.Lock()
	s := e.shareLocked(t.shard, t.id, rule, now, jumps)
	if s == nil {
		t.shard.mu.Unlock()
		return noRoom(rule, t)
	}
	piece, verdict, ask := s.Check(now, cost)
	var answered chan struct{}
	switch verdict {
	case lease.Spent:
		e.keepLocked(&t, s, piece, now, cost, numbered)
	case lease.Denied:
		t.outcome = s.Outcome(now, cost, false)
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
		return t, rulingOf(verdict)
	}
	select {
	case <-answered:
	case <-ctx.Done():
		return t, neither
	}
	now, jumps = e.clock.read()
	t.shard.mu.Lock()
	defer t.shard.mu.Unlock()
	if e.shareLocked(t.shard, t.id, rule, now, jumps) != s {
		return t, neither
	}
	piece, ok := s.Again(now, cost)
	if !ok {
		return t, neither
	}
	e.keepLocked(&t, s, piece, now, cost, numbered)
	return t, admits
}

// noRoom is what becomes of a check of a bucket for which this edge has no room: nobody else can decide about one that is its own.
func noRoom(rule *limit.Rule, t taken) (taken, ruling) {
	if rule.Consistency != limit.OfEdge {
		return t, neither
	}
	t.outcome = limit.Outcome{Name: rule.Name, Limit: rule.Capacity, RetryAfter: rule.Fill()}
	return t, denies
}

func rulingOf(v lease.Verdict) ruling {
	switch v {
	case lease.Spent:
		return admits
	case lease.Denied:
		return denies
	case lease.Elsewhere, lease.Waits:
	}
	return neither
}

// keepLocked writes down what was taken.
func (e *Edge) keepLocked(t *taken, s *share, piece lease.Piece, now, cost int64, numbered bool) {
	if numbered {
		t.number = e.serials.Add(1)
		s.Give(t.number, piece)
	}
	t.piece = piece
	t.outcome = s.Outcome(now, cost, true)
}

// look says what would become of r by what is held here, and asks for more where that is little. Of own it removes the limits of which there is too little.
func (e *Edge) look(r *limit.Request, own []*limit.Rule) (looked []taken, says ruling) {
	says = admits
	for i, rule := range own {
		if rule == nil {
			continue
		}
		t, one := e.lookOne(r, rule)
		switch one {
		case neither:
			own[i] = nil
			continue
		case denies:
			says = denies
		case admits:
		}
		looked = append(looked, t)
	}
	return looked, says
}

// lookOne is look for one limit.
func (e *Edge) lookOne(r *limit.Request, rule *limit.Rule) (taken, ruling) {
	t := taken{id: bucketID{r.Key, rule.Name, r.Plan}, shard: e.shardOf(r.Key)}
	now, jumps := e.clock.read()
	t.shard.mu.Lock()
	s := e.shareLocked(t.shard, t.id, rule, now, jumps)
	if s == nil {
		t.shard.mu.Unlock()
		return noRoom(rule, t)
	}
	v, ask := s.Look(now, r.Tokens())
	t.outcome = s.Outcome(now, r.Tokens(), v == lease.Spent)
	t.shard.mu.Unlock()
	if ask.Number != 0 {
		e.ask(t.id, rule, s, ask)
	}
	return t, rulingOf(v)
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
func (e *Edge) shareLocked(sh *shard, id bucketID, rule *limit.Rule, now int64, jumps uint64) *share {
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
	case len(sh.shares) >= maxShares && !sh.makeRoomLocked(now):
		return nil
	default:
		id.key = strings.Clone(id.key) // it may be a piece of something larger
	}
	s = &share{Holding: lease.New(rule)}
	sh.shares[id] = s
	e.keepTidy()
	return s
}

// decision is what r is answered: of what is held here what was taken, or seen, and of the rest what the cluster has decided.
func (e *Edge) decision(r *limit.Request, took []taken, rest limit.Decision, allowed bool) limit.Decision {
	d := limit.Decision{Allowed: allowed, Limits: make([]limit.Outcome, len(r.Limits)), Node: rest.Node}
	for i, ref := range r.Limits {
		if len(took) == 0 || took[0].id.limit != ref.Name {
			if len(rest.Limits) > 0 {
				d.Limits[i], rest.Limits = rest.Limits[0], rest.Limits[1:]
			}
			if r.Receipt && allowed && len(rest.Receipts) > 0 && rest.Receipts[0].Limit == ref.Name {
				d.Receipts, rest.Receipts = append(d.Receipts, rest.Receipts[0]), rest.Receipts[1:]
			}
			continue
		}
		t := &took[0]
		took = took[1:]
		if d.Limits[i] = t.outcome; r.Plan != "" && t.outcome.Plan == "" {
			d.Limits[i].Plan = planOf(e.limits(), ref.Name, r.Plan)
		}
		if r.Receipt && allowed {
			d.Receipts = append(d.Receipts, e.receipt(t))
		}
	}
	return d
}

// receipt is that of line that was spent here.
func (e *Edge) receipt(t *taken) limit.Receipt {
	r := limit.Receipt{Limit: t.id.limit, Span: t.piece.Span}
	if t.piece.Lease != nil {
		r.Generation = t.piece.Generation
	}
	r.Owner, r.Serial = e.id, t.number
	return r
}
