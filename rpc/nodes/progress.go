package nodes

import (
	"context"
	"errors"
)

// do asks one node after the other. The answer is that of the first one which has one; the error says what each met.
func do[T any](c call, ask func(context.Context, *Node) (T, error)) (T, error) {
	p := &progress[T]{call: c, ask: ask}
	return p.run()
}

// Anywhere asks one node after the other, the servers first, until one has an answer: any will do. What is asked may be done once
// only, so it is not asked of two at a time.
func Anywhere[T any](ctx context.Context, s *Set, ask func(context.Context, *Node) (T, error)) (T, error) {
	c := s.call(ctx, "")
	c.any, c.hedging = true, never
	return do(c, ask)
}

// A progress is a call under way.
type progress[T any] struct {
	call
	ask   func(context.Context, *Node) (T, error)
	first attempt[T]
}

func (p *progress[T]) run() (v T, err error) {
	t := &p.first
	for {
		n := p.next()
		if n == nil {
			if !p.rest() {
				return v, p.outcome()
			}
			continue
		}
		p.try(n)
		v, err = p.at(t, n)
		if _, over := errors.AsType[*outcomeError](err); over || !p.movable(err) {
			return v, p.conclude(n, err)
		}
		p.failed(n, err)
		p.watch.failed(n, err)
		p.set.counts.retries.Add(1)
		t = new(attempt[T]) // the timer of health may still look at the last one
	}
}

// at asks n, and others as well if n is silent.
func (p *progress[T]) at(t *attempt[T], n *Node) (T, error) {
	if n.local != nil {
		ctx, cancel := p.withDeadline()
		defer cancel()
		return p.ask(ctx, n)
	}
	p.ctx = p.watch.begin(p.ctx, "jeton.check")
	p.watch.asks(n, 1)
	ctx := t.begin(&p.call, n, p)
	v, err := p.ask(ctx, n)
	return t.end(n, v, err)
}

// again implements further.
func (p *progress[T]) again(ctx context.Context) (T, error) {
	return do(p.fork(ctx, p.tried[len(p.tried)-1]), p.ask)
}
