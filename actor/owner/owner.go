// Package owner is the owner's half of jeton's protocol, as pure steps: how one key's checks are decided from a
// segment of each bucket's line that is held in memory, and when and how more line is reserved at the replicas. It has
// no clock, no goroutine and no I/O: every step takes the time, and appends what is to be sent and answered to an [Out].
//
// The owner is a cache; a majority of the replicas' registers is the truth. Any number of owners may act for a key at
// once: what each spends, a majority accepted as its own.
//
//	check at t, of length L on the line
//	  end = max(TAT, t) + L
//	  end > t + τ        deny: no I/O
//	  end ≤ Hi           admit: TAT = end, no I/O
//	  otherwise          reserve (from, to] with from = max(Hi, free, t), wait for a majority, and decide again
//
//	────────────────┬──────────────┬───────────────┬──────────────▶ line
//	  spent         TAT  segment   Hi  unreserved  t+τ
//
// where free is from where a majority would say yes, as far as the replicas have told.
//
// Start with [Owner.Check].
package owner

import (
	"github.com/jeton-dev/jeton/actor/limit"
)

// An Owner decides for one key: it holds all of the key's buckets and the checks that wait. One caller at a time. There
// may be millions of owners: most have one bucket and no check that waits, and an Owner has room for just that. One with
// nothing but its Terms knows nothing yet.
type Owner struct {
	*Terms             // to be replaced by Enter only
	bucket   bucket    // the first one; without a rule if there is none yet
	overflow *overflow // the other buckets, and the checks that wait; nil for neither
}

// New is an owner that knows nothing yet, under terms of its own. id is the name of its process, epoch that of the key's
// replica set.
func New(cfg *Config, id limit.OwnerID, epoch uint64) *Owner {
	return &Owner{Terms: NewTerms(cfg, id, epoch)}
}

// Check decides c, or keeps it until it can be decided. Checks that wait are decided in their order; one that no wait
// can help is denied at once.
func (o *Owner) Check(c Check, out *Out) {
	o.tidy(c.At)
	switch {
	case o.Waiting() == 0:
		if o.decide(&c, c.At, out) {
			return
		}
	case o.changes(c.Rules):
		// Under another rule the bucket forgets what refusals have taught it, and what waits would wait for ever.
	default:
		if trials, denied := o.try(&c, out); denied {
			o.deny(&c, trials, out)
			return
		}
	}
	o.await(waiter{Check: c}, out)
}

// decide answers c if that can be done now: every limit is tested for denial first, so that nothing is reserved in
// vain; then what is needed is reserved, and only when all buckets admit is any of them charged.
func (o *Owner) decide(c *Check, now int64, out *Out) bool {
	trials, denied := o.try(c, out)
	if !denied && enterNext(trials) {
		trials, denied = o.try(c, out)
	}
	if denied {
		o.deny(c, trials, out)
		return true
	}
	ready := true
	for i := range trials {
		t := &trials[i]
		if !c.counted {
			t.bucket.load.note(c.At, t.length, o.cfg.Delta)
		}
		switch t.verdict {
		case wait:
			ready = false
			o.reserve(t, c.At, now, out)
		case hold:
			ready = false
		case admit, deny, enter:
		}
	}
	c.counted = true
	if ready {
		o.admit(c, now, trials, out)
	}
	return ready
}

// try asks every bucket of c whether it could be admitted.
func (o *Owner) try(c *Check, out *Out) (trials []trial, denied bool) {
	if len(c.Rules) > cap(out.trials) {
		out.trials = make([]trial, len(c.Rules))
	}
	trials = out.trials[:len(c.Rules)]
	for i, rule := range c.Rules {
		t := &trials[i]
		t.bucket, t.length = o.bucketOf(rule, out), rule.Length(c.Cost)
		t.result = t.bucket.test(c.At, c.Cost, t.length, o.cfg)
		denied = denied || t.verdict == deny
	}
	return trials, denied
}

// test says what the bucket would do with a check of cost and length at t. It changes nothing.
func (b *bucket) test(t, cost int64, length limit.Pos, cfg *Config) result {
	r := b.rule
	bound := r.Bound(t)
	fresh := length // of the length, what must be line that was never spent
	if credit := b.credit(t); credit != (limit.Pos{}) {
		fresh = limit.Later(limit.Pos{}, r.Sub(length, credit))
	}
	end := r.End(b.spentAt(t), t, length)
	if end.After(bound) || cost > r.Capacity {
		return result{verdict: deny, end: end}
	}
	top := r.End(b.tat, t, fresh)
	if !top.After(limit.At(b.held.to)) {
		return result{verdict: admit, end: end}
	}
	if next := b.next(); next.to > next.from {
		end = r.End(limit.Later(b.tat, limit.At(next.from)), t, length)
		if end.After(bound) {
			return result{verdict: deny, end: end}
		}
		return result{verdict: enter, end: end}
	}
	if cost == 0 {
		return b.peek(t, bound, cfg)
	}
	if b.pending() != nil {
		return result{verdict: hold, end: end}
	}
	from := b.start(t, cfg)
	if from > b.held.to {
		end = r.Add(limit.At(from), length)
		top = end
	}
	switch refused := b.refused(); {
	case end.After(bound):
		return result{verdict: deny, end: end}
	case refused != nil && t >= refused.until && refused.missing(cfg):
		top = limit.At(from) // it was refused once: ask whether the line is free, and take none of it
	}
	return result{verdict: wait, end: end, need: top, from: from}
}

