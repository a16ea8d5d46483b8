package simulation

import (
	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cluster-tests/history"
)

// A poured is what was taken of a bucket, and comes back bit by bit.
type poured struct {
	at     int64 // true time at which the owner read its clock
	amount int64
	hold   uint64 // which has taken it, and takes what it says; 0 for a check
}

// pour takes in an admission of a bucket whose ledger is a queue.
func (b *book) pour(q *ask, c *history.Call, h *limit.Hold, i int) {
	if rule := q.rules[i]; !rule.Counts() || rule.Algorithm != limit.TokenBucket {
		return
	}
	p := poured{at: q.at, amount: c.Cost}
	if h != nil {
		p.hold = h.Limits[i].ID
	}
	b.poured = append(b.poured, p)
}

// refills asserts that a ledger that a majority has stored does not have less to refill than there is: than one bucket that was always there
// has, from which each hold has taken at once what it takes now, but for what refills while two clocks differ.
func (b *book) refills(l *limit.Ledger) {
	w, rule := b.w, b.w.limits[b.limit].rules[0]
	if len(b.poured) == 0 || w.now < b.wiped {
		return
	}
	perNS := float64(rule.Refill.Tokens) / float64(rule.Refill.Per)
	level, before := 0.0, b.poured[0].at
	for _, p := range b.poured {
		amount := p.amount
		if p.hold != 0 {
			amount = b.takesAtLeast(p.hold)
		}
		level = max(0, level-perNS*float64(p.at-before)) + float64(amount)
		before = max(before, p.at)
	}
	level = max(0, level-perNS*float64(w.now-before))
	w.count("ledgers of buckets compared with what they have to refill")
	used := l.Used(w.now + w.mayBeAhead())
	if slack := 1 + 4*perNS*float64(w.mayBeAhead()); float64(used)+slack < level {
		w.violate(b.key, "%.3f tokens of %s have to come back, and the ledger that a majority has stored has %d", level, b.w.bucketName(b.key, b.limit), used)
	}
}

// takesAtLeast is the least that a hold may take.
func (b *book) takesAtLeast(id uint64) int64 {
	t, e := b.tab(id), b.stored[id]
	switch {
	case t == nil || t.gone:
		return 0
	case t.final:
		return t.charged
	case e.Free && !e.Settled && b.w.now+b.w.mayBeAhead() >= e.Until:
		return e.Used
	}
	return b.mayTake(id, &e).least()
}
