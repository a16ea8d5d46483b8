package simulation

import (
	"github.com/jeton-dev/jeton/actor/lease"
	"github.com/jeton-dev/jeton/actor/limit"
)

// An edge decides by leases: it runs the production's steps of what an edge has of a bucket, as package actor/edge does.
type edge struct {
	w      *World
	number int
	off    int64 // of its clock
	shares map[int]*share
}

// A share is what an edge has of a bucket.
type share struct {
	*lease.Share

	edge    *edge
	bucket  int
	waiting []*edgeCheck
}

// An edgeCheck is a check that an edge is asked.
type edgeCheck struct {
	item    *item
	begun   int64 // true time at which the edge's clock was read
	reading int64 // what it showed
}

// A lent is a lease that an owner has given: what edges may spend of it.
type lent struct {
	call  *call
	spent intervals
	until int64 // where the line ends, but for what the edge has given back
	end   int64 // and but for what the owner has taken back
}

// An asking is what an edge says when it asks an owner for a lease.
type asking struct {
	lease.Ask

	share *share
	sent  int64 // by the edge's clock
}

func (e *edge) now() int64 { return e.w.now + e.off }

// kill ends the edge, and what comes back of what it has asked: it starts again with nothing.
func (e *edge) kill() {
	e.w.count("edges killed")
	e.shares = map[int]*share{}
}

// share is what the edge has of the bucket that a check is of, by the numbers that were agreed last.
func (e *edge) share(c *wanted) *share {
	w, of := e.w, c.limits[0]
	rule, bucket := w.ruleOf(w.raft.state.limits, of, c.key, ""), w.bucket(c.key, of)
	s := e.shares[bucket]
	if s == nil || s.Rule() != rule {
		s = &share{Share: lease.NewShare(rule), edge: e, bucket: bucket}
		e.shares[bucket] = s
	}
	return s
}

// current says whether the edge has not been killed, nor heard of other numbers, since it had this share.
func (s *share) current() bool { return s.edge.shares[s.bucket] == s }

// check has the edge decide. It may be suspended between its clock and its decision.
func (e *edge) check(i *item) {
	w := e.w
	c := &edgeCheck{item: i, begun: w.now, reading: e.now()}
	d := throw(w.seed, forLeasing, i.id)
	if !d.percent(4) {
		e.decide(c)
		return
	}
	w.count("edges suspended in a check")
	w.after(d.spread(ms, 12*second), func() { e.decide(c) })
}

func (e *edge) decide(c *edgeCheck) {
	s := e.share(c.item.call)
	piece, verdict, ask := s.Check(c.reading, c.item.call.cost)
	if ask.Number != 0 {
		s.ask(ask, c)
	}
	switch verdict {
	case lease.Spent:
		s.spent(c, piece)
	case lease.Waits:
		s.waiting = append(s.waiting, c)
	case lease.Denied:
		e.w.count("checks that edges denied")
	case lease.Elsewhere:
		e.askOwner(c)
	}
	s.tidy(c)
}

// askOwner has the owner decide a check.
func (e *edge) askOwner(c *edgeCheck) {
	of := c.item.call
	call := e.w.callOf(1<<42+c.item.id, of.key, of.limits[0], checks, nil)
	call.cost = of.cost
	e.w.begin(call)
}

// ask asks the owner for a lease.
func (s *share) ask(a lease.Ask, c *edgeCheck) {
	w, of := s.edge.w, c.item.call
	asks := &asking{Ask: a, share: s, sent: s.edge.now()}
	call := w.callOf(1<<43+c.item.id, of.key, of.limits[0], leases, s.answered)
	call.cost, call.least, call.asks, call.until = a.Tokens, a.Least, asks, w.now+second
	w.begin(call)
}

// answered takes in what an ask was answered, or that it was not, and decides what waited for it.
func (s *share) answered(c *call) {
	w := c.w
	if !s.current() {
		w.count("leases that came too late for their edge")
		return
	}
	d := throw(w.seed, forLeasing, c.id)
	a := lease.Answer{Number: c.asks.Number, Sent: c.asks.sent, Now: s.edge.now(), Lease: c.lease, Random: float64(d.below(1000)) / 1000}
	if c.ok {
		a.Outcome = limit.Outcome{Name: s.Rule().Name, Allowed: c.lease != nil}
	}
	if c.lease != nil && !a.Compares(tolerance) {
		w.count("leases of owners whose clocks differ")
	}
	if !s.Answered(a, tolerance) {
		return
	}
	waiting := s.waiting
	s.waiting = nil
	for _, one := range waiting {
		if piece, ok := s.Again(s.edge.now(), one.item.call.cost); ok {
			one.begun = w.now
			s.spent(one, piece)
		} else {
			s.edge.askOwner(one)
		}
	}
}

