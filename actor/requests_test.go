package actor

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/jeton-dev/jeton/actor/clock"
	"github.com/jeton-dev/jeton/actor/limit"
)

// named gives a request an id.
func named(id string, r limit.Request) limit.Request {
	r.ID = id
	return r
}

// rememberedOf is how many requests the actor of a key remembers; no check may run meanwhile.
func rememberedOf(tb testing.TB, s *System, key string) (n int) {
	tb.Helper()
	err := s.look(tb.Context(), key, func(_ *shard, a *actor) {
		if a != nil && a.requests != nil {
			n = len(a.requests.byID)
		}
	})
	if err != nil {
		tb.Fatal(err)
	}
	return n
}

func TestRepeatedRequest(t *testing.T) {
	s := start(t, Config{})
	for _, r := range []limit.Request{spend("a", 4, "demo"), spend("a", 4, "demo"), spend("a", 4, "demo"), spend("a", 99, "demo")} {
		r.Receipt = true
		r.ID = strconv.FormatInt(remaining(t, s, "a", "demo")*r.Cost, 10)
		first := decide(t, s, r)
		for range 3 {
			if again := decide(t, s, r); !reflect.DeepEqual(again, first) {
				t.Errorf("%+v: again %+v, at first %+v", r, again, first)
			}
		}
	}
	if got := remaining(t, s, "a", "demo"); got != 2 {
		t.Errorf("%d of 10 remain, want 2", got)
	}
	if d := decide(t, s, named("40", spend("b", 4, "demo"))); !d.Allowed || remaining(t, s, "b", "demo") != 6 {
		t.Errorf("the id of another key counted: %+v", d)
	}
}

// TestRepeatedIsCopied changes a decision that was handed out: no other caller may see that.
func TestRepeatedIsCopied(t *testing.T) {
	s := start(t, Config{})
	r := named("one", spend("a", 1, "demo"))
	r.Receipt = true
	for range 3 {
		d := decide(t, s, r)
		if d.Limits[0].Name != "demo" || d.Receipts[0].Limit != "demo" {
			t.Errorf("got what another caller made of it: %+v", d)
		}
		d.Limits[0].Name, d.Receipts[0].Limit = "mine", "mine"
	}
	s = start(t, Config{Limits: fixed(document(t, withHolds))})
	r = named("two", spend("a", 1, "line"))
	r.Hold = time.Minute
	for range 3 {
		d := decide(t, s, r)
		if d.Hold.Limits[0].Limit != "line" {
			t.Errorf("got what another caller made of it: %+v", d.Hold)
		}
		d.Hold.Limits[0].Limit = "mine"
	}
}

func TestReusedID(t *testing.T) {
	s := start(t, Config{})
	stored := named("one", spend("a", 1, "demo", "slow"))
	own := named("two", inline("a", 1, "burst", 5, "1/h"))
	decide(t, s, stored)
	decide(t, s, own)
	receipt := stored
	receipt.Receipt = true
	for what, r := range map[string]limit.Request{
		"another cost":       named("one", spend("a", 2, "demo", "slow")),
		"fewer limits":       named("one", spend("a", 1, "demo")),
		"other limits":       named("one", spend("a", 1, "demo", "fast")),
		"another order":      named("one", spend("a", 1, "slow", "demo")),
		"a receipt":          receipt,
		"another definition": named("two", inline("a", 1, "burst", 6, "1/h")),
	} {
		_, err := s.Check(t.Context(), r)
		if fe, ok := errors.AsType[*limit.FieldError](err); !ok || fe.Field != "request_id" {
			t.Errorf("%s under the same id: got %v, want an error of the field request_id", what, err)
		}
	}
	if got := remaining(t, s, "a", "demo"); got != 9 {
		t.Errorf("%d of 10 remain, want 9", got)
	}
}

