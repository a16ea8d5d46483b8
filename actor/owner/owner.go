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
	"time"

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
	c.Rules = withPenalties(c.Rules)
	if c.Hold > 0 { // one that had expired by its answer would hold nothing
		c.Deadline = min(c.Deadline, c.expires())
	}
	switch {
	case o.Waiting() == 0:
		if o.decide(&c, c.At, out) {
			return
		}
	case o.changes(c.Rules):
		// Under another rule the bucket forgets what refusals have taught it, and what waits would wait for ever.
	default:
		o.moveOn(c.At, c.At, out)
		if trials, denied := o.try(&c, c.At, out); denied {
			o.deny(&c, c.At, trials, out)
			return
		}
	}
	o.await(waiter{Check: c}, out)
}

// decide answers c if that can be done now: every limit is tested for denial first, so that nothing is reserved in
// vain; then what is needed is reserved, and only when all buckets admit is any of them charged.
func (o *Owner) decide(c *Check, now int64, out *Out) bool {
	o.moveOn(c.At, now, out)
	if c.Hold > 0 && o.holdsTooMany(c, now) {
		out.Replies = append(out.Replies, Reply{Tag: c.Tag, Err: errManyHolds})
		return true
	}
	trials, denied := o.try(c, now, out)
	if !denied && enterNext(trials) {
		trials, denied = o.try(c, now, out)
	}
	if denied {
		o.deny(c, now, trials, out)
		return true
	}
	ready, certain := true, certain(trials, c, now)
	for i := range trials {
		t := &trials[i]
		if !c.counted {
			t.bucket.note(c.At, t.length, o.cfg.Delta)
		}
		switch t.verdict {
		case wait:
			ready = false
			if t.bucket.ledger() != nil {
				o.reserveLedger(t.bucket, c, certain, now, out)
			} else {
				o.reserve(t, now, out)
			}
		case stay:
			ready = false
		case admit, deny, enter:
		}
	}
	c.counted = true
	switch {
	case !ready:
	case c.Lease > 0:
		o.grant(c, now, &trials[0], out)
	default:
		o.admit(c, now, trials, out)
	}
	return ready
}

// try asks every bucket of c whether it could be admitted, at its time or as much later as it may wait.
func (o *Owner) try(c *Check, now int64, out *Out) (trials []trial, denied bool) {
	trials, denied = o.tryAt(c, c.At, now, out)
	switch {
	case denied && c.Wait > 0:
		denied = o.delay(c, trials, now, out)
	case denied && c.Least > 0 && c.Lease == 0:
		return o.lower(c, trials, now, out)
	}
	return trials, denied
}

// maxDelays is how often a check is put off before it is denied. Once is enough where nothing came back.
const maxDelays = 16

// delay tries c at later times, until all its buckets admit it. Then it begins at that time, and is spent in all of them as a check of
// then: so its spans lie as far ahead of the time at which its caller begins as those of other checks do. It says whether c is
// denied: it would have to wait longer than it may. The trials are those of the last time that was tried.
func (o *Owner) delay(c *Check, trials []trial, now int64, out *Out) (denied bool) {
	at := c.At
	for range maxDelays {
		next := at
		for i := range trials {
			t := &trials[i]
			if t.verdict != deny {
				continue
			}
			if c.Cost > t.bucket.rule.Capacity || t.bucket.ledger() != nil {
				return true
			}
			next = max(next, at+int64(t.bucket.rule.Wait(t.end, at)))
		}
		if next-c.At > c.Wait || next == at {
			return true
		}
		at = next
		if trials, denied = o.tryAt(c, at, now, out); !denied {
			return false
		}
	}
	for i := range trials {
		trials[i].again = o.cfg.Delta
	}
	return true
}

// maxLowered is how often the cost of a check is lowered before it is denied. Once is enough as a rule.
const maxLowered = 4

// lower tries c again with what its buckets have left, if it takes less than its cost. It says whether c is denied.
func (o *Owner) lower(c *Check, trials []trial, now int64, out *Out) (_ []trial, denied bool) {
	for range maxLowered {
		left := c.Cost - 1
		for i := range trials {
			if t := &trials[i]; t.verdict == deny {
				left = min(left, t.bucket.left(c, now, o.cfg))
			}
		}
		if left < c.Least {
			c.Cost = c.Least // what it is denied by
			return o.tryAt(c, c.At, now, out)
		}
		c.Cost = left
		if trials, denied = o.tryAt(c, c.At, now, out); !denied {
			return trials, false
		}
	}
	return trials, true
}

