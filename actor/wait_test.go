package actor

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

const withWaits = `limits:
  queue: {capacity: 1, refill: 1/s, wait: 5s}
  plain: {capacity: 1, refill: 1/s}
  log: {algorithm: sliding-log, limit: 5, window: 1m}
`

// waiting is a check that may wait.
func waiting(wait time.Duration, names ...string) limit.Request {
	r := spend("a", 1, names...)
	r.Wait, r.Receipt = wait, true
	return r
}

// Callers that wait are told to begin one after another; a place that is returned goes to the next one, and a repeated request waits for
// what is left of its time.
func TestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, Config{Limits: fixed(document(t, withWaits))})
		first := decide(t, s, waiting(5*time.Second, "queue"))
		second := decide(t, s, named("second", waiting(5*time.Second, "queue")))
		third := decide(t, s, waiting(5*time.Second, "queue"))
		for i, d := range []limit.Decision{first, second, third} {
			if want := time.Duration(i) * time.Second; !d.Allowed || d.Wait > want || d.Wait < want-100*time.Millisecond {
				t.Errorf("check %d: allowed %v after %v, want after %v", i, d.Allowed, d.Wait, want)
			}
		}
		pass(300 * time.Millisecond)
		if again := decide(t, s, named("second", waiting(5*time.Second, "queue"))); again.Wait > 700*time.Millisecond || again.Wait < 600*time.Millisecond ||
			again.Receipts[0].Serial != second.Receipts[0].Serial {
			t.Errorf("repeated 300 ms later, it waits %v more", again.Wait)
		}
		if back, err := s.Return(t.Context(), "a", second.Receipts); err != nil || !back[0] {
			t.Fatalf("the place was not given up: %v, %v", back, err)
		}
		if next := decide(t, s, waiting(5*time.Second, "queue")); !next.Allowed || next.Wait > 700*time.Millisecond {
			t.Errorf("the next one waits %v, in place of the one that has left", next.Wait)
		}
		pass(time.Minute)
		if d := decide(t, s, named("second", waiting(5*time.Second, "queue"))); d.Wait != 0 {
			t.Errorf("a minute later the id waits %v", d.Wait)
		}
	})
}

// What cannot wait is refused, with the field.
func TestWaitRefused(t *testing.T) {
	s := start(t, Config{Limits: fixed(document(t, withWaits))})
	inlined := inline("a", 1, "mine", 1, "1/s")
	inlined.Wait = time.Second
	for want, r := range map[string]limit.Request{
		"6s is more than limit":              waiting(6*time.Second, "queue"),
		`limit "plain" lets no check wait`:   waiting(time.Second, "queue", "plain"),
		`limit "log" counts by sliding-log`:  waiting(time.Second, "log"),
		`limit "mine" lets no check wait`:    inlined,
		"31s is too long: at most 30s":       waiting(31*time.Second, "queue"),
		"a look takes nothing, and so waits": {Key: "a", Limits: []limit.Ref{limit.Named("queue")}, Look: true, Wait: 1},
	} {
		wrong := (*limit.FieldError)(nil)
		if _, err := s.Check(t.Context(), r); !errors.As(err, &wrong) || wrong.Field != "wait" || !strings.Contains(wrong.Problem, want) {
			t.Errorf("%v, want the field wait, and %q", err, want)
		}
	}
}
