package gubernator

import (
	"context"
	"slices"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

// A decider decides the items of a request, those of one key in their order.
type decider struct {
	limiter limit.Limiter
	now     func() time.Time
}

// drains is how often a drain is tried: where others take at the same time, what was left is not there any more.
const drains = 3

// decide decides the items, of which nil stands for one that has an answer already. Nearly always all of them are one batch: a further one
// begins where an item changes a bucket in a way that items of its key before or behind it must not see.
func (d decider) decide(ctx context.Context, items []*item) {
	items = slices.DeleteFunc(slices.Clone(items), func(it *item) bool { return it == nil || it.decided() })
	if !slices.ContainsFunc(items, func(it *item) bool { return it.reset || it.drain }) {
		d.check(ctx, items)
		return
	}
	var round []*item
	touched, drained := map[string]bool{}, map[string]bool{}
	for _, it := range items {
		if drained[it.key] || it.reset && touched[it.key] {
			d.round(ctx, round)
			round = round[:0]
			clear(touched)
			clear(drained)
		}
		round = append(round, it)
		touched[it.key] = true
		drained[it.key] = drained[it.key] || it.drain
	}
	d.round(ctx, round)
}

// round decides items at once: resets, then checks, then what is left of denied ones that drain.
func (d decider) round(ctx context.Context, items []*item) {
	for _, it := range items {
		if it.reset {
			it.result.Err = d.limiter.Reset(ctx, it.key, it.refs[0])
		}
	}
	d.check(ctx, items)
	for range drains {
		if !d.drain(ctx, items) {
			return
		}
	}
}

// check decides the items by one batch.
func (d decider) check(ctx context.Context, items []*item) {
	requests, of := make([]limit.Request, 0, len(items)), make([]*item, 0, len(items))
	for _, it := range items {
		if it.result.Err == nil {
			requests, of = append(requests, it.request(it.hits)), append(of, it)
		}
	}
	for i, r := range d.batch(ctx, requests) {
		of[i].result = r
	}
}

// drain takes what is left of those that were denied. It says whether some is left still, since others took at the same time. A denial
// stays one, also where there is no decision about the rest.
func (d decider) drain(ctx context.Context, items []*item) (again bool) {
	var requests []limit.Request
	var of []*item
	for _, it := range items {
		if left, denied := it.denied(); it.drain && denied && left > 0 {
			requests, of = append(requests, it.request(left)), append(of, it)
		}
	}
	for i, r := range d.batch(ctx, requests) {
		it := of[i]
		switch {
		case r.Err != nil || len(r.Decision.Limits) == 0:
			it.drain = false
		case r.Decision.Allowed:
			it.drain = false
			it.result = r
			it.result.Decision.Allowed = false
		default:
			it.result, again = r, true
		}
	}
	return again
}

func (d decider) batch(ctx context.Context, requests []limit.Request) []limit.Result {
	if len(requests) == 0 {
		return nil
	}
	return d.limiter.CheckBatch(ctx, requests)
}
