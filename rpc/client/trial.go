package client

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/jeton-dev/jeton/actor/limit"
)

// errSilent ends the tries that wait for a node which answers nobody.
var errSilent = fmt.Errorf("%w: it is silent", limit.ErrUnavailable)

// A trial is one try of a call at a node, and, should the node turn out to be silent, a second one elsewhere:
//
//	first  ─▶ node ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ▶ the answer that comes first counts, the other try is canceled
//	             └─ silent ──▶ second ─▶ next nodes ─▶
//
// The first one is made by the caller itself, between set and conclude; only the second has a goroutine.
type trial[T any] struct {
	waiter

	way     *way
	further traveler[T]
	end     context.CancelFunc // of the first try

	mu      sync.Mutex
	over    bool               // the first try has ended: it is too late for a second one
	gaveUp  bool               // the first try was ended by giveUp
	done    chan struct{}      // closed when the second try has ended; nil when there is none
	stop    context.CancelFunc // of the second try
	outcome T                  // of the second try, once done
	err     error
}

// A traveler takes a call to further nodes. Its way stays as it is while a trial lasts.
type traveler[T any] interface {
	more() bool                           // there is another node
	later() bool                          // the nodes will be tried once more
	again(ctx context.Context) (T, error) // asks the others
}

// set begins the first try, at n. The context is for asking it.
func (t *trial[T]) set(w *way, n *node, further traveler[T]) context.Context {
	ctx, cancel := context.WithDeadline(w.ctx, w.deadline)
	t.way, t.further, t.end, t.move = w, further, cancel, t
	n.health.enter(&t.waiter)
	return ctx
}

// conclude ends the trial with what the first try brought, and returns the answer that counts. An error of the first try
// gives way to what the second one met, if there was one. Both have ended by then.
func (t *trial[T]) conclude(n *node, v T, err error) (T, error) {
	defer t.end()
	n.health.leave(&t.waiter, n.answered(err))
	t.mu.Lock()
	t.over = true
	done, stop, gaveUp := t.done, t.stop, t.gaveUp
	t.mu.Unlock()
	if errors.Is(err, context.Canceled) && t.way.ctx.Err() == nil { // not by the caller
		switch {
		case t.way.ended():
			err = context.DeadlineExceeded
		case gaveUp:
			err = errSilent
		}
	}
	if done == nil {
		return v, err
	}
	move := t.way.movable(err)
	if move {
		select {
		case <-done:
		case <-t.way.ctx.Done():
		}
	}
	stop()
	<-done
	if err != nil && (move || t.err == nil) {
		return t.outcome, t.err
	}
	return v, err
}

// possible implements mover. It is called while the first try lasts.
func (t *trial[T]) possible() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !t.over && (t.done != nil || t.further.more())
}

// later implements mover. It is called while the first try lasts.
func (t *trial[T]) later() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !t.over && t.further.later()
}

// second implements mover.
func (t *trial[T]) second() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over || t.done != nil {
		return
	}
	ctx, stop := context.WithDeadline(t.way.ctx, t.way.deadline)
	done := make(chan struct{})
	if !t.way.client.begin(func(closing context.Context) {
		defer close(done)
		defer context.AfterFunc(closing, stop)()
		t.way.client.counts.second.Add(1)
		t.outcome, t.err = t.further.again(ctx)
		if !t.way.movable(t.err) {
			t.end()
		}
	}) {
		stop()
		return
	}
	t.done, t.stop = done, stop
}

// giveUp implements mover.
func (t *trial[T]) giveUp() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.gaveUp = true
	t.end()
}
