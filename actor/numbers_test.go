package actor

import (
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/jeton-dev/jeton/actor/clock"
)

// TestNumbersAreNotUsedAgain spends from one bucket at one instant, before and after its owner has lost all that it knew.
// Both ask for the same line: all that tells them apart is the owner's name and the number, and if these were used again
// the second would pass for a repetition of the first.
func TestNumbersAreNotUsedAgain(t *testing.T) {
	for name, forget := range map[string]func(t *testing.T, cfg Config, s *System, bad *atomic.Bool) *System{
		"after a restart": func(t *testing.T, cfg Config, s *System, _ *atomic.Bool) *System {
			t.Helper()
			s.Close()
			return start(t, cfg)
		},
		"after a panic": func(t *testing.T, _ Config, s *System, bad *atomic.Bool) *System {
			t.Helper()
			bad.Store(true)
			if _, err := s.Check(t.Context(), spend("a", 1, "demo")); !errors.Is(err, ErrInternal) {
				t.Fatalf("got %v, want an internal error", err)
			}
			bad.Store(false)
			return s
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // in which time stands still
				now := clock.New().Now
				var bad atomic.Bool
				cfg := Config{
					Replicas: []Replica{newRegisters(now)}, Now: now,
					beforeStep: func(string) {
						if bad.Load() {
							panic("a bug")
						}
					},
				}
				s := start(t, cfg)
				first := proof(t, s, spend("a", 4, "demo"))
				s = forget(t, cfg, s, &bad)
				if second := proof(t, s, spend("a", 4, "demo")); second.Start < first.End {
					t.Errorf("%+v was spent twice: %+v", first.Span, second.Span)
				}
				if got := drain(t, s, "a", "demo"); got != 2 {
					t.Errorf("%d were admitted after 4 + 4 of 10, want 2", got)
				}
			})
		})
	}
}