// TestRepeatedWhileWaiting repeats a request that has no answer yet.
func TestRepeatedWhileWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, now := shutFor("a")
		s := start(t, Config{Replicas: []Replica{g}, Now: now})
		r := named("one", spend("a", 4, "demo"))
		var answers []<-chan result
		for range 5 {
			answers = append(answers, ask(t.Context(), s, r))
		}
		pending(t, answers[0])
		other := settled(t, ask(t.Context(), s, named("one", spend("a", 5, "demo"))))
		if fe, ok := errors.AsType[*limit.FieldError](other.err); !ok || fe.Field != "request_id" {
			t.Errorf("another cost under the same id: %v", other.err)
		}
		if o := overview(t, s); o.Waiting != 5 {
			t.Errorf("%d wait, want 5", o.Waiting)
		}
		g.open()
		first := settled(t, answers[0])
		for _, a := range answers[1:] {
			if again := settled(t, a); again.err != nil || !reflect.DeepEqual(again.Decision, first.Decision) {
				t.Errorf("got %+v and %+v", first, again)
			}
		}
		if got := remaining(t, s, "a", "demo"); got != 6 {
			t.Errorf("%d of 10 remain, want 6", got)
		}
	})
}

// TestRepeatedFails has the first request fail: those who wait for it fail alike, and the next one is decided anew.
func TestRepeatedFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := clock.New().Now
		f := &faulty{Replica: newRegisters(now), fail: 1, after: time.Millisecond}
		s := start(t, Config{Replicas: []Replica{f}, Now: now})
		r := named("one", spend("a", 4, "demo"))
		first, second := ask(t.Context(), s, r), ask(t.Context(), s, r)
		pass(time.Millisecond)
		for _, a := range []<-chan result{first, second} {
			if a := settled(t, a); !errors.Is(a.err, limit.ErrUnavailable) {
				t.Errorf("got %+v, want unavailable", a)
			}
		}
		again := ask(t.Context(), s, r)
		pass(time.Second)
		if a := settled(t, again); a.err != nil || !a.Allowed {
			t.Errorf("afterwards: %+v", a)
		}
	})
}

// TestRepeatedOutlives has the first request run out of time while a repetition has time left.
func TestRepeatedOutlives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, now := shutFor("a")
		s := start(t, Config{Replicas: []Replica{g}, Now: now})
		r := named("one", spend("a", 4, "demo"))
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		first := ask(short, s, r)
		synctest.Wait()
		second, third := ask(t.Context(), s, r), ask(t.Context(), s, r)
		pass(time.Second)
		if a := settled(t, first); !errors.Is(a.err, context.DeadlineExceeded) {
			t.Errorf("the first: %+v", a)
		}
		pending(t, second)
		g.open()
		if a, b := settled(t, second), settled(t, third); !a.Allowed || !reflect.DeepEqual(a.Decision, b.Decision) {
			t.Errorf("the others: %+v and %+v", a, b)
		}
		if got := remaining(t, s, "a", "demo"); got != 6 {
			t.Errorf("%d of 10 remain, want 6: a request was charged more than once", got)
		}
	})
}

// TestRememberedFor says how long an answer is remembered, and that its actor stays awake for it and no longer.
func TestRememberedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, Config{})
		r := named("one", spend("a", 1, "demo"))
		first := decide(t, s, r)
		pass(30999 * time.Millisecond)
		if o := overview(t, s); o.Awake != 1 {
			t.Fatal("the actor was forgotten with the answers that it should remember")
		}
		if again := decide(t, s, r); !reflect.DeepEqual(again, first) {
			t.Errorf("after 30.999 s: %+v", again)
		}
		pass(2 * time.Millisecond)
		if again := decide(t, s, r); reflect.DeepEqual(again, first) {
			t.Errorf("still remembered after 31.001 s: %+v", again)
		}
		if got := remaining(t, s, "a", "demo"); got != 8 {
			t.Errorf("%d of 10 remain, want 8", got)
		}
		pass(34 * time.Second)
		if o := overview(t, s); o.Awake != 0 {
			t.Errorf("%d actors are awake after the last answer was forgotten", o.Awake)
		}
	})
}

// TestRememberedBound says how many answers are remembered: the newest, whatever waits before them.
func TestRememberedBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, now := shutFor("a")
		s := start(t, Config{Replicas: []Replica{g}, Now: now})
		stuck := ask(t.Context(), s, named("stuck", spend("a", 1, "demo")))
		pending(t, stuck)
		for i := range 3 * maxRequests {
			decide(t, s, named(strconv.Itoa(i), spend("a", 11, "demo"))) // denied at once: it can never pass
		}
		if got := rememberedOf(t, s, "a"); got != maxRequests+1 {
			t.Errorf("%d requests are remembered, want %d and the one that waits", got, maxRequests)
		}
		g.open()
		first := settled(t, stuck)
		if again := decide(t, s, named("stuck", spend("a", 1, "demo"))); !reflect.DeepEqual(again, first.Decision) {
			t.Errorf("the newest answer is not remembered: %+v, %+v", first, again)
		}
		decide(t, s, named("0", spend("a", 1, "demo"))) // another question under an id that has been forgotten
	})
}

