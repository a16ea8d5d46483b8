package simulation

import (
	"github.com/jeton-dev/jeton/actor/lease"
	"github.com/jeton-dev/jeton/actor/limit"
)

// decided holds a decision against the promises, as it is made.
func (l *ledger) decided(p *process, a *actor, q *ask, d limit.Decision) {
	w, c := l.w, q.call
	if !d.Allowed {
		w.counts["denied"]++
		w.say(c.key, "%s denies %s", p.name, c)
		return
	}
	w.counts["admitted"]++
	l.waited(c, d)
	if w.varied(q.rules[0]) {
		w.count("admitted by a plan or an override")
	}
	q.held = p.clock.heldBetween(q.at, q.shows)
	for i, limitAt := range c.limits {
		bucket := w.bucket(c.key, limitAt)
		account, rule := l.buckets[bucket], q.rules[i]
		switch {
		case w.takesHolds(limitAt):
			l.held.took(p, q, d, i)
			continue
		case rule.Counts():
			l.tally.admitted(p, q, d, i)
			continue
		case c.cost == 0:
			continue
		case len(d.Receipts) == 0: // a key without receipts: only what shows outside can be checked
			v, _ := a.owner.View(rule.Name, p.read())
			account.meter(w, v.Generation, rule).admit(w, q, c.cost)
			continue
		}
		r := d.Receipts[i]
		if w.variant.counters {
			r.Generation = l.wire(p, bucket, r.Generation)
		}
		w.say(c.key, "%s admits %s, read at %s: it spends %s of %s%s%s", p.name, c, w.clockTime(q.reading), w.span(r.Start, r.End),
			w.bucketName(c.key, limitAt), w.inGeneration(r.Generation), w.reusing(r))
		account.spend(l, p, q, rule, &r, int64(d.Wait))
		account.meter(w, r.Generation, rule).admit(w, q, c.cost)
	}
}

// waited notes that a check was admitted to begin later, and asserts that this is no later than its caller waits.
func (l *ledger) waited(c *call, d limit.Decision) {
	switch wait := int64(d.Wait); {
	case wait == 0:
	case wait < 0 || wait > c.delay:
		l.w.violate(c.key, "%s is to begin after %s", c, seconds(wait))
	default:
		l.w.count("admitted to begin later")
	}
}

// spend writes down what a receipt proves, and says what is wrong with it.
func (account *account) spend(l *ledger, p *process, q *ask, rule *limit.Rule, r *limit.Receipt, wait int64) {
	w, c := l.w, q.call
	name := w.bucketName(account.key, account.limit)
	e := account.era(r.Generation)
	length := r.End - r.Start
	for _, piece := range r.Reuses {
		w.count("pieces of line reused")
		book := e.under(rule)
		if !book.free.covers(piece.Start, piece.End) {
			w.violate(c.key, "the receipt reuses %s of %s, which was not returned under this capacity and refill, or has been reused since",
				w.span(piece.Start, piece.End), name)
		}
		book.free.cut(piece.Start, piece.End)
		length += piece.End - piece.Start
	}
	pieces := int64(len(r.Reuses) + 1)
	if want := rule.Length(c.cost).NS; length < want-pieces || length > want+pieces {
		w.violate(c.key, "a receipt for a cost of %d of %s proves %d ns of line, not %d", c.cost, name, length, want)
	}
	if r.Start < r.End {
		account.take(l, p, q, rule, r, wait)
	}
}

