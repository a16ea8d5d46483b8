package main

import (
	"time"

	"github.com/jeton-dev/jeton/actor/lease"
	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/actor/owner"
)

// policies are all there are. Another one is a line here, and a function that decides a check, as ask and here do.
func policies() []*policy {
	return []*policy{
		{"strong", limit.Strong, "", true, (*world).ask},
		{"leased", limit.Leased, "", true, (*world).here},
		{"eventual", limit.Eventual, "", false, (*world).here},
		{"local/divided", limit.OfEdge, limit.Divided, false, (*world).here},
		{"local/per-edge", limit.OfEdge, limit.PerEdge, false, (*world).here},
	}
}

// ask asks the owner: a message for each check of a batch.
func (w *world) ask(s *site, c check) {
	w.sent(s, float64(c.cost), w.sizes.check)
	sent, gives := w.clock(s), w.now+patience
	fails := func() { w.failed(s, c) }
	k := &call{cost: c.cost}
	k.answer = func(r *owner.Reply) {
		err, admitted, said := r.Err, k.admitted, said(r)
		w.travel(s, gives, func() {
			if err != nil || s.life != c.life {
				fails()
				return
			}
			if s.share != nil {
				s.share.Heard(lease.Heard{Outcome: w.ofOne(said, k.asked()), Cost: 1, Taken: said.Allowed, Sent: sent, Now: w.clock(s), Known: lease.MaxKnown, Random: w.random.Float64()})
			}
			w.decided(s, c, admitted, k.wrongly)
		}, fails)
	}
	w.travel(s, gives, func() { w.home.check(k) }, fails)
}

// said is what the owner says of the limit.
func said(r *owner.Reply) limit.Outcome {
	if len(r.Decision.Limits) != 1 {
		return limit.Outcome{}
	}
	return r.Decision.Limits[0]
}

// ofOne is what the owner says to a check that costs one, where it has said that to a batch.
func (w *world) ofOne(o limit.Outcome, batch int64) limit.Outcome {
	o.RetryAfter -= time.Duration(w.edgeRule.Length(batch - 1).Ceil())
	return o
}

// here decides by what the edge holds, as package edge does.
func (w *world) here(s *site, c check) {
	if s.share == nil {
		s.share = lease.New(w.edgeRule)
		w.tidyLater(s)
	}
	if s.share.Look(w.clock(s), c.cost) == lease.Spent {
		w.shareDecides(s, c.cost)
		w.spent(s, c)
		return
	}
	var parts [lease.Waits + 1]int64
	for range c.cost { // each by itself: what is left may be enough for some
		parts[w.shareDecides(s, 1)]++
	}
	if c.cost = parts[lease.Spent]; c.cost > 0 {
		w.spent(s, c)
	}
	if c.cost = parts[lease.Denied]; c.cost > 0 {
		w.denied(s, c)
	}
	if c.cost = parts[lease.Waits]; c.cost > 0 {
		s.waiting = append(s.waiting, c)
	}
	if c.cost = parts[lease.Elsewhere]; c.cost > 0 {
		w.ask(s, c)
	}
}

// shareDecides lets a share decide a check, and sends what it asks for.
func (w *world) shareDecides(s *site, cost int64) lease.Verdict {
	_, verdict, ask := s.share.Check(w.clock(s), cost)
	if ask.Number != 0 {
		w.asks(s, ask)
	}
	return verdict
}

// asks sends an ask to the owner, and takes in the answer.
func (w *world) asks(s *site, ask lease.Ask) {
	bytes := w.sizes.lease
	if ask.Report {
		bytes = w.sizes.report
	}
	w.sent(s, 1, bytes)
	if w.counted(w.now) {
		w.each(s, func(t *tally) { t.asks++ })
	}
	sent, gives, life := w.clock(s), w.now+patience, s.life
	answered := func(r *owner.Reply) {
		if s.life == life {
			w.answered(s, ask, sent, r)
		}
	}
	nothing := func() { answered(&owner.Reply{}) }
	k := &call{cost: ask.Tokens, least: ask.Least}
	if ask.Report {
		k.report = &limit.Report{Edge: s.tag(), Number: ask.Number, Age: time.Duration(ask.Age), Asked: ask.Asked}
	} else {
		k.lease = &limit.LeaseAsk{Life: time.Duration(ask.Life), Now: sent, Held: ask.Held, Edge: cities[s.city].name}
	}
	k.answer = func(r *owner.Reply) {
		w.travel(s, gives, func() { answered(r) }, nothing)
	}
	w.travel(s, gives, func() { w.home.check(k) }, nothing)
}

// answered takes in what an ask was answered, and decides the checks that wait for it.
func (w *world) answered(s *site, ask lease.Ask, sent int64, r *owner.Reply) {
	if s.share == nil {
		return
	}
	a := lease.Answer{Number: ask.Number, Sent: sent, Now: w.clock(s), Lease: r.Lease, Reported: r.Decision.Reported, Outcome: said(r), Random: w.random.Float64()}
	if ask.Report && a.Reported == nil {
		s.failed = max(s.failed, ask.Tokens)
	}
	if !s.share.Answered(a, mostOff) {
		return
	}
	waiting := s.waiting
	s.waiting = nil
	for _, c := range waiting {
		left := c.cost
		for left > 0 {
			if _, ok := s.share.Again(w.clock(s), 1); !ok {
				break
			}
			left--
		}
		if c.cost -= left; c.cost > 0 {
			w.spent(s, c)
		}
		if c.cost = left; left > 0 {
			w.ask(s, c)
		}
	}
}

// tidyLater gives back the surplus of an edge now and then, and reports what it admitted, until its share is forgotten.
func (w *world) tidyLater(s *site) {
	life := s.life
	w.push(w.now+tidyEvery, func() {
		if s.life != life || s.share == nil {
			return
		}
		if ask := s.share.Due(w.clock(s)); ask.Number != 0 {
			w.asks(s, ask)
		}
		if tails := s.share.Surplus(w.clock(s)); len(tails) > 0 {
			w.sent(s, 1, w.sizes.back)
			if w.counted(w.now) {
				w.each(s, func(t *tally) { t.backs++ })
			}
			w.travel(s, w.now, func() { w.home.giveBack(tails) }, func() {})
		}
		if s.share.Idle(w.clock(s)) && len(s.waiting) == 0 {
			s.share = nil
			return
		}
		w.tidyLater(s)
	})
}
