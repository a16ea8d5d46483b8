package edge

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/jeton-dev/jeton/actor/lease"
	"github.com/jeton-dev/jeton/actor/limit"
)

// taken is what a check was given of one bucket, or told by it. It is none if says is neither.
type taken struct {
	choice

	says    ruling
	shard   *shard
	id      bucketID
	share   *share
	piece   lease.Piece
	number  uint64 // by which it comes back; 0 if it does not
	outcome limit.Outcome

	answered chan struct{} // what the check may wait for; nil for nothing
}

// A ruling is what an edge decides by itself about one check of a bucket: it is admitted, denied, or neither, so that the cluster has to.
type ruling uint8

const (
	neither ruling = iota
	admits
	denies
)

// decide decides r by what is held here, and by the cluster where that is not enough: limit by limit. What is here is taken first, and put back exactly where the
// cluster denies the rest. It says by whom it was decided.
func (e *Edge) decide(ctx context.Context, r *limit.Request, own []choice) (limit.Decision, decider, error) {
	took := make([]taken, len(own))
	says, waits := e.take(r, own, took)
	if says == denies {
		return e.decision(r, took, unasked(e.rest(r, took)), false), byEdge, nil
	}
	if says == admits {
		return e.decision(r, took, limit.Decision{}, true), byEdge, nil
	}
	ctx, cancel := e.withDeadline(ctx)
	defer cancel()
	if waits {
		for i := range took {
			if took[i].answered != nil {
				e.wait(ctx, r, &took[i])
			}
		}
	}
	rest := e.rest(r, took)
	switch {
	case slices.ContainsFunc(took, func(t taken) bool { return t.says == denies }): // after it has waited
		e.putBack(took)
		return e.decision(r, took, unasked(rest), false), byEdge, nil
	case rest == nil:
		return e.decision(r, took, limit.Decision{}, true), byEdge, nil
	}
	d, err := e.askRest(ctx, rest, took)
	if err != nil {
		return limit.Decision{}, byOwner, e.undecided(r, took, rest, err)
	}
	if !d.Allowed {
		e.putBack(took)
	}
	return e.decision(r, took, d, d.Allowed), byOwner, nil
}

// undecided is the error of a check of whose rest there is no decision. What was taken here is kept, with receipts.
func (e *Edge) undecided(r *limit.Request, took []taken, rest *limit.Request, err error) error {
	if len(rest.Limits) == len(r.Limits) {
		return err
	}
	decided := *r
	decided.Receipt, decided.Limits = true, nil
	var here []taken
	for i := range took {
		if took[i].says == neither {
			continue
		}
		e.returnable(&took[i])
		decided.Limits, here = append(decided.Limits, r.Limits[i]), append(here, took[i])
	}
	return &limit.UndecidedError{Limits: rest.Limits, Decided: e.decision(&decided, here, limit.Decision{}, true), Err: err}
}

// returnable sees to it that what was taken can come back.
func (e *Edge) returnable(t *taken) {
	if t.number != 0 || t.share == nil {
		return
	}
	t.shard.mu.Lock()
	defer t.shard.mu.Unlock()
	now, _ := e.clock.read()
	t.keepLocked(now)
}

// withDeadline is ctx with the deadline of calls that have none of their own.
func (e *Edge) withDeadline(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok || e.cfg.Timeout == 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, e.cfg.Timeout)
}

// askRest has the cluster decide the rest of a check, and takes in what it says of limits about which this edge decides too.
func (e *Edge) askRest(ctx context.Context, rest *limit.Request, took []taken) (limit.Decision, error) {
	sent, jumps := e.clock.read()
	d, err := e.cfg.Cluster.Check(ctx, *rest)
	if err == nil {
		e.heard(rest, took, d, sent, jumps)
	}
	return d, err
}

// heard takes in what the cluster has decided about limits about which this edge decides too. The check was put to it at sent, when the clock had jumped so often: what comes after
// another jump, or of a share that was forgotten meanwhile, is of another time.
func (e *Edge) heard(rest *limit.Request, took []taken, d limit.Decision, sent int64, jumps uint64) {
	if len(d.Limits) != len(rest.Limits) {
		return
	}
	h := lease.Heard{Cost: rest.Tokens(), Taken: d.Allowed, Sent: sent, Known: e.known(rest.Key, d), Random: rand.Float64()}
	outcomes := d.Limits
	for i := range took {
		t := &took[i]
		if t.says != neither {
			continue
		}
		h.Outcome, outcomes = outcomes[0], outcomes[1:]
		if t.share == nil || overridden(&h.Outcome) {
			continue
		}
		t.shard.mu.Lock()
		var jumped uint64
		if h.Now, jumped = e.clock.read(); jumped == jumps && !t.share.gone && t.share.goesBy(t.rule) {
			t.share.Heard(h)
		}
		t.shard.mu.Unlock()
	}
}

