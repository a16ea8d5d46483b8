package client

import (
	"context"
	"errors"
)

// A journey is a call on its way.
type journey[T any] struct {
	way
	ask   func(context.Context, *node) (T, error)
	first trial[T]
}

// walk asks one node after the other. The answer is that of the first one which has one; the error says what each met.
func walk[T any](w way, ask func(context.Context, *node) (T, error)) (T, error) {
	j := &journey[T]{way: w, ask: ask}
	return j.run()
}

func (j *journey[T]) run() (v T, err error) {
	t := &j.first
	for {
		n := j.next()
		if n == nil {
			if !j.rest() {
				return v, j.outcome()
			}
			continue
		}
		j.try(n)
		v, err = j.visit(t, n)
		if _, over := errors.AsType[*outcomeError](err); over || !j.movable(err) {
			return v, j.conclude(n, err)
		}
		j.failed(n, err)
		j.client.counts.again.Add(1)
		t = new(trial[T]) // somebody may still look at the last one
	}
}

// visit asks n, and others as well if n is silent.
func (j *journey[T]) visit(t *trial[T], n *node) (T, error) {
	if n.local != nil {
		return j.home(n)
	}
	ctx := t.set(&j.way, n, j)
	v, err := j.ask(ctx, n)
	return t.conclude(n, v, err)
}

// home asks the own node.
func (j *journey[T]) home(n *node) (T, error) {
	ctx := j.ctx
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, j.deadline)
		defer cancel()
	}
	return j.ask(ctx, n)
}

// again implements traveler.
func (j *journey[T]) again(ctx context.Context) (T, error) {
	return walk(j.fork(ctx, j.tried[len(j.tried)-1]), j.ask)
}