// take writes down which line is spent, or leased, and says what is wrong with it.
func (account *account) take(l *ledger, p *process, q *ask, rule *limit.Rule, r *limit.Receipt, wait int64) {
	w, c, e := l.w, q.call, account.era(r.Generation)
	name := w.bucketName(account.key, account.limit)
	missing, by := l.reservedBy(p, w.bucket(account.key, account.limit), r.Generation, r.Start, r.End)
	if len(missing) > 0 && !w.variant.outcome {
		w.violate(account.key, "%s spends %s of %s, which no majority has accepted as its own", p.name,
			w.span(missing[0].from, missing[0].to), name)
	}
	reach := w.lead(rule) // under which it was asked for
	for _, from := range by {
		reach = min(reach, from.lead)
	}
	if again, found := e.spentBy(w, reach, r.Start, r.End); found {
		w.violate(c.key, "%s of %s%s is spent twice", w.span(again.from, again.to), name, w.inGeneration(r.Generation))
	}
	if begin := q.reading + wait; r.Start < begin-1 || r.End > rule.Bound(begin).Ceil() {
		w.violate(c.key, "%s of %s lies outside of what can be spent at %s", w.span(r.Start, r.End), name, w.clockTime(begin))
	}
	account.acrossEras(w, e, reach, r)
	account.spentFromReserved(l, p, e, by, r)
	e.spent.add(r.Start, r.End)
	e.under(rule).spent.add(r.Start, r.End)
}

// A rulebook is what was spent under one rule. What was returned can be spent again under the same one only: a change of the
// numbers ends the stretch to which receipts belong.
type rulebook struct {
	rule  *limit.Rule
	reach int64 // the longest of all rules with these numbers
	spent intervals
	free  intervals // returned, and not spent again since
}

func (e *era) under(rule *limit.Rule) *rulebook {
	for i := range e.rules {
		if book := &e.rules[i]; sameNumbers(book.rule, rule) {
			book.reach = max(book.reach, rule.Reach())
			return book
		}
	}
	e.rules = append(e.rules, rulebook{rule: rule, reach: rule.Reach()})
	return &e.rules[len(e.rules)-1]
}

// spentBy is the first piece of the line that is spent already, in a way that must not be. A floor keeps what any owner
// can have reserved under the rule that is asked for: if a limit was made shorter, and then a majority of its replicas
// has forgotten, line beyond that counts as free though it was spent under the longer rule before. That is no more than
// the promise allows: it holds from the change on.
func (e *era) spentBy(w *World, reach, start, end int64) (again interval, found bool) {
	if again, found = e.spent.overlap(start, end); !found {
		return again, found
	}
	for i := range e.rules {
		book := &e.rules[i]
		piece, twice := book.spent.overlap(start, end)
		switch {
		case !twice:
		case book.reach > reach && w.counts["floors set"] > 0:
			w.count("line spent again under a shorter rule, after a majority had forgotten")
			book.free.cut(piece.from, piece.to)
		default:
			return piece, true
		}
	}
	return interval{}, false
}

// acrossEras asserts that generations share line up to the reset between them and no further.
func (account *account) acrossEras(w *World, e *era, reach int64, r *limit.Receipt) {
	for _, other := range account.eras {
		if other == e {
			continue
		}
		beyond := max(other.position, e.position, r.Start)
		if beyond >= r.End {
			continue
		}
		if again, found := other.spentBy(w, reach, beyond, r.End); found {
			w.violate(account.key, "%s of %s is spent in two generations, beyond the reset between them at %s", w.span(again.from, again.to),
				w.bucketName(account.key, account.limit), w.clockTime(max(other.position, e.position)))
		}
	}
}

