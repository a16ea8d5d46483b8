package rls

import (
	"math"
	"slices"

	"github.com/jeton-dev/jeton/actor/limit"
)

// charge makes the asks.
func (f *finder) charge() error {
	charged := 0
	for i := range f.plan.items {
		it := &f.plan.items[i]
		if it.kind != asked {
			continue
		}
		g := f.groupOf(i)
		isNew, err := f.add(i, g)
		if err != nil {
			return err
		}
		if isNew && g != look && g != observed {
			charged++
		}
	}
	switch {
	case charged <= limit.MaxAll:
	case f.reported:
		f.plan.apart()
	default:
		return invalid("descriptors: %d limits are too many to be charged: at most %d in a request", charged, limit.MaxAll)
	}
	return nil
}

// apart has all asks charged each by itself: they are too many to be charged together.
func (p *plan) apart() {
	for i := range p.asks {
		if a := &p.asks[i]; a.group == together {
			a.group = always
		}
	}
}

func (f *finder) groupOf(i int) group {
	it, of := &f.plan.items[i], &f.found[i]
	switch {
	case of.negative:
		return refund
	case it.hits == 0:
		return look
	case it.rule != nil && it.rule.Always, of.reported:
		return always
	case it.passes():
		return observed
	default:
		return together
	}
}

// add makes an ask of the item at i, or adds it to one of the same bucket. Of two limits of one bucket the smaller one counts.
func (f *finder) add(i int, g group) (isNew bool, err error) {
	it, of := &f.plan.items[i], &f.found[i]
	quiet := g == refund || it.passes()
	at := slices.IndexFunc(f.plan.asks, func(a ask) bool {
		return a.group == g && a.quiet == quiet && (a.hits == 0) == (it.hits == 0) && a.limit.Name == of.limit.Name && a.key == of.key
	})
	if at < 0 {
		it.ask = len(f.plan.asks)
		f.plan.asks = append(f.plan.asks, ask{
			group: g, key: of.key, limit: of.limit, hits: it.hits, quiet: quiet, returns: it.rule != nil && it.rule.Refunds,
		})
		return true, nil
	}
	it.ask = at
	a := &f.plan.asks[at]
	if it.hits > math.MaxInt64-a.hits {
		return false, invalid("descriptors[%d].hits_addend: with those of the same bucket before it, the hits are too many: at most %d", i, int64(math.MaxInt64))
	}
	a.hits += it.hits
	if of.limit.Inline.Capacity < a.limit.Inline.Capacity {
		a.limit = of.limit
	}
	return false, nil
}
