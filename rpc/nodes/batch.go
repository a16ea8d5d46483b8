package nodes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/ring"
)

// CheckBatch implements [limit.BatchChecker], with one message to each node that is to decide something.
func (s *Set) CheckBatch(ctx context.Context, rs []limit.Request) []limit.Result {
	return s.checkBatch(ctx, rs, nil)
}

// CheckBatchElsewhere is CheckBatch after the own node was asked for all requests, and could not decide for these reasons.
func (s *Set) CheckBatchElsewhere(ctx context.Context, rs []limit.Request, whys []error) []limit.Result {
	return s.checkBatch(ctx, rs, whys)
}

func (s *Set) checkBatch(ctx context.Context, rs []limit.Request, whys []error) []limit.Result {
	results := make([]limit.Result, len(rs))
	items := make([]item, 0, len(rs))
	start := s.callCheck(ctx, "", slices.ContainsFunc(rs, func(r limit.Request) bool { return once(&r) }))
	for i := range rs {
		err := rs[i].Validate()
		if len(rs) > limit.MaxBatch {
			err = &limit.FieldError{Field: "checks", Problem: fmt.Sprintf("%d requests are too many: at most %d", len(rs), limit.MaxBatch)}
		}
		if err != nil {
			results[i].Err = err
			continue
		}
		it := item{start: &start, hash: ring.Hash(rs[i].Key), request: &rs[i], result: &results[i]}
		if whys != nil {
			it.call().beginsAfter(s.own, whys[i])
		}
		items = append(items, it)
	}
	start.ctx = start.watch.begin(ctx, "jeton.check_batch")
	deliver(items)
	start.watch.endAll(results)
	return results
}

// An item is one request of a batch on its way.
type item struct {
	start   *call // of the batch
	own     *call // the item's; nil until its first node had no answer
	at      *Node
	hash    uint64
	request *limit.Request
	result  *limit.Result
}

// call is the item's own call.
func (it *item) call() *call {
	if it.own == nil {
		own := *it.start
		own.hash = it.hash
		if it.own = &own; it.at != nil {
			own.try(it.at)
		}
	}
	return it.own
}

// next is the node to ask next; nil when all have been tried.
func (it *item) next() *Node {
	if it.own == nil && it.at == nil {
		return pick(it.start.set.table.Load().of(it.hash), nil, it.start.skipsBad)
	}
	return it.call().next()
}

// giveUp ends an item that no node is left to decide, and says whether it did.
func (it *item) giveUp() bool {
	c := it.call()
	down := c.hopeless()
	switch {
	case down == nil:
		return false
	case c.ctx.Err() == nil && len(c.failures) == 0:
		*it.result = limit.Result{Err: c.unsent(down)}
	default:
		*it.result = limit.Result{Err: c.outcome()}
	}
	return true
}

// try notes that n is being asked.
func (it *item) try(n *Node) {
	if it.own != nil {
		it.own.try(n)
	}
	it.at = n
}

// deliver finds a result for every item: each goes its way, and those that go to the same node go together.
func deliver(items []item) {
	pending := make([]*item, 0, len(items))
	for i := range items {
		pending = append(pending, &items[i])
	}
	for len(pending) > 0 {
		groups, stuck := split(pending)
		stuck = slices.DeleteFunc(stuck, (*item).giveUp)
		if len(groups)+len(stuck) == 0 {
			return
		}
		if len(groups) == 0 {
			pending = stuck
			first := stuck[0].call()
			if !first.rest() {
				break
			}
			for _, it := range stuck[1:] {
				c := it.call()
				c.tried, c.round = c.tried[:0], first.round
			}
			continue
		}
		var wait sync.WaitGroup
		for _, g := range groups[1:] { // never the own node's: a panic there must reach the caller
			wait.Go(func() { g.carry() })
		}
		groups[0].carry()
		wait.Wait()
		pending = pending[:0]
		for _, g := range groups {
			pending = append(pending, g.settle()...)
		}
		pending = append(pending, stuck...)
	}
	for _, it := range pending {
		*it.result = limit.Result{Err: it.call().outcome()}
	}
}

// A group is what goes to one node.
type group struct {
	node  *Node
	items []*item
}

// split puts the items that go to the same node next into one group, in their order; the group of the own node is the
// first. The stuck ones have been everywhere.
func split(items []*item) (groups []*group, stuck []*item) {
	var last *group
	for _, it := range items {
		n := it.next()
		if n == nil {
			stuck = append(stuck, it)
			continue
		}
		if last == nil || last.node != n {
			i := slices.IndexFunc(groups, func(g *group) bool { return g.node == n })
			if i < 0 {
				i = len(groups)
				groups = append(groups, &group{node: n, items: make([]*item, 0, len(items))})
			}
			last = groups[i]
		}
		it.try(n)
		last.items = append(last.items, it)
	}
	if i := slices.IndexFunc(groups, func(g *group) bool { return g.node.local != nil }); i > 0 {
		groups[0], groups[i] = groups[i], groups[0]
	}
	return groups, stuck
}

// carry brings a group to its node, and its results back.
func (g *group) carry() {
	c := g.items[0].start
	rs := make([]limit.Request, len(g.items))
	for i, it := range g.items {
		rs[i] = *it.request
	}
	if g.node.local != nil {
		ctx, cancel := c.withDeadline()
		defer cancel()
		g.hand(g.node.checkBatch(ctx, rs))
		return
	}
	c.watch.asks(g.node, len(rs))
	var t attempt[[]limit.Result]
	ctx := t.begin(c, g.node, g)
	results, err := g.node.checkBatch(ctx, rs)
	g.hand(t.end(g.node, results, err))
}

// more implements further. It looks at the first item alone: most keys have as many replicas as the others.
func (g *group) more() bool {
	it := g.items[0]
	if it.own != nil {
		return it.own.more()
	}
	return pick(it.start.set.table.Load().of(it.hash), []*Node{g.node}, it.start.skipsBad) != nil
}

// later implements further, by the first item as well.
func (g *group) later() bool {
	it := g.items[0]
	return it.own == nil || it.own.later() // in the first round without a call of its own
}

// again implements further: it delivers the group elsewhere, item by item, for each has a next node of its own.
func (g *group) again(ctx context.Context) ([]limit.Result, error) {
	items, results := make([]item, len(g.items)), make([]limit.Result, len(g.items))
	for i, it := range g.items {
		own := it.call().fork(ctx, g.node)
		items[i] = item{start: &own, own: &own, hash: it.hash, request: it.request, result: &results[i]}
	}
	deliver(items)
	for i, it := range g.items {
		if it.start.movable(results[i].Err) {
			return results, results[i].Err
		}
	}
	return results, nil
}

// hand gives the items of a group their results, or the error of all.
func (g *group) hand(results []limit.Result, err error) {
	for i, it := range g.items {
		if i < len(results) {
			*it.result = results[i]
		} else {
			*it.result = limit.Result{Err: err}
		}
	}
}

// settle says which items of a group have no result yet.
func (g *group) settle() (pending []*item) {
	for _, it := range g.items {
		err := it.result.Err
		if err == nil {
			continue
		}
		if _, over := errors.AsType[*outcomeError](err); !over && it.start.movable(err) {
			it.call().failed(g.node, err)
			it.start.set.counts.retries.Add(1)
			it.start.watch.failed(g.node, err)
			pending = append(pending, it)
			continue
		}
		it.result.Err = it.call().conclude(g.node, err)
	}
	return pending
}