// known is how long a denial of a key is known at most: not at all if it is not of the node that decides about the key first, which has most of its line.
func (e *Edge) known(key string, d limit.Decision) time.Duration {
	places, placed := e.cfg.Cluster.(interface{ First(key string) string })
	if d.Allowed || e.cfg.RepeatDenials < 0 || placed && places.First(key) != d.Node {
		return 0
	}
	return cmp.Or(e.cfg.RepeatDenials, lease.MaxKnown)
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

// rest is what of r the cluster is to decide; nil for nothing.
func (e *Edge) rest(r *limit.Request, took []taken) *limit.Request {
	n := 0
	for i := range took {
		if took[i].says == neither {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	rest := *r
	rest.Limits = make([]limit.Ref, 0, n)
	for i := range took {
		if took[i].says == neither {
			rest.Limits = append(rest.Limits, r.Limits[i])
		}
	}
	return &rest
}

// take takes of all that is held here, and says what that comes to: neither, if there is too little of some. Where a limit denies, nothing is taken, and the others are
// looked at. Waits says that there are leases on their way for which r may wait.
func (e *Edge) take(r *limit.Request, own []choice, took []taken) (says ruling, waits bool) {
	says = admits
	for i := range own {
		t := &took[i]
		t.choice = own[i]
		switch {
		case t.rule == nil:
			says = least(says, neither)
			continue
		case says == denies || r.Look:
			e.lookOne(r, t)
		default:
			e.takeOne(r, t)
		}
		waits = waits || t.answered != nil
		if t.says == denies && says != denies {
			e.putBack(took[:i])
		}
		says = least(says, t.says)
	}
	if r.Look && says == denies { // a look is always allowed
		says = admits
	}
	return says, waits
}

// least is what two limits together say: a denial by one of them is one, whatever the other says.
func least(a, b ruling) ruling {
	if a == denies || b == denies {
		return denies
	}
	return min(a, b)
}

// idOf is the bucket of r and a choice.
func idOf(r *limit.Request, c *choice) bucketID {
	return bucketID{key: r.Key, limit: c.rule.Name, plan: c.plan()}
}

// takeOne takes of one bucket.
func (e *Edge) takeOne(r *limit.Request, t *taken) {
	t.id, t.shard = idOf(r, &t.choice), e.shardOf(r.Key)
	cost := r.Tokens()
	t.shard.mu.Lock()
	now, jumps := e.clock.read() // now that it has the lock: who waits for it may have read a clock that was set back since
	s := e.shareLocked(t.shard, t.id, t.rule, now, jumps)
	if t.share = s; s == nil {
		t.shard.mu.Unlock()
		t.noRoom()
		return
	}
	piece, verdict, ask := s.Check(now, cost)
	t.says = t.ruling(verdict, r)
	switch verdict {
	case lease.Spent:
		t.tookLocked(piece, now, r)
	case lease.Denied:
		t.outcome = s.Outcome(now, cost, false)
	case lease.Waits:
		if s.answered == nil {
			s.answered = make(chan struct{})
		}
		t.answered = s.answered
	case lease.Elsewhere:
	}
	id := s.asks()
	t.shard.mu.Unlock()
	if ask.Number != 0 {
		e.ask(id, t.rule, s, ask)
	}
}

// wait waits for the answer that t may wait for, and takes of what it brings.
func (e *Edge) wait(ctx context.Context, r *limit.Request, t *taken) {
	select {
	case <-t.answered:
	case <-ctx.Done():
		return
	}
	now, jumps := e.clock.read()
	t.shard.mu.Lock()
	defer t.shard.mu.Unlock()
	if t.shard.jumps != jumps || t.share.gone {
		return
	}
	if piece, ok := t.share.Again(now, r.Tokens()); ok {
		t.says = admits
		t.tookLocked(piece, now, r)
		return
	}
	if t.ruling(t.share.Look(now, r.Tokens()), r) == denies {
		t.says, t.outcome = denies, t.share.Outcome(now, r.Tokens(), false)
	}
}

// noRoom is what becomes of a check of a bucket for which this edge has no room: nobody else can decide about one that is its own.
func (t *taken) noRoom() {
	if t.rule.Consistency == limit.OfEdge {
		t.says, t.outcome = denies, limit.Outcome{Name: t.rule.Name, Limit: t.rule.Capacity, RetryAfter: t.rule.Fill()}
	}
}

// ruling is what a verdict says. What an owner has denied is repeated to a check of that limit alone: another limit may deny for longer, or count denials.
func (t *taken) ruling(v lease.Verdict, r *limit.Request) ruling {
	switch v {
	case lease.Spent:
		return admits
	case lease.Denied:
		if leases(t.rule) && len(r.Limits) > 1 {
			return neither
		}
		return denies
	case lease.Elsewhere, lease.Waits:
	}
	return neither
}

// tookLocked writes down what was taken.
func (t *taken) tookLocked(piece lease.Piece, now int64, r *limit.Request) {
	t.piece = piece
	if r.Receipt {
		t.keepLocked(now)
	}
	t.outcome = t.share.Outcome(now, r.Tokens(), true)
}

// keepLocked remembers what was taken, so that it can come back by a receipt.
func (t *taken) keepLocked(now int64) {
	t.number = t.shard.given.add(t.share, t.piece, now)
}

// lookOne says what would become of r in one bucket, and takes nothing.
func (e *Edge) lookOne(r *limit.Request, t *taken) {
	t.id, t.shard = idOf(r, &t.choice), e.shardOf(r.Key)
	t.shard.mu.Lock()
	defer t.shard.mu.Unlock()
	now, jumps := e.clock.read()
	s := e.shareLocked(t.shard, t.id, t.rule, now, jumps)
	if s == nil {
		t.noRoom()
		return
	}
	v := s.Look(now, r.Tokens())
	t.says, t.outcome = t.ruling(v, r), s.Outcome(now, r.Tokens(), v == lease.Spent)
}

// putBack puts back what was taken, each piece in its place, and tells what there is then.
func (e *Edge) putBack(took []taken) {
	now, jumps := e.clock.read()
	for i := range took {
		t := &took[i]
		if t.says != admits || t.share == nil || t.piece.Cost == 0 {
			continue
		}
		t.shard.mu.Lock()
		if t.shard.jumps == jumps && !t.share.gone {
			if t.number != 0 {
				t.shard.given.take(t.number)
			}
			t.share.Undo(t.piece, now)
			t.outcome = t.share.Outcome(now, t.piece.Cost, true)
		}
		t.shard.mu.Unlock()
		t.piece = lease.Piece{}
	}
}

// shareLocked is the share of a bucket under a rule; nil where the shard is full. What is held from before a jump of the clock, or of another rule, is
// dropped; a bucket that is local goes on under the other rule.
func (e *Edge) shareLocked(sh *shard, id bucketID, rule *limit.Rule, now int64, jumps uint64) *share {
	e.jumpedLocked(sh, jumps)
	plan := id.plan
	id = id.shared(rule)
	s := sh.shares[id]
	if s != nil && s.under(rule) {
		s.plan = plan
		return s
	}
	if s != nil {
		sh.dropLocked(s)
	}
	kind := kindOf(rule)
	if e.closed.Load() {
		return nil
	}
	if sh.count[kind] >= maxShares && !sh.makeRoomLocked(kind, now) {
		return nil
	}
	id.key = strings.Clone(id.key) // it may be a piece of something larger
	s = &share{Holding: lease.New(rule), id: id, tag: e.tag + jumps, plan: plan}
	sh.shares[id] = s
	sh.count[kind]++
	e.keepTidy()
	return s
}

// decision is what r is answered: of what is held here what was taken, or seen, and of the rest what the cluster has decided.
func (e *Edge) decision(r *limit.Request, took []taken, rest limit.Decision, allowed bool) limit.Decision {
	d := limit.Decision{Allowed: allowed, Limits: make([]limit.Outcome, len(r.Limits)), Node: rest.Node}
	for i, ref := range r.Limits {
		t := &took[i]
		if t.says == neither {
			if len(rest.Limits) > 0 {
				d.Limits[i], rest.Limits = rest.Limits[0], rest.Limits[1:]
			}
			if r.Receipt && allowed && len(rest.Receipts) > 0 && rest.Receipts[0].Limit == ref.Name {
				d.Receipts, rest.Receipts = append(d.Receipts, rest.Receipts[0]), rest.Receipts[1:]
			}
			continue
		}
		d.Limits[i] = t.outcome
		t.tell(&d.Limits[i], r.Tokens())
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