// spentFromReserved asserts that what is spent was reserved with a clock that was near enough, and not in a generation that
// was over.
func (account *account) spentFromReserved(l *ledger, p *process, e *era, by []*reserved, r *limit.Receipt) {
	w := l.w
	name := w.bucketName(account.key, account.limit)
	for _, from := range by {
		for _, o := range e.over {
			switch {
			case from.first <= o.step || r.Start >= o.position:
			case o.reach > from.lead && w.counts["floors set"] > 0: // see spentBy
				w.count("generations continued under a shorter rule, after a majority had forgotten the reset")
			case r.Start >= o.far && w.counts["floors set"] > 0: // a clock that was ahead has moved the reset beyond the floors
				w.count("generations continued beyond all reservations, after a majority had forgotten the reset")
			default:
				w.violate(account.key, "%s spends %s of %s in generation %s, reserved after a reset was done", p.name,
					w.span(r.Start, r.End), name, w.clockTime(r.Generation))
			}
		}
		if most := w.mayBeAhead(); len(from.sets.ids) > 1 && (from.ahead > most+from.lag || from.ahead < -most) {
			w.violate(account.key, "%s reserved %s of %s with a clock that was %s ahead", p.name, w.span(from.From, from.To), name,
				seconds(from.ahead))
		}
	}
	if w.isFar(p) {
		w.count("admitted by a wrong clock, from earlier reservations")
	}
}

// returned writes down that a receipt of a call was given back with effect.
func (l *ledger) returned(p *process, a *actor, c *call, i int) {
	w, r, rule := l.w, c.receipts[i], c.rules[i]
	if w.acrossChange(&a.owner, rule, p.read()) {
		w.violate(c.key, "%s takes back %s of %s, which was admitted under another capacity or refill", p.name, w.span(r.Start, r.End),
			w.bucketName(c.key, c.limits[i]))
	}
	bucket := w.bucket(c.key, c.limits[i])
	account, name := l.buckets[bucket], w.bucketName(c.key, c.limits[i])
	w.count("returns with effect")
	if w.variant.counters {
		r.Generation = l.wire(p, bucket, r.Generation)
	}
	e := account.era(r.Generation)
	book := e.under(rule)
	for _, piece := range append([]limit.Span{r.Span}, r.Reuses...) {
		if again, found := book.free.overlap(piece.Start, piece.End); found {
			w.violate(c.key, "%s takes back %s of %s, of which %s has been returned already", p.name, w.span(piece.Start, piece.End), name,
				w.span(again.from, again.to))
		}
		if !e.spent.covers(piece.Start, piece.End) {
			w.violate(c.key, "%s takes back %s of %s, which was never spent", p.name, w.span(piece.Start, piece.End), name)
		}
		book.free.add(piece.Start, piece.End)
	}
	w.say(c.key, "%s takes back %s of %s%s", p.name, w.span(r.Start, r.End), name, w.reusing(r))
	account.meter(w, r.Generation, rule).giveBack(w, c.begins, c.cost)
}

// A lent is a lease that an owner has given, and what became of it.
type lent struct {
	w     *World
	call  *call
	rule  *limit.Rule
	lease *limit.Lease
	right bool      // the owner's clock was
	spent intervals // by the edge
	keeps int64     // where it ends, but for what the edge has given back
	rest  int64     // and but for what the owner has taken back
}

// A serial tells a lease from all others.
type serial struct {
	owner  limit.OwnerID
	number uint64
	start  int64
}

func serialOf(r *limit.Receipt) serial { return serial{r.Owner, r.Serial, r.Start} }

// lend takes in a lease that an owner has given, or that it has given none, and asserts that it is no more than it may be.
func (l *ledger) lend(p *process, q *ask, given *limit.Lease) {
	w, c := l.w, q.call
	if given == nil {
		w.count("leases denied")
		return
	}
	w.count("leases given")
	bucket, rule := w.bucket(c.key, c.limits[0]), q.rules[0]
	name, length := w.bucketName(c.key, c.limits[0]), given.End-given.Start
	w.say(c.key, "%s leases %s of %s%s until %s to edge %d", p.name, w.span(given.Start, given.End), name, w.inGeneration(given.Generation),
		w.clockTime(given.Until), c.asks.edge)
	half := (rule.Bound(q.reading).NS - rule.Begin(q.reading)) / 2
	if least, most := rule.Length(max(c.least, 1)).NS, min(rule.Length(c.cost).Ceil(), half); length < least-1 || length > most {
		w.violate(c.key, "a lease of %d to %d tokens of %s is %d ns of line, and may be from %d to %d", c.least, c.cost, name, length, least, most)
	}
	if given.Until > q.reading+limit.LongestLease || given.Until > max(given.End, rule.Begin(q.reading)) {
		w.violate(c.key, "a lease of %s may be spent until %s, and is %s, read at %s", name, w.clockTime(given.Until), w.span(given.Start, given.End), w.clockTime(q.reading))
	}
	l.buckets[bucket].take(l, p, q, rule, &given.Receipt, 0)
	l.lents[serialOf(&given.Receipt)] = &lent{
		w: w, call: c, rule: rule, lease: given, right: max(q.ahead, -q.ahead) <= w.mayBeAhead(), keeps: given.End, rest: given.End,
	}
}

