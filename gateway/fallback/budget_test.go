package fallback

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

type nameKey struct{}

// TestBudget follows a budget and what context.WithDeadline makes through the same events: they never differ.
func TestBudget(t *testing.T) {
	const within = 50 * time.Millisecond
	for what, c := range map[string]struct {
		parent  time.Duration // its deadline; 0 for none
		early   bool          // Done is asked for at the start
		happens func(stop, end func())
		want    error
	}{
		"nothing":                {happens: func(_, _ func()) {}},
		"nothing yet":            {happens: func(_, _ func()) { pass(within - 1) }},
		"the deadline":           {happens: func(_, _ func()) { pass(within) }, want: context.DeadlineExceeded},
		"long after":             {happens: func(_, _ func()) { pass(time.Hour) }, want: context.DeadlineExceeded},
		"the parent's deadline":  {parent: within / 2, happens: func(_, _ func()) { pass(within / 2) }, want: context.DeadlineExceeded},
		"a later parent's":       {parent: time.Hour, happens: func(_, _ func()) { pass(within) }, want: context.DeadlineExceeded},
		"the parent is canceled": {happens: func(stop, _ func()) { stop() }, want: context.Canceled},
		"it is answered":         {happens: func(_, end func()) { end() }, want: context.Canceled},
		"answered, then late":    {happens: func(_, end func()) { end(); pass(time.Hour) }, want: context.Canceled},
		"late, then answered":    {early: true, happens: func(_, end func()) { pass(within); end() }, want: context.DeadlineExceeded},
	} {
		for _, early := range []bool{false, true} {
			if c.early && !early {
				continue // who did not look in time may hear of either
			}
			synctest.Test(t, func(t *testing.T) {
				parent, stop := context.WithCancel(context.WithValue(t.Context(), nameKey{}, "value"))
				defer stop()
				if c.parent > 0 {
					var release context.CancelFunc
					parent, release = context.WithTimeout(parent, c.parent)
					defer release()
				}
				start := time.Now()
				b := &budget{parent: parent, deadline: start.Add(within)}
				model, end := context.WithDeadline(parent, start.Add(within))
				defer end()
				defer b.end()
				if early {
					b.Done()
				}
				gotAt, gotOK := b.Deadline()
				wantAt, wantOK := model.Deadline()
				if gotOK != wantOK || !gotAt.Equal(wantAt) {
					t.Errorf("%s: the deadline is %v, want %v", what, gotAt.Sub(start), wantAt.Sub(start))
				}
				c.happens(stop, func() { b.end(); end() })
				synctest.Wait()
				if got := b.Err(); !errors.Is(got, c.want) || !errors.Is(model.Err(), c.want) || (got == nil) != (c.want == nil) {
					t.Errorf("%s, early %v: %v and the model %v, want %v", what, early, got, model.Err(), c.want)
				}
				select {
				case <-b.Done():
					if c.want == nil {
						t.Errorf("%s: it is done", what)
					}
				default:
					if c.want != nil {
						t.Errorf("%s, early %v: it is not done, but %v", what, early, b.Err())
					}
				}
				if got := b.Err(); !errors.Is(got, c.want) {
					t.Errorf("%s, early %v: %v after it was done", what, early, got)
				}
				if b.Value(nameKey{}) != "value" {
					t.Errorf("%s: the parent's values are lost", what)
				}
			})
		}
	}
}

// TestBudgetOfChildren ends contexts that are made of a budget, and what waits for it in another way.
func TestBudgetOfChildren(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &budget{parent: t.Context(), deadline: time.Now().Add(time.Second)}
		child, cancel := context.WithTimeout(b, time.Hour)
		defer cancel()
		called := make(chan error, 1)
		context.AfterFunc(b, func() { called <- b.Err() })
		pass(time.Second - 1)
		if child.Err() != nil || len(called) > 0 {
			t.Error("it has ended too early")
		}
		pass(1)
		if !errors.Is(child.Err(), context.DeadlineExceeded) || !errors.Is(<-called, context.DeadlineExceeded) {
			t.Errorf("the child has %v", child.Err())
		}
	})
}