// tryAt asks every bucket of c whether it could be admitted so that it begins at at.
func (o *Owner) tryAt(c *Check, at, now int64, out *Out) (trials []trial, denied bool) {
	if len(c.Rules) > cap(out.trials) {
		out.trials = make([]trial, len(c.Rules))
	}
	trials = out.trials[:len(c.Rules)]
	for i, rule := range c.Rules {
		t := &trials[i]
		t.bucket, t.length, t.at, t.waits = o.bucketOf(rule, out), rule.Length(c.Cost), at, 0
		if at > c.At {
			t.waits = at
		}
		switch l := t.bucket.ledger(); {
		case c.Lease > 0:
			t.length, t.result = t.bucket.testLease(c, o.cfg)
		case c.Charges:
			t.at, t.length, t.result = t.bucket.testCharge(c, o.cfg)
		case l == nil:
			t.result = t.bucket.test(c.At, at, c.Cost, t.length, o.cfg)
		case rule.OfPenalties():
			t.result = result{verdict: l.testClosed(t.bucket, c, now, o.cfg)}
		default:
			t.result = result{verdict: l.test(t.bucket, c, now, o.cfg)}
		}
		denied = denied || t.verdict == deny
	}
	return trials, denied
}

// test says what the bucket would do with a check of t, of that cost and length, that begins at at: at t, or later if it waits. It
// changes nothing.
func (b *bucket) test(t, at, cost int64, length limit.Pos, cfg *Config) result {
	if cost > b.rule.Capacity {
		end, _ := b.spanAt(t, at, length)
		return result{verdict: deny, end: end}
	}
	return b.testUpTo(b.rule.Bound(at), t, at, cost, length, cfg)
}