// TestRepeatedBound says that repetitions which wait count as what waits.
func TestRepeatedBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, now := shutFor("a")
		reg := prometheus.NewRegistry()
		s := start(t, Config{Replicas: []Replica{g}, Now: now, Mailbox: 4, Metrics: reg})
		var waiting []<-chan result
		for range 4 {
			waiting = append(waiting, ask(t.Context(), s, named("one", spend("a", 1, "demo"))))
			synctest.Wait()
		}
		for range 3 {
			if a := settled(t, ask(t.Context(), s, named("one", spend("a", 1, "demo")))); !errors.Is(a.err, limit.ErrOverloaded) {
				t.Errorf("the fifth of 4: %+v", a)
			}
		}
		if got := count(t, reg, "jeton_mailbox_rejections_total"); got != 3 {
			t.Errorf("%v rejections counted, want 3", got)
		}
		g.open()
		for _, a := range waiting {
			if a := settled(t, a); a.err != nil || !a.Allowed {
				t.Errorf("one that waited: %+v", a)
			}
		}
		if got := remaining(t, s, "a", "demo"); got != 9 {
			t.Errorf("%d of 10 remain, want 9", got)
		}
	})
}

// TestDenialIsRepeatedUntilItsTimeIsUp has a caller come back with the same id when the denial said so: that is no
// repetition, or a bucket that fills in a moment would deny for as long as ids are remembered.
func TestDenialIsRepeatedUntilItsTimeIsUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, Config{})
		spendAll := limit.Request{Key: "k", Cost: 5, Limits: []limit.Ref{limit.Inline(limit.Limit{
			Name: "quick", Capacity: 5, Refill: limit.Refill{Tokens: 5, Per: time.Second},
		})}}
		decide(t, s, spendAll)
		denied := decide(t, s, named("id", spendAll))
		wait := denied.Limits[0].RetryAfter
		if denied.Allowed || wait <= 0 {
			t.Fatalf("%+v, want a denial", denied)
		}
		pass(wait / 2)
		if again := decide(t, s, named("id", spendAll)); !reflect.DeepEqual(again, denied) {
			t.Errorf("before its time: %+v, want the same denial", again)
		}
		pass(wait)
		if again := decide(t, s, named("id", spendAll)); !again.Allowed {
			t.Errorf("after its time: %+v, want it decided anew", again)
		}
	})
}

// Of a hold that was settled for less than it held, the rest may be another's. The request that got it is decided anew if it is repeated: told the
// same hold, it would work without being charged.
func TestSettlementForgetsTheRequest(t *testing.T) {
	const limits = `
limits:
  line: {capacity: 10, refill: 10/10m, hold: 1m}
  window: {algorithm: fixed-window, limit: 10, window: 1h, hold: 1m}
`
	for _, name := range []string{"line", "window"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				now := clock.New().Now
				s := start(t, Config{Replicas: []Replica{newRegisters(now)}, Now: now, Limits: fixed(document(t, limits))})
				r := named("x", limit.Request{Key: "k", Cost: 10, Hold: time.Minute, Limits: []limit.Ref{limit.Named(name)}})
				first := decide(t, s, r)
				pass(100 * time.Millisecond)
				if _, err := s.Settle(t.Context(), limit.Settlement{Hold: *first.Hold, Used: 0}); err != nil {
					t.Fatal(err)
				}
				second := decide(t, s, r)
				if !second.Allowed || second.Hold.Limits[0].ID == first.Hold.Limits[0].ID {
					t.Fatalf("it is told what was settled: %+v", second)
				}
				pass(100 * time.Millisecond)
				if got, err := s.Settle(t.Context(), limit.Settlement{Hold: *second.Hold, Used: 10}); err != nil || got.Limits[0].Charged != 10 {
					t.Errorf("10 are used and charged is %+v, %v", got.Limits, err)
				}
			})
		})
	}
}

