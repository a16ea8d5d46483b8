package simulation

import (
	"github.com/jeton-dev/jeton/actor/lease"
)

func (e *edge) now() int64 { return e.w.now + e.off }

// kill ends the edge with all that it has and waits for. It starts again with nothing.
func (e *edge) kill() {
	e.w.count("edges killed")
	e.drop()
}

// jump sets the edge's clock, by so much off. It notices, as the time that has passed is not what the clock shows, and drops all.
func (e *edge) jump(off int64) {
	e.w.count("clocks of edges that jumped")
	e.off = off
	e.drop()
}

func (e *edge) drop() {
	e.life++
	e.shares = map[int]*share{}
}

// share is what the edge has of the bucket that a check is of, by the numbers of the version that it goes by.
func (e *edge) share(c *wanted) *share {
	w, of := e.w, c.limits[0]
	rule, bucket := w.ruleOf(c.version, of, c.key, ""), w.bucket(c.key, of)
	s := e.shares[bucket]
	if s != nil && s.Rule() == rule {
		return s
	}
	if s != nil {
		s.gone = true
		s.release()
	}
	s = &share{Share: lease.NewShare(rule), edge: e, life: e.life, bucket: bucket}
	e.shares[bucket] = s
	return s
}

// current says whether the edge has not been killed, nor heard of other numbers, since it had this share.
func (s *share) current() bool { return !s.gone && s.life == s.edge.life }

// release has the owner decide what waits for a lease.
func (s *share) release() {
	waiting := s.waiting
	s.waiting = nil
	for _, c := range waiting {
		s.edge.askOwner(c, nil)
	}
}

// check has the edge decide. A check may be suspended between the reading of the clock and the decision.
func (e *edge) check(i *item) {
	w := e.w
	c := &edgeCheck{item: i, life: e.life, begun: w.now, reading: e.now()}
	d := throw(w.seed, forLeasing, i.id)
	switch {
	case w.variant.counters: // whose edges would name generations as it does
		e.askOwner(c, nil)
	case d.percent(4):
		w.count("checks of edges that were suspended")
		w.after(d.spread(ms, 12*second), func() {
			if c.life == e.life {
				e.decide(c)
			}
		})
	default:
		e.decide(c)
	}
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
		e.askOwner(c, s)
	}
	s.tidy(c)
}

// askOwner has the owner decide a check. Its share, if it has one, takes in what the owner says; what it admits may come back.
func (e *edge) askOwner(c *edgeCheck, s *share) {
	w, of, sent := e.w, c.item.call, e.now()
	d := throw(w.seed, forLeasing, c.item.id, 3)
	w.begin(func() *call {
		call := w.callOf(1<<42+c.item.id, of.key, of.limits[0], checks, func(c *call) {
			if !c.ok {
				return
			}
			if s != nil && s.current() {
				s.Heard(lease.Heard{
					Outcome: c.said[0], Cost: c.cost, Taken: c.admitted, Sent: sent, Now: e.now(), Known: lease.MaxKnown, Random: float64(d.below(1000)) / 1000,
				})
			}
			if c.admitted && d.percent(30) {
				w.giveBack(1<<45+c.id, c, c.receipts, d.spread(ms, 3*second))
			}
		})
		call.cost = of.cost
		return call
	}())
}

// ask asks the owner for a lease.
func (s *share) ask(a lease.Ask, c *edgeCheck) {
	w, of := s.edge.w, c.item.call
	call := w.callOf(1<<43+c.item.id, of.key, of.limits[0], leases, s.answered)
	call.cost, call.least, call.asks, call.until = a.Tokens, a.Least, &asking{Ask: a, terms: s.Rule().LeaseTerms(), edge: s.edge.number, sent: s.edge.now()}, w.now+second
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
		a.Outcome = c.said[0]
	}
	if !a.Compares(tolerance) {
		w.count("leases of owners whose clocks differ")
		w.ledger.lent(&c.lease.Receipt).end(w, c.id, c.lease.Receipt)
	}
	if !s.Answered(a, tolerance) {
		return
	}
	waiting := s.waiting
	s.waiting = nil
	for _, one := range waiting {
		one.begun, one.reading = w.now, s.edge.now()
		if piece, ok := s.Again(one.reading, one.item.call.cost); ok {
			s.spent(one, piece)
		} else {
			s.edge.askOwner(one, s)
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
			w.ledger.lent(&tail).end(w, c.item.id<<6+uint64(i), tail) //nolint:gosec // an index
		}
		if w.variant.keeps {
			s.Bucket = *held
		}
	})
}

// spent takes in what the edge admitted a check with. Its caller may give that back. A piece that was put back after the clock was read
// is spent then at the earliest: that lies within the call.
func (s *share) spent(c *edgeCheck, piece lease.Piece) {
	w, of := s.edge.w, c.item.call
	w.count("checks that edges admitted")
	from := w.ledger.lent(&piece.Receipt)
	from.spend(s.edge.number, s.edge.off, c.reading, &piece)
	m := w.ledger.buckets[s.bucket].meter(w, piece.Generation, s.Rule())
	m.add(w, max(c.begun, s.undone), of.cost)
	d := throw(w.seed, forLeasing, c.item.id, 2)
	if !d.percent(8) {
		return
	}
	w.after(d.spread(ms, 4*second), func() {
		if !s.current() || !s.Undo(piece, s.edge.now()) {
			return
		}
		w.count("pieces that edges took back")
		s.undone = w.now
		from.spent.cut(piece.Span.Start, piece.Span.End)
		m.add(w, w.now, -of.cost)
	})
}

// served asserts that no check waits at the edge when nothing is under way any more.
func (e *edge) served() {
	for bucket := range e.w.ledger.buckets {
		s := e.shares[bucket]
		if s != nil && (s.Asking() || len(s.waiting) > 0) {
			e.w.violate(e.w.ledger.buckets[bucket].key, "edge %d still waits for a lease, and %d checks with it", e.number, len(s.waiting))
		}
	}
}
