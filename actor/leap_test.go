package actor

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jeton-dev/jeton/actor/clock"
	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/storage/register"
)

// TestClockPutForward has a check arrive at a machine that was suspended for ten seconds, while its clock still tells the
// time from before. Its reservation gets to the replica only once the clock was put forward, when nothing is wrong any
// more but the time of the check.
func TestClockPutForward(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		node, truth := clock.New(), clock.New()
		truth.Advance(truth.Now() + int64(10*time.Second))
		registers := newRegisters(truth.Now)
		registers.sent = node.Now
		var deliver func()
		slow := replica{look: registers.Look, reserve: func(rs []register.Reservation, done func([]register.Answer, error)) {
			deliver = func() { registers.Reserve(rs, done) }
		}}
		s := start(t, Config{Now: node.Now, Ahead: node.Ahead, Replicas: []Replica{slow}})
		arrived := truth.Now()

		asked := spend("a", 1, "demo")
		asked.Receipt = true
		first := ask(t.Context(), s, asked)
		pending(t, first)
		node.Advance(truth.Now())
		deliver()
		if got := settled(t, first); !errors.Is(got.err, limit.ErrUnavailable) {
			t.Errorf("a check with a time from before it was made: %+v, want unavailable", got)
		}

		second := ask(t.Context(), s, asked)
		pending(t, second)
		deliver()
		pass(10 * time.Millisecond) // what the first one had reserved is lost: there is a second try
		deliver()
		got := settled(t, second)
		if got.err != nil || !got.Allowed || got.Receipts[0].Start < arrived {
			t.Errorf("the next one: %+v, want a span that begins after %d", got, arrived)
		}
	})
}
