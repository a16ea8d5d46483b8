package owner

import "github.com/jeton-dev/jeton/actor/limit"

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
	views := make([]View, len(o.buckets))
	for i, b := range o.buckets {
		views[i] = o.view(b, now)
	}
	return views
}

func (o *Owner) view(b *bucket, now int64) View {
	perToken := float64(b.rule.Refill.Per) / float64(b.rule.Refill.Tokens)
	return View{
		Rule: b.rule, Generation: b.gen, TAT: b.tat, Hi: b.held.to, Next: [2]int64{b.next.from, b.next.to},
		Credit: b.credit(now), Recent: b.recent.list(),
		Demand: b.demandNow(now, o.cfg) / perToken / (float64(o.cfg.Delta) / 1e9),
	}
}