// testUpTo is test for a span that may end up to bound.
func (b *bucket) testUpTo(bound limit.Pos, t, at, cost int64, length limit.Pos, cfg *Config) result {
	r := b.rule
	end, fresh := b.spanAt(t, at, length)
	if end.After(bound) {
		return result{verdict: deny, end: end}
	}
	top := r.End(b.tat, at, fresh)
	if !top.After(limit.At(b.held.to)) {
		return result{verdict: admit, end: end}
	}
	if next := b.next(); next.to > next.from {
		end = r.End(limit.Later(b.tat, limit.At(next.from)), at, length)
		if end.After(bound) {
			return result{verdict: deny, end: end}
		}
		return result{verdict: enter, end: end}
	}
	if cost == 0 {
		return b.peek(t, bound, cfg)
	}
	if b.pending() != nil {
		return result{verdict: stay, end: end}
	}
	from := b.start(t, at, cfg)
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

// testCharge is test for what an edge has spent already: as much of it as the limit's debt allows is charged, be it nothing, as of when the edge began to spend it. What
// was charged before is not charged again, and c is one of no cost from then on.
func (b *bucket) testCharge(c *Check, cfg *Config) (at int64, length limit.Pos, _ result) {
	bound := b.rule.BoundOfDebt(c.At)
	if c.Report != nil && b.reporters().last(c.Report.Edge) >= c.Report.Number {
		c.Cost = 0
	}
	if c.Cost == 0 {
		return c.At, length, b.testUpTo(bound, c.At, c.At, 0, length, cfg)
	}
	at = spentFrom(c, b.rule)
	tokens := min(c.Cost, b.tokensUpTo(b.rule, bound, c.At, at, cfg))
	if tokens <= 0 {
		return c.At, length, result{verdict: admit, end: b.tat}
	}
	length = b.rule.Length(tokens)
	return at, length, b.testUpTo(bound, c.At, at, tokens, length, cfg)
}

// peek is test for a check of no cost. It takes no line: it asks the replicas whether the line is free from t on, and what
// they say to that is its answer.
func (b *bucket) peek(t int64, bound limit.Pos, cfg *Config) result {
	r := b.refused()
	switch {
	case r != nil && r.sentAt >= t:
		end := limit.At(b.start(t, t, cfg))
		if end.After(bound) {
			return result{verdict: deny, end: end}
		}
		return result{verdict: admit, end: end}
	case b.pending() != nil:
		return result{verdict: stay, end: limit.At(b.rule.Begin(t))}
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
	b.extend(t.next, t.nextFar, 0)
	t.next = segment{}
}

func (o *Owner) deny(c *Check, now int64, trials []trial, out *Out) {
	d := limit.Decision{Limits: c.outcomes()}
	for i := range d.Limits {
		t := &trials[i]
		d.Limits[i] = t.bucket.outcome(c, now, t, o.cfg)
		t.bucket.remember(c.At, c.Cost, false)
		o.penalize(c, trials, i, now, out)
	}
	tellClosed(c, trials, now, &d)
	if c.Charges && c.Report != nil && c.Cost == 0 { // otherwise nothing was charged, so the report is to be made again
		d.Reported = trials[0].bucket.reported(c, trials[0].end)
	}
	out.Replies = append(out.Replies, Reply{Tag: c.Tag, Decision: d})
}

// outcome describes the bucket to a check that was not admitted, and that would have ended at end: before its span the
// line is spent, as far as this bucket knows.
func (b *bucket) outcome(c *Check, now int64, t *trial, cfg *Config) limit.Outcome {
	if l := b.ledger(); l != nil {
		return l.outcome(b, c, now, t.verdict != deny, cfg)
	}
	spent := b.spentAt(c.At)
	if c.Cost <= b.rule.Capacity && t.at == c.At {
		spent = b.rule.Sub(t.end, t.length)
	}
	o := b.rule.Outcome(spent, c.At, c.Cost, t.end, t.verdict != deny)
	o.Leased = b.leased(c.At)
	if c.Wait > 0 && !o.Never {
		o.RetryAfter = 0
		if t.verdict == deny {
			o.RetryAfter = b.rule.Wait(t.end, c.At+c.Wait)
		}
		o.Allowed = t.verdict != deny || o.RetryAfter == 0 && t.again == 0
	}
	if t.again > 0 && !o.Never {
		o.RetryAfter = time.Duration(t.again)
	}
	return o
}

func (o *Owner) admit(c *Check, now int64, trials []trial, out *Out) {
	d := limit.Decision{Allowed: true, Limits: c.outcomes()}
	var held []limit.Held
	switch {
	case c.Hold > 0:
		d.Hold = newHold(c.Cost, len(d.Limits))
		held = d.Hold.Limits
	case c.Receipts && c.Cost > 0:
		d.Receipts = make([]limit.Receipt, len(d.Limits))
	}
	for i := range d.Limits {
		t := &trials[i]
		b := t.bucket
		if b.ledger() != nil {
			d.Limits[i] = o.admitCounted(b, c, now, d.Receipts, held, i, out)
			continue
		}
		if c.Report != nil {
			b.reporters().forget(c.At, !b.spentAt(c.At).After(limit.At(b.rule.Begin(c.At))))
		}
		if c.Cost > 0 {
			d.Wait = time.Duration(max(t.at-c.At, 0))
			span := b.spend(c.At, t.at, t.length)
			switch {
			case c.Hold > 0:
				held[i] = o.hold(b, span, c)
			case c.Receipts:
				d.Receipts[i] = o.receipt(b, span)
			}
			if t.waits > 0 {
				b.noteWait(t.waits)
			}
		}
		spent := b.spentAt(c.At)
		if c.Cost == 0 {
			spent = t.end
		}
		d.Limits[i] = b.rule.Outcome(spent, c.At, c.Cost, t.end, true)
		d.Limits[i].Leased = b.leased(c.At)
		b.remember(c.At, c.Cost, true)
		if c.Cost > 0 {
			o.reserveAhead(b, max(c.At, now), t.at, out)
		}
		if c.Report != nil {
			d.Reported = b.reported(c, spent)
		}
	}
	pardon(c, trials)
	tellClosed(c, trials, now, &d)
	out.Replies = append(out.Replies, Reply{Tag: c.Tag, Decision: d})
}

// grant passes down the lease that c asks for.
func (o *Owner) grant(c *Check, now int64, t *trial, out *Out) {
	b := t.bucket
	d := limit.Decision{Allowed: true, Limits: c.outcomes()}
	l := o.lease(b, c)
	d.Limits[0] = b.rule.Outcome(b.spentAt(c.At), c.At, c.Cost, t.end, true)
	d.Limits[0].Leased = b.leased(c.At)
	b.remember(c.At, c.Cost, true)
	o.reserveAhead(b, max(c.At, now), c.At, out)
	out.Replies = append(out.Replies, Reply{Tag: c.Tag, Decision: d, Lease: l})
}

// lease takes the line of a lease off the bucket.
func (o *Owner) lease(b *bucket, c *Check) *limit.Lease {
	if !b.spentAt(c.At).After(limit.At(b.rule.Begin(c.At))) {
		b.forgetSpent()
	}
	from, length := b.leaseOf(c)
	p := piece{limit.At(from), limit.At(from + length)}
	b.tat = p.end
	until := min(p.end.NS, c.At+limit.LongestLease)
	if begin := b.rule.Begin(c.At); begin > c.At { // of a window
		until = min(begin, c.At+limit.LongestLease)
	}
	if c.LeaseAfter > 0 {
		until = c.At + c.LeaseAfter
	}
	l := &limit.Lease{Receipt: o.receipt(b, spent{piece: p}), Until: until, Now: c.At}
	b.withLeases(c.At).add(passed{Lease: *l, edge: c.Edge, id: c.EdgeID}, b.rule.Length(c.EdgeHas).NS)
	b.noteWait(until + o.cfg.Late) // by the edge's clock it may last so much longer
	return l
}

// spend takes length off the line for a check of t that begins at at, returned line first, and says which pieces of the line these
// are. The caller has tested that it may.
func (b *bucket) spend(t, at int64, length limit.Pos) spent {
	var reuses []piece
	if x := b.extra; x != nil && (x.returns != nil || x.holds != nil) {
		reuses, length = b.spendReturned(t, at, length)
	}
	start := limit.Later(b.tat, limit.At(b.rule.Begin(at)))
	if length == (limit.Pos{}) {
		start = b.tat
	}
	b.tat = b.rule.Add(start, length)
	return spent{piece: piece{start, b.tat}, reuses: reuses}
}

// spendReturned spends what it can of length from returned line, for a check of t that begins at at. If the bucket is full at t, nothing
// that was spent before comes back.
func (b *bucket) spendReturned(t, at int64, length limit.Pos) (reuses []piece, left limit.Pos) {
	if at == t && !b.spentAt(t).After(limit.At(b.rule.Begin(t))) {
		b.forgetSpent()
	}
	r := b.returns()
	switch {
	case r == nil || at < r.since:
		return nil, length
	case r.inPlace(t, at):
		return r.takeBehind(b.rule, limit.At(b.rule.Begin(at)), length)
	}
	r.cap(b.rule, b.creditCap(t))
	return r.take(b.rule, length)
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
	n := c.limits()
	if n <= cap(c.Outcomes) {
		return c.Outcomes[:n]
	}
	return make([]limit.Outcome, n)
}

// Return takes back the admission that r proves and says whether it took effect: only if this owner made the receipt,
// remembers it, and the bucket has not been full since. Of permits see [Owner.TakeOut].
func (o *Owner) Return(r limit.Receipt, now int64, out *Out) bool {
	b := o.find(r.Limit)
	if ours := b != nil && r.Owner == o.id && r.Generation == b.gen; !ours {
		return false
	}
	if l := b.ledger(); l != nil {
		return l.giveBack(b, r, now, o.cfg)
	}
	b.moveOn(now, now, out)
	back := b.giveBack(r, limit.At(r.From), now)
	if back {
		b.leases().giveBack(&r)
	}
	return back
}

// Prefetch brings what a check will need of the owner into the processor's caches, and returns a meaningless number,
// so that the compiler keeps the reads. Done for many owners before their checks, they wait for memory together.
func (o *Owner) Prefetch() int {
	x := o.bucket.extra
	switch {
	case x == nil:
		return 0
	case x.ledger != nil:
		return x.older.n + x.ledger.Prefetch()
	}
	return x.older.n + x.holds.prefetch()
}