// tidy gives back, a while after a check, what is left over.
func (s *share) tidy(c *edgeCheck) {
	w := s.edge.w
	d := throw(w.seed, forLeasing, c.item.id, 1)
	if !d.percent(30) {
		return
	}
	w.after(d.spread(ms, 3*second), func() {
		if !s.current() {
			return
		}
		held := s.Bucket.Clone()
		for i, tail := range s.Surplus(s.edge.now()) {
			w.ledger.lent(tail).giveBack(w, 1<<44+c.item.id<<6+uint64(i), tail) //nolint:gosec // an index
		}
		if w.variant.keeps {
			s.Bucket = *held
		}
	})
}

// spent takes in what the edge admitted a check with. Its caller may give that back.
func (s *share) spent(c *edgeCheck, piece lease.Piece) {
	w, of := s.edge.w, c.item.call
	w.count("checks that edges admitted")
	from := w.ledger.lent(piece.Receipt)
	from.spend(w, s, &piece)
	account := w.ledger.buckets[s.bucket]
	account.meter(w, piece.Generation, s.Rule()).add(w, c.begun, of.cost)
	d := throw(w.seed, forLeasing, c.item.id, 2)
	if !d.percent(8) {
		return
	}
	w.after(d.spread(ms, 4*second), func() {
		if !s.current() || !s.Undo(piece, s.edge.now()) {
			return
		}
		w.count("pieces that edges took back")
		from.spent.cut(piece.Span.Start, piece.Span.End)
		account.meter(w, piece.Generation, s.Rule()).add(w, w.now, -of.cost)
	})
}

// lend takes in a lease that an owner has given.
func (l *ledger) lend(p *process, q *ask, given *limit.Lease) {
	w, c := l.w, q.call
	if given == nil {
		w.count("leases denied")
		return
	}
	w.count("leases given")
	bucket := w.bucket(c.key, c.limits[0])
	w.say(c.key, "%s leases %s of %s%s until %s to edge %d", p.name, w.span(given.Start, given.End), w.bucketName(c.key, c.limits[0]),
		w.inGeneration(given.Generation), w.clockTime(given.Until), c.asks.share.edge.number)
	rule := q.rules[0]
	if most := rule.Length(c.cost).Ceil(); given.End-given.Start > most {
		w.violate(c.key, "a lease of %d tokens of %s is %d ns of line, and they have %d", c.cost, w.bucketName(c.key, c.limits[0]), given.End-given.Start, most)
	}
	l.buckets[bucket].take(l, p, q, rule, &given.Receipt, 0)
	l.lents[serialOf(&given.Receipt)] = &lent{call: c, until: given.End, end: given.End}
}

// A serial tells a lease from all others.
type serial struct {
	owner  limit.OwnerID
	number uint64
	start  int64
}

func serialOf(r *limit.Receipt) serial { return serial{r.Owner, r.Serial, r.Start} }

// lent is the lease that a receipt is of.
func (l *ledger) lent(r limit.Receipt) *lent {
	of := l.lents[serialOf(&r)]
	if of == nil {
		panic("simulation: a lease that no owner has given")
	}
	return of
}

// spend asserts that a piece lies within what was leased, and that no other one lies there. Pieces are rounded to whole nanoseconds.
func (of *lent) spend(w *World, s *share, piece *lease.Piece) {
	from, to := piece.Span.Start+1, piece.Span.End-1
	w.say(of.call.key, "edge %d spends %s", s.edge.number, w.span(piece.Span.Start, piece.Span.End))
	switch again, found := of.spent.overlap(from, to); {
	case found:
		w.violate(of.call.key, "edge %d spends %s, of which it has spent %s before", s.edge.number, w.span(from, to), w.span(again.from, again.to))
	case from < to && to > of.until:
		w.violate(of.call.key, "edge %d spends %s, and has line up to %s", s.edge.number, w.span(from, to), w.clockTime(of.until))
	}
	of.spent.add(piece.Span.Start, piece.Span.End)
}

// giveBack sends what is behind the From of a receipt back to its owner.
func (of *lent) giveBack(w *World, id uint64, tail limit.Receipt) {
	w.count("ends of leases given back")
	of.until = min(of.until, tail.From)
	c := w.callOf(id, of.call.key, of.call.limits[0], gives, nil)
	c.of, c.receipts = of.call, []limit.Receipt{tail}
	w.begin(c)
}

// takenBack takes in that an owner has taken the end of a lease back.
func (l *ledger) takenBack(c *call, r *limit.Receipt) {
	w := l.w
	bucket := w.bucket(c.key, c.limits[0])
	book := l.buckets[bucket].era(r.Generation).under(c.rules[0])
	of := l.lent(*r)
	from := max(r.From, r.Start)
	if from >= of.end {
		w.violate(c.key, "a lease of %s comes back from %s on, and had before from %s on", w.bucketName(c.key, c.limits[0]), w.clockTime(from), w.clockTime(of.end))
	}
	w.count("ends of leases taken back")
	w.say(c.key, "%s of %s comes back", w.span(from, of.end), w.bucketName(c.key, c.limits[0]))
	book.free.add(from, of.end)
	of.end = from
}

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

// life is for how long a call asks for line, 0 for no lease.
func (c *call) life() int64 {
	if c.asks == nil {
		return 0
	}
	return c.asks.Life
}