// A hold whose tokens are free when it expires has expired, and others have them: its request is decided anew if it is repeated. One that is
// charged then is told again.
func TestRepeatedWhenTheHoldIsOver(t *testing.T) {
	const limits = `
limits:
  line: {capacity: 10, refill: 10/10m, hold: 1m, on_expiry: %[1]s}
  window: {algorithm: fixed-window, limit: 10, window: 1h, hold: 1m, on_expiry: %[1]s}
`
	for _, expiry := range []limit.Expiry{limit.Free, limit.Charge} {
		for _, name := range []string{"line", "window"} {
			t.Run(name+", "+string(expiry), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					now := clock.New().Now
					s := start(t, Config{Replicas: []Replica{newRegisters(now)}, Now: now, Limits: fixed(document(t, fmt.Sprintf(limits, expiry)))})
					r := named("x", limit.Request{Key: "k", Cost: 10, Hold: 2 * time.Second, Limits: []limit.Ref{limit.Named(name)}})
					first := decide(t, s, r)
					pass(time.Second)
					if again := decide(t, s, r); !reflect.DeepEqual(again, first) {
						t.Errorf("in time it is told %+v, at first %+v", again, first)
					}
					pass(2 * time.Second)
					another := r
					another.ID = "y"
					if d := decide(t, s, another); d.Allowed != (expiry == limit.Free) {
						t.Fatalf("another is told %+v", d)
					}
					if again := decide(t, s, r); again.Allowed != (expiry == limit.Charge) {
						t.Errorf("once it is over, it is told %+v", again)
					}
				})
			})
		}
	}
}

// A hold that was lengthened is told again for as long as it lasts now.
func TestRepeatedWhileTheHoldWasLengthened(t *testing.T) {
	const limits = `
limits:
  line: {capacity: 20, refill: 20/10m, hold: 1m, on_expiry: free}
  window: {algorithm: fixed-window, limit: 20, window: 1h, hold: 1m, on_expiry: free}
`
	for _, name := range []string{"line", "window"} {
		synctest.Test(t, func(t *testing.T) {
			now := clock.New().Now
			s := start(t, Config{Replicas: []Replica{newRegisters(now)}, Now: now, Limits: fixed(document(t, limits))})
			r := named("x", limit.Request{Key: "k", Cost: 10, Hold: 2 * time.Second, Limits: []limit.Ref{limit.Named(name)}})
			first := decide(t, s, r)
			pass(time.Second)
			if _, err := s.Settle(t.Context(), limit.Settlement{Hold: *first.Hold, Open: true, For: 20 * time.Second}); err != nil {
				t.Fatal(err)
			}
			pass(2 * time.Second)
			if again := decide(t, s, r); !reflect.DeepEqual(again, first) {
				t.Errorf("%s: while it lasts it is told %+v, at first %+v", name, again, first)
			}
			pass(20 * time.Second)
			if again := decide(t, s, r); !again.Allowed || again.Hold.Limits[0].ID == first.Hold.Limits[0].ID {
				t.Errorf("%s: once it is over it is told %+v", name, again)
			}
		})
	}
}

// TestReturnForgetsTheRequest has a caller return what it was admitted and ask again with the same id: told once more what
// was answered, it would have the work for nothing.
func TestReturnForgetsTheRequest(t *testing.T) {
	s := start(t, Config{})
	other := named("other", spend("a", 1, "demo", "slow"))
	other.Receipt = true
	decide(t, s, other)
	for i := range 10 {
		r := named(strconv.Itoa(i), spend("a", 1, "demo", "slow"))
		r.Receipt = true
		first := decide(t, s, r)
		if first.Allowed {
			if got := takeBack(t, s, "a", first.Receipts[i%2:]...); !got[0] { // one of its receipts, or both
				t.Fatalf("%d was not taken back", i)
			}
		}
		for range 5 {
			decide(t, s, r)
		}
	}
	if left := remaining(t, s, "a", "demo"); left > 0 {
		t.Errorf("%d of 10 remain: what was asked again after its return was not charged", left)
	}
	if before := remaining(t, s, "a", "demo"); !decide(t, s, other).Allowed || remaining(t, s, "a", "demo") != before {
		t.Error("another request was forgotten")
	}
}
