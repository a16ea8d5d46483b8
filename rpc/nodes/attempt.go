package nodes

import (
	"context"
	"errors"
	"sync"
)

// An attempt asks one node, and, should that turn out to be silent, others beside it, which is a hedge:
//
//	attempt ─▶ node ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ▶ the answer that comes first counts, the other is canceled
//	             └─ silent ──▶ hedge ─▶ next nodes ─▶
//
// The attempt is made by the caller itself, between begin and end; only the hedge has a goroutine.
type attempt[T any] struct {
	waiter

	call   *call
	others further[T]
	cancel context.CancelFunc

	mu      sync.Mutex
	over    bool               // it has ended: it is too late for a hedge
	gaveUp  bool               // it was ended by giveUp
	done    chan struct{}      // closed when the hedge has ended; nil when there is none
	stop    context.CancelFunc // of the hedge
	outcome T                  // of the hedge, once done
	err     error
}

// A further asks the other nodes. The call stays as it is while an attempt lasts.
type further[T any] interface {
	more() bool                           // there is another node
	later() bool                          // the nodes will be asked once more
	again(ctx context.Context) (T, error) // asks the others
}

// begin begins the attempt at n. The context is for asking it.
func (t *attempt[T]) begin(c *call, n *Node, others further[T]) context.Context {
	ctx, cancel := context.WithDeadline(c.ctx, c.deadline)
	t.call, t.others, t.cancel, t.of = c, others, cancel, t
	t.hedged = c.hedging == inTurn // as if it were: it will not be
	n.health.enter(&t.waiter)
	return ctx
}

// end ends the attempt with what it brought, and returns the answer that counts. An error gives way to what the hedge met, if there
// was one. Both have ended by then.
func (t *attempt[T]) end(n *Node, v T, err error) (T, error) {
	defer t.cancel()
	n.health.leave(&t.waiter, n.Note(err))
	t.mu.Lock()
	t.over = true
	done, stop, gaveUp := t.done, t.stop, t.gaveUp
	t.mu.Unlock()
	if errors.Is(err, context.Canceled) && t.call.ctx.Err() == nil { // not by the caller
		switch {
		case t.call.ended():
			err = context.DeadlineExceeded
		case gaveUp:
			err = errSilent
		}
	}
	if done == nil {
		return v, err
	}
	move := t.call.movable(err)
	if move {
		select {
		case <-done:
		case <-t.call.ctx.Done():
		}
	}
	stop()
	<-done
	if err != nil && (move || t.err == nil) {
		return t.outcome, t.err
	}
	return v, err
}

// canMove implements waiting. It is called while the attempt lasts.
func (t *attempt[T]) canMove() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !t.over && (t.done != nil || t.others.more())
}

// comesBack implements waiting. It is called while the attempt lasts.
func (t *attempt[T]) comesBack() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !t.over && t.others.later()
}

// hedge implements waiting.
func (t *attempt[T]) hedge() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over || t.done != nil {
		return
	}
	ctx, stop := context.WithDeadline(t.call.ctx, t.call.deadline)
	done := make(chan struct{})
	if !t.call.set.Go(func(closing context.Context) {
		defer close(done)
		defer context.AfterFunc(closing, stop)()
		t.call.set.counts.hedges.Add(1)
		t.outcome, t.err = t.others.again(ctx)
		if !t.call.movable(t.err) {
			t.cancel()
		}
	}) {
		stop()
		return
	}
	t.done, t.stop = done, stop
}

// giveUp implements waiting.
func (t *attempt[T]) giveUp() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.gaveUp = true
	t.cancel()
}
