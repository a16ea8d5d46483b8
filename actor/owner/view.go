package owner

import (
	"math"

	"github.com/jeton-dev/jeton/actor/limit"
)

// A View is what an owner knows of one bucket.
type View struct {
	Rule       *limit.Rule
	Generation int64
	TAT        limit.Pos
	Hi         int64     // the held segment ends here
	Next       [2]int64  // the next segment, from and to; empty if equal
	Credit     limit.Pos // returned line that can be spent again
	Demand     float64   // tokens spent a second, smoothed over Δ
	Recent     []limit.Recent
	Left       int64 // tokens, as far as the owner knows; -1 if it has not asked, or another one may have written since
	Begins     int64 // when a check of one token that waits begins, however long that is, as if no penalty closed the bucket

	// Of a limit that spends a line: its holds and leases, which only View tells, not Views.
	Holds *limit.HoldsSeen

	// Leases are what this owner has passed down to edges that may not be over.
	Leases []limit.LeaseSeen

	// Of a limit that counts entries: the ledger as it is stored, what checks can be given, and what of it is held for them.
	Ledger []byte
	Place  int64
	Held   int64

	// Of a limit with a penalty, if the owner knows of one: until when it closes the bucket, and how many denials in a row there were since.
	Penalties bool
	Closed    int64
	Denied    int64
}

// Has says whether the key has a bucket of the limit called name.
func (o *Owner) Has(name string) bool { return o.find(name) != nil }

// View looks at the bucket of the limit called name; ok is false if the owner has none. It changes nothing.
func (o *Owner) View(name string, now int64) (v View, ok bool) {
	b := o.find(name)
	if b == nil {
		return View{}, false
	}
	v = o.view(b, now)
	if b.ledger() == nil {
		v.Holds = b.lineHolds().see(now)
		v.Leases = b.leases().seen(now)
	}
	return v, true
}

// Views are all buckets of the key.
func (o *Owner) Views(now int64) []View {
	views := make([]View, 0, o.size())
	for i := range o.size() {
		if b := o.at(i); !b.rule.OfPenalties() {
			views = append(views, o.view(b, now))
		}
	}
	return views
}

// Load is the highest Demand of all buckets of the key: what [Owner.Views] would tell, for a caller that asks very many owners.
func (o *Owner) Load(now int64) (tokens float64) {
	for i := range o.size() {
		tokens = max(tokens, o.demand(o.at(i), now))
	}
	return tokens
}

func (o *Owner) view(b *bucket, now int64) View {
	b = b.movedOn(now)
	next := b.next()
	v := View{
		Rule: b.rule, Generation: b.gen, TAT: b.tat, Hi: b.held.to, Next: [2]int64{next.from, next.to},
		Credit: b.credit(now), Demand: o.demand(b, now), Recent: b.recent(),
	}
	if l := b.ledger(); l != nil {
		place, full := l.Clone(nil).Free(now), enterAll(l.rooms, l.Clone(nil), none)
		v.Ledger = o.stored(l, full)
		v.Place, v.Held = max(place, 0), place-full.Free(now)
		if !l.current {
			v.Hi = 0 // another owner may have written since
		}
	} else {
		v.Begins = o.begins(b, now)
	}
	if p := b.rule.Penalties(); p != nil {
		if of := o.find(p.Name); of != nil && of.ledger().readAt != 0 {
			v.Penalties, v.Denied = true, of.ledger().penalties.Denied
			if closed := of.closedFor(now); closed > 0 {
				v.Closed = now + int64(closed)
			}
		}
	}
	v.Left = o.left(b, now)
	return v
}

// Left calls f with each bucket of the key and what [Owner.Views] would tell of what is left in it, for a caller that asks many owners.
func (o *Owner) Left(now int64, f func(rule *limit.Rule, tokens int64)) {
	for i := range o.size() {
		if b := o.at(i); !b.rule.OfPenalties() {
			f(b.rule, o.left(b.movedOn(now), now))
		}
	}
}

// left is how many tokens a bucket has that is as of now, as far as the owner knows; -1 if it has not asked, or another one may have written
// since.
func (o *Owner) left(b *bucket, now int64) int64 {
	if p := b.rule.Penalties(); p != nil {
		if of := o.find(p.Name); of != nil && of.ledger().readAt != 0 && of.closedFor(now) > 0 {
			return 0
		}
	}
	l := b.ledger()
	switch {
	case l != nil && !l.current, l == nil && b.held.to == 0 && b.free(b.gen, all, nil, o.cfg) == 0: // no replica has spoken
		return -1
	case l != nil:
		return min(max(l.Clone(nil).Free(now), 0), b.rule.Capacity)
	}
	return b.tokensUpTo(b.rule, b.rule.Bound(now), now, now, o.cfg)
}

// begins is when a check of one token of now that waits would begin; math.MaxInt64 if that cannot be told.
func (o *Owner) begins(b *bucket, now int64) int64 {
	c := Check{At: now, Rules: []*limit.Rule{b.rule}, Cost: 1, Wait: math.MaxInt64}
	trials, denied := o.try(&c, now, new(Out))
	if denied {
		return math.MaxInt64
	}
	return trials[0].at
}

// demand is how many tokens a second the bucket spends.
func (o *Owner) demand(b *bucket, now int64) float64 {
	return float64(b.load.demand(now, o.cfg.Delta)) / b.rule.PerToken() / (float64(o.cfg.Delta) / 1e9)
}
