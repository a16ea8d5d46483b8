package owner

import (
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
}

// View looks at the bucket of the limit called name; ok is false if the owner has none. It changes nothing.
func (o *Owner) View(name string, now int64) (v View, ok bool) {
	b := o.find(name)
	if b == nil {
		return View{}, false
	}
	return o.view(b, now), true
}

// Views are all buckets of the key.
func (o *Owner) Views(now int64) []View {
	views := make([]View, o.size())
	for i := range views {
		views[i] = o.view(o.at(i), now)
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
	next := b.next()
	return View{
		Rule: b.rule, Generation: b.gen, TAT: b.tat, Hi: b.held.to, Next: [2]int64{next.from, next.to},
		Credit: b.credit(now), Demand: o.demand(b, now), Recent: b.recent(),
	}
}

// demand is how many tokens a second the bucket spends.
func (o *Owner) demand(b *bucket, now int64) float64 {
	perToken := float64(b.rule.Refill.Per) / float64(b.rule.Refill.Tokens)
	return b.load.demand(now, o.cfg.Delta) / perToken / (float64(o.cfg.Delta) / 1e9)
}
