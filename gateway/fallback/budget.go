package fallback

import (
	"context"
	"sync"
	"time"
)

// A budget is the context of one check: its parent's, which ends at the deadline at the latest. It is what
// context.WithDeadline makes, but that the timer is started only when somebody asks for Done: a node in this process
// that decides from memory never does, and a client that keeps a timer of its own looks at Deadline.
type budget struct {
	parent   context.Context //nolint:containedctx // a context is made of its parent
	deadline time.Time

	mu    sync.Mutex
	inner context.Context //nolint:containedctx // with the timer; nil until somebody asked for Done
	stop  context.CancelFunc
	over  bool // the check was answered
}

// Deadline implements [context.Context].
func (b *budget) Deadline() (time.Time, bool) {
	if at, ok := b.parent.Deadline(); ok && at.Before(b.deadline) {
		return at, true
	}
	return b.deadline, true
}

// Done implements [context.Context].
func (b *budget) Done() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.timedLocked().Done()
}

// timedLocked is the context with the timer; one that has ended when the check was answered.
func (b *budget) timedLocked() context.Context {
	switch {
	case b.inner != nil:
	case b.over:
		b.inner, b.stop = context.WithCancel(b.parent)
		b.stop()
	default:
		b.inner, b.stop = context.WithDeadline(b.parent, b.deadline)
	}
	return b.inner
}

// Err implements [context.Context].
func (b *budget) Err() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.inner != nil {
		return b.inner.Err()
	}
	if b.over || !time.Now().Before(b.deadline) || b.parent.Err() != nil {
		return b.timedLocked().Err() // so that what Done says afterwards is the same
	}
	return nil
}

// Value implements [context.Context]. With the timer there, contexts that are made of this one find it here, and need no
// goroutine to follow it.
func (b *budget) Value(key any) any {
	b.mu.Lock()
	inner := b.inner
	b.mu.Unlock()
	if inner != nil {
		return inner.Value(key)
	}
	return b.parent.Value(key)
}

// end gives up whatever still goes on with this budget.
func (b *budget) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.over = true
	if b.stop != nil {
		b.stop()
	}
}
