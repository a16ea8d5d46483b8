package fallback

import (
	"context"
	"sync"
	"time"
)

// A budget is the context of one check: its parent's, with a deadline. It is like the one of context.WithDeadline, but starts
// its timer only at the first call of Done. An embedded node that decides from memory never calls it, and a client that has a
// timer of its own calls Deadline.
type budget struct {
	parent   context.Context //nolint:containedctx // a context is made of its parent
	deadline time.Time

	mu    sync.Mutex
	inner context.Context //nolint:containedctx // with the timer; nil until the first call of Done
	stop  context.CancelFunc
	over  bool // the check has returned
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

// timedLocked is the context with the timer; one that is canceled if the check has returned.
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
		return b.timedLocked().Err() // so that a later Done agrees
	}
	return nil
}

// Value implements [context.Context]. Once the timer exists, contexts derived from this one find inner here, and so need no
// goroutine to watch it.
func (b *budget) Value(key any) any {
	b.mu.Lock()
	inner := b.inner
	b.mu.Unlock()
	if inner != nil {
		return inner.Value(key)
	}
	return b.parent.Value(key)
}

// end cancels whatever still uses this budget.
func (b *budget) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.over = true
	if b.stop != nil {
		b.stop()
	}
}