// peek is test for a check of no cost. It takes no line: it asks the replicas whether the line is free from t on, and what
// they say to that is its answer.
func (b *bucket) peek(t int64, bound limit.Pos, cfg *Config) result {
	r := b.refused()
	switch {
	case r != nil && r.sentAt >= t:
		end := limit.At(b.start(t, cfg))
		if end.After(bound) {
			return result{verdict: deny, end: end}
		}
		return result{verdict: admit, end: end}
	case b.pending() != nil:
		return result{verdict: hold, end: limit.At(b.rule.Begin(t))}
	}
	from := b.rule.Begin(t)
	return result{verdict: wait, end: limit.At(from), need: limit.At(from), from: from}
}

// enterNext moves every bucket that can only so serve the check into its next segment, and says whether one did.
func enterNext(trials []trial) (entered bool) {
	for i := range trials {
		if t := &trials[i]; t.verdict == enter {
			t.bucket.enterNext()
			entered = true
		}
	}
	return entered
}

// enterNext leaves what remains of the held segment and goes on with the next one.
func (b *bucket) enterNext() {
	t := b.replication()
	b.extend(t.next, t.nextFar)
	t.next = segment{}
}

func (o *Owner) deny(c *Check, trials []trial, out *Out) {
	d := limit.Decision{Limits: c.outcomes()}
	for i := range trials {
		t := &trials[i]
		d.Limits[i] = t.bucket.outcome(c, t)
		t.bucket.remember(c.At, c.Cost, false)
	}
	out.Replies = append(out.Replies, Reply{Tag: c.Tag, Decision: d})
}

// outcome describes the bucket to a check that was not admitted, and that would have ended at end: before its span the
// line is spent, as far as this bucket knows.
func (b *bucket) outcome(c *Check, t *trial) limit.Outcome {
	spent := b.spentAt(c.At)
	if c.Cost <= b.rule.Capacity {
		spent = b.rule.Sub(t.end, t.length)
	}
	return b.rule.Outcome(spent, c.At, c.Cost, t.end, t.verdict != deny)
}

func (o *Owner) admit(c *Check, now int64, trials []trial, out *Out) {
	d := limit.Decision{Allowed: true, Limits: c.outcomes()}
	if c.Receipts && c.Cost > 0 {
		d.Receipts = make([]limit.Receipt, len(trials))
	}
	for i := range trials {
		t := &trials[i]
		b := t.bucket
		if c.Cost > 0 {
			span := b.spend(c.At, t.length)
			if c.Receipts {
				d.Receipts[i] = o.receipt(b, span)
			}
		}
		spent := b.spentAt(c.At)
		if c.Cost == 0 {
			spent = t.end
		}
		d.Limits[i] = b.rule.Outcome(spent, c.At, c.Cost, t.end, true)
		b.remember(c.At, c.Cost, true)
		o.reserveAhead(b, max(c.At, now), t.length, out)
	}
	out.Replies = append(out.Replies, Reply{Tag: c.Tag, Decision: d})
}

// spend takes length off the line at t, returned line first, and says which pieces of the line these are. The caller
// has tested that it may. If the bucket is full at t, the receipts of earlier checks are worthless.
func (b *bucket) spend(t int64, length limit.Pos) spent {
	var reuses []piece
	if r := b.returns(); r != nil {
		if !b.spentAt(t).After(limit.At(b.rule.Begin(t))) {
			r.forgetMade()
		}
		if t >= r.since {
			r.cap(b.rule, b.creditCap(t))
			reuses, length = r.take(b.rule, length)
		}
	}
	start := limit.Later(b.tat, limit.At(b.rule.Begin(t)))
	if length == (limit.Pos{}) {
		start = b.tat
	}
	b.tat = b.rule.Add(start, length)
	return spent{piece: piece{start, b.tat}, reuses: reuses}
}

// receipt writes down what an admission consumed, so that it can be returned.
func (o *Owner) receipt(b *bucket, s spent) limit.Receipt {
	x := b.extras()
	if x.returns == nil {
		x.returns = &returns{}
	}
	r := limit.Receipt{
		Limit: b.rule.Name, Generation: b.gen, Owner: o.id, Serial: x.returns.serial(o.cfg.Nonce()), Span: s.span(),
	}
	for _, p := range s.reuses {
		r.Reuses = append(r.Reuses, p.span())
	}
	x.returns.remember(s, r.Serial)
	return r
}

// outcomes is room for what every limit says to c.
func (c *Check) outcomes() []limit.Outcome {
	if n := len(c.Rules); n <= cap(c.Outcomes) {
		return c.Outcomes[:n]
	}
	return make([]limit.Outcome, len(c.Rules))
}

// Return takes back the admission that r proves and says whether it took effect: only if this owner made the receipt,
// remembers it, and the bucket has not been full since.
func (o *Owner) Return(r limit.Receipt, now int64) bool {
	b := o.find(r.Limit)
	return b != nil && r.Owner == o.id && r.Generation == b.gen && b.giveBack(r, now)
}

// Prefetch brings what a check will need of the owner into the processor's caches, and returns a meaningless number,
// so that the compiler keeps the reads. Done for many owners before their checks, they wait for memory together.
func (o *Owner) Prefetch() int {
	if x := o.bucket.extra; x != nil {
		return x.older.n
	}
	return 0
}