// lent is the lease that a receipt is of.
func (l *ledger) lent(r *limit.Receipt) *lent {
	of := l.lents[serialOf(r)]
	if of == nil {
		panic("simulation: a lease that no owner has given")
	}
	return of
}

// spend asserts that a piece lies within what was leased, and within what may be spent by the edge's clock, and that no other one lies
// there. Pieces are rounded to whole nanoseconds.
func (of *lent) spend(edge int, off, reading int64, piece *lease.Piece) {
	w, key := of.w, of.call.key
	from, to := piece.Span.Start+1, piece.Span.End-1
	what := func() string { return w.span(piece.Span.Start, piece.Span.End) }
	w.say(key, "edge %d, at %s, spends %s", edge, w.clockTime(reading), what())
	again, found := of.spent.overlap(from, to)
	switch {
	case found:
		w.violate(key, "edge %d spends %s, of which it has spent %s before", edge, what(), w.span(again.from, again.to))
	case piece.Span.Start < of.lease.Start || to > of.keeps:
		w.violate(key, "edge %d spends %s, and has %s", edge, what(), w.span(of.lease.Start, of.keeps))
	case piece.Span.Start < of.rule.Begin(reading) || piece.Span.End > of.rule.Bound(reading).Ceil():
		w.violate(key, "edge %d spends %s at %s, outside of the bucket", edge, what(), w.clockTime(reading))
	case reading >= of.lease.Until:
		w.violate(key, "edge %d spends %s at %s, of a lease until %s", edge, what(), w.clockTime(reading), w.clockTime(of.lease.Until))
	case of.right && max(off, -off) > w.mayBeAhead()+2*tolerance: // owner and edge should have seen that
		w.violate(key, "edge %d spends %s, and its clock is %s off", edge, what(), seconds(off))
	}
	of.spent.add(piece.Span.Start, piece.Span.End)
}

// end sends what is behind the From of a receipt back to its owner: all of it, if there is none.
func (of *lent) end(w *World, id uint64, tail limit.Receipt) {
	w.count("ends of leases given back")
	of.keeps = min(of.keeps, max(tail.From, tail.Start))
	if again, found := of.spent.overlap(of.keeps+1, tail.End); found {
		w.violate(of.call.key, "the end of a lease is given back from %s on, of which %s is spent", w.clockTime(of.keeps), w.span(again.from, again.to))
	}
	w.giveBack(1<<44+id, of.call, []limit.Receipt{tail}, 0)
}

// takenBack takes in that an owner has taken the end of a lease back: what had not come back before.
func (l *ledger) takenBack(c *call, r *limit.Receipt) {
	w, of, from := l.w, l.lent(r), max(r.From, r.Start)
	name := w.bucketName(c.key, c.limits[0])
	if from >= of.rest {
		w.violate(c.key, "a lease of %s comes back from %s on, and had before from %s on", name, w.clockTime(from), w.clockTime(of.rest))
	}
	w.count("ends of leases taken back")
	w.say(c.key, "%s of %s comes back", w.span(from, of.rest), name)
	l.buckets[w.bucket(c.key, c.limits[0])].era(r.Generation).under(of.rule).free.add(from, of.rest)
	of.rest = from
}
