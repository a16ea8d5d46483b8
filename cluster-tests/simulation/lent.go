package simulation

import (
	"github.com/jeton-dev/jeton/actor/lease"
	"github.com/jeton-dev/jeton/actor/limit"
)

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

// lends says whether a node lends to an edge that asks: both go by the same numbers, and their clocks are near.
func (p *process) lends(q *ask) bool {
	asks := q.call.asks
	if q.rules[0].LeaseTerms() != asks.share.Rule().LeaseTerms() {
		p.w.count("leases refused: other numbers")
		return false
	}
	if off := asks.sent - q.reading; max(off, -off) > tolerance {
		p.w.count("leases refused: other clocks")
		return false
	}
	return true
}

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
		w.clockTime(given.Until), c.asks.share.edge.number)
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
func (of *lent) spend(s *share, c *edgeCheck, piece *lease.Piece) {
	w, key, edge := of.w, of.call.key, s.edge.number
	from, to := piece.Span.Start+1, piece.Span.End-1
	what := func() string { return w.span(piece.Span.Start, piece.Span.End) }
	w.say(key, "edge %d, at %s, spends %s", edge, w.clockTime(c.reading), what())
	again, found := of.spent.overlap(from, to)
	switch {
	case found:
		w.violate(key, "edge %d spends %s, of which it has spent %s before", edge, what(), w.span(again.from, again.to))
	case piece.Span.Start < of.lease.Start || to > of.keeps:
		w.violate(key, "edge %d spends %s, and has %s", edge, what(), w.span(of.lease.Start, of.keeps))
	case piece.Span.Start < of.rule.Begin(c.reading) || piece.Span.End > of.rule.Bound(c.reading).Ceil():
		w.violate(key, "edge %d spends %s at %s, outside of the bucket", edge, what(), w.clockTime(c.reading))
	case c.reading >= of.lease.Until:
		w.violate(key, "edge %d spends %s at %s, of a lease until %s", edge, what(), w.clockTime(c.reading), w.clockTime(of.lease.Until))
	case of.right && s.edge.isWrong():
		w.violate(key, "edge %d spends %s, and its clock is %s off", edge, what(), seconds(s.edge.off))
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
