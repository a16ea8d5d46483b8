package simulation

import (
	"slices"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/actor/owner"
	"github.com/jeton-dev/jeton/cluster-tests/history"
	"github.com/jeton-dev/jeton/cluster-tests/load"
)

// said takes in that an owner is told what was used of a hold: from now on that may be charged, whatever becomes of the answer. So it may
// of a hold that may be forgotten, whose answer is not judged: what it gives back may be admitted again.
func (h *heldTally) said(p *process, q *ask) {
	tally := &p.w.ledger.tally
	for i := range q.settles {
		s, b := &q.settles[i], h.book(q, i)
		t := b.tab(s.Held.ID)
		q.places = append(q.places, -1)
		if t == nil {
			continue
		}
		t.told = append(t.told, s.Used)
		if !s.Open {
			t.says = append(t.says, s.Used)
		}
		call := p.w.seenOf(b.key, b.limit, history.KindSettle, history.Failed, q.at)
		call.Cost, call.Via, call.Hold = s.Used, p.name, &history.Hold{ID: load.HoldID(s.Held), For: s.For, Open: s.Open}
		q.places[i] = tally.add(&call, s.Rule)
	}
}

// settled takes in what an owner answers to a settlement.
func (h *heldTally) settled(p *process, q *ask) {
	w := p.w
	for i := range q.settles {
		s, b := &q.settles[i], h.book(q, i)
		t := b.tab(s.Held.ID)
		w.countSettled(p, s, t)
		w.say(b.key, "%s answers %s: %+v", p.name, q.call, s.Settled)
		if t == nil || t.gone || q.places[i] < 0 {
			w.count("settlements of holds that may be forgotten")
			continue
		}
		call := &w.ledger.tally.seen[q.places[i]]
		call.Outcome, call.End = history.Done, w.now
		call.Hold.State, call.Hold.Charged = string(s.Settled.State), s.Settled.Charged
		if s.Rule.Counts() {
			b.answers(p, s, t)
		}
	}
}

// answers asserts that the answer to a settlement is stored at a majority.
func (b *book) answers(p *process, s *owner.Settle, t *tab) {
	w, name, got := b.w, b.w.bucketName(b.key, b.limit), s.Settled
	switch got.State {
	case limit.HoldUnknown:
		if b.known(t) && !w.isFar(p) && w.counts["floors set"] == 0 { // a bucket that a floor closes knows none
			w.violate(b.key, "%s does not know a hold of %d from %s", p.name, t.granted, name)
		}
	case limit.HoldSettled:
		if !t.final {
			t.final, t.charged = true, got.Charged
		}
		unbounded := t.rule.DebtTokens() == limit.MaxCount && s.Rule.DebtTokens() == limit.MaxCount
		if unbounded && !slices.Contains(t.says, got.Charged) {
			w.violate(b.key, "%s has charged %d for a hold from %s, and its settlements say %v", p.name, got.Charged, name, t.says)
		}
		if e := b.stored[t.id]; b.known(t) && (!e.Settled || e.Used != got.Charged) {
			w.violate(b.key, "%s answers that a hold from %s is charged %d, and a majority has stored %+v", p.name, name, got.Charged, e)
		}
	case limit.HoldOpen, limit.HoldExpired, limit.HoldLost:
	}
}

// countSettled counts what kind of settlement was answered.
func (w *World) countSettled(p *process, s *owner.Settle, t *tab) {
	got := s.Settled
	what := map[limit.HoldState]string{
		limit.HoldOpen: "settlements that leave the hold open", limit.HoldExpired: "settlements of expired holds", limit.HoldLost: "holds lost with their owner",
		limit.HoldUnknown: "settlements of unknown holds",
	}[got.State]
	switch {
	case what != "":
	case got.Charged < s.Granted:
		what = "holds settled below what they held"
	case got.Charged == s.Granted:
		what = "holds settled at what they held"
	default:
		what = "holds settled above what they held"
	}
	w.count(what)
	if s.For > 0 && got.State == limit.HoldOpen {
		w.count("holds extended")
	}
	if s.Met == limit.HoldExpired {
		w.count("holds settled late")
	}
	if got.Debt > 0 {
		w.count("settlements into debt")
	}
	if t != nil && t.final && !s.Open {
		w.count("settlements repeated")
	}
	if s.Rule.Counts() && s.Held.Owner != p.owner && got.State == limit.HoldSettled {
		w.count("holds settled by another owner")
	}
}

// promise answers a settlement as if it had taken effect at once.
func (h *heldTally) promise(q *ask) {
	for i := range q.settles {
		s, b := &q.settles[i], h.book(q, i)
		if t := b.tab(s.Held.ID); t != nil && !t.gone && !t.final && !s.Open && s.Rule.Counts() && s.Used <= t.granted {
			t.final, t.charged = true, s.Used
		}
	}
}

// ended asserts that a node has no hold of the bucket that is open.
func (b *book) ended(p *process) {
	w, rule := b.w, b.w.limits[b.limit].rules[0]
	open := func(where string, seen *limit.HoldsSeen) {
		if seen != nil && (seen.Open > 0 || seen.Tokens > 0) {
			w.violate(b.key, "%s %s holds %d tokens of %s when the time of all holds is over", where, p.name, seen.Tokens, w.bucketName(b.key, b.limit))
		}
	}
	read := func(where string, stored []byte) {
		l := rule.NewLedger(2 * tolerance)
		if err := l.Read(stored, limit.OwnerID{}); err != nil {
			w.violate(b.key, "%s %s has a ledger that cannot be read: %v", where, p.name, err)
		}
		open(where, l.SeeHolds(p.read()))
	}
	if a := p.actors[b.key]; a != nil {
		v, _ := a.owner.View(rule.Name, p.read())
		open("an owner at", v.Holds)
		if rule.Counts() {
			read("an owner at", v.Ledger)
		}
	}
	if rule.Counts() {
		read("the register of", p.store.cells[w.bucket(b.key, b.limit)].Ledger)
	}
}
