package actor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jeton-dev/jeton/actor/clock"
	"github.com/jeton-dev/jeton/actor/limit"
)

const countingLimits = `
limits:
  streams: {algorithm: concurrency, limit: 1, lease: 1h}
  smooth: {algorithm: sliding-window, limit: 1, window: 1h}
  bucket: {capacity: 1, refill: 1/h}
`

// What is returned long after the last check of a key is free again, under every algorithm.
func TestReturnToAQuietKey(t *testing.T) {
	for _, name := range []string{"streams", "smooth", "bucket"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				now := clock.New().Now
				s := start(t, Config{Replicas: []Replica{newRegisters(now)}, Now: now, Limits: fixed(document(t, countingLimits))})
				r := spend("a", 1, name)
				r.Receipt = true
				d := decide(t, s, r)
				pass(5 * time.Minute)
				if back, err := s.Return(t.Context(), "a", d.Receipts); err != nil || !back[0] {
					t.Errorf("it came back: %v, %v", back, err)
				}
				pass(time.Second)
				if d := decide(t, s, r); !d.Allowed {
					t.Errorf("denied for %v", d.Limits[0].RetryAfter)
				}
			})
		})
	}
}

// An extension under the request id of its check is another request.
func TestExtensionIsNoRepetition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := clock.New().Now
		s := start(t, Config{Replicas: []Replica{newRegisters(now)}, Now: now, Limits: fixed(document(t, countingLimits))})
		r := spend("a", 1, "streams")
		r.Receipt, r.ID = true, "x"
		d := decide(t, s, r)
		pass(20 * time.Second)
		r.Cost, r.Extend = 0, d.Receipts[0].Serial
		var wrong *limit.FieldError
		if longer, err := s.Check(t.Context(), r); !errors.As(err, &wrong) || wrong.Field != "request_id" {
			t.Errorf("it was answered %+v, %v", longer, err)
		}
	})
}

// A permit comes back at a node that never heard of its key, as after the death of the node that gave it: the place is free at once. The
// other node, which had it in mind, takes no harm.
func TestPermitReturnsToAnotherNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := clock.New().Now
		cfg := Config{Replicas: []Replica{newRegisters(now)}, Now: now, Limits: fixed(document(t, countingLimits))}
		s, other := start(t, cfg), start(t, cfg)
		r := spend("a", 1, "streams", "bucket")
		r.Receipt = true
		d := decide(t, s, r)
		if got := takeBack(t, other, "a", d.Receipts...); !slices.Equal(got, []bool{true, false}) {
			t.Fatalf("they came back: %v, want the permit alone", got)
		}
		if got := takeBack(t, s, "a", d.Receipts...); !slices.Equal(got, []bool{false, true}) {
			t.Errorf("where they were given, they came back: %v, want the other receipt alone", got)
		}
		for _, want := range []bool{true, false} {
			if d := decide(t, other, spend("a", 1, "streams")); d.Allowed != want {
				t.Errorf("one place is free: %+v", d)
			}
		}
	})
}

// A key with permits sleeps, and a return wakes it: with the memory for one key, any number of clients may be inside.
func TestKeysWithPermitsSleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := clock.New().Now
		s := start(t, Config{Replicas: []Replica{newRegisters(now)}, Now: now, Limits: fixed(document(t, countingLimits))})
		permits := map[string]limit.Receipt{}
		for i := range 100 {
			key := strconv.Itoa(i)
			permits[key] = proof(t, s, spend(key, 1, "streams"))
		}
		pass(3 * time.Second)
		if n := s.awake(); n != 0 {
			t.Errorf("%d keys are awake", n)
		}
		for key, permit := range permits {
			if got := takeBack(t, s, key, permit); !got[0] {
				t.Fatalf("the permit of %s has not come back", key)
			}
		}
		pass(3 * time.Second)
		if n := s.awake(); n != 0 {
			t.Errorf("after the returns, %d keys are awake", n)
		}
		for key := range permits {
			if d := decide(t, s, spend(key, 1, "streams")); !d.Allowed {
				t.Fatalf("the place of %s is taken", key)
			}
		}
	})
}

// Permits of limits that requests define come back anywhere, too. What is no permit of a limit wakes no key.
func TestPermitsOfInlineLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := clock.New().Now
		cfg := Config{Replicas: []Replica{newRegisters(now)}, Now: now, Limits: fixed(document(t, countingLimits))}
		s, other := start(t, cfg), start(t, cfg)
		r := limit.Request{Key: "a", Receipt: true, Limits: []limit.Ref{limit.Inline(limit.Limit{Name: "mine", Algorithm: limit.Concurrency, Capacity: 1, Lease: time.Minute})}}
		permit := decide(t, s, r).Receipts[0]
		otherLease, stored, line := permit, permit, permit
		otherLease.End += int64(time.Second)
		stored.Limit, line.Limit = "streams", "bucket"
		if got := takeBack(t, other, "a", permit, otherLease, stored, line); !slices.Equal(got, []bool{true, false, false, false}) {
			t.Errorf("they came back: %v, want the first one alone", got)
		}
		if got := takeBack(t, other, "b", stored, line); slices.Contains(got, true) || other.awake() != 1 {
			t.Errorf("they came back: %v, and %d keys are awake", got, other.awake())
		}
		pass(time.Second) // it denies by what it knows for a moment
		if d := decide(t, s, r); !d.Allowed {
			t.Errorf("its place is taken: %+v", d)
		}
		var many []limit.Receipt
		for i := range limit.MaxLimits + 1 {
			permit.Limit = "invented-" + strconv.Itoa(i)
			many = append(many, permit)
		}
		var wrong *limit.FieldError
		if _, err := s.Return(t.Context(), "a", many); !errors.As(err, &wrong) || wrong.Field != "receipts" {
			t.Errorf("permits of %d limits: %v", len(many), err)
		}
	})
}

// A request that is repeated after its permit came back there enters anew.
func TestReturnedPermitsAreForgottenByTheirIDs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := clock.New().Now
		s := start(t, Config{Replicas: []Replica{newRegisters(now)}, Now: now, Limits: fixed(document(t, countingLimits))})
		r := spend("a", 1, "streams")
		r.ID = "x"
		first := proof(t, s, r)
		if got := takeBack(t, s, "a", first); !got[0] {
			t.Fatal("it has not come back")
		}
		if again := proof(t, s, r); again.Serial == first.Serial {
			t.Error("it was answered with the permit that came back")
		}
	})
}

// A request that is repeated when its permit is over is decided anew: somebody else may be inside.
func TestRepeatedWhenItIsOver(t *testing.T) {
	for _, receipt := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			now := clock.New().Now
			doc := document(t, "limits: {streams: {algorithm: concurrency, limit: 1, lease: 5s}}")
			s := start(t, Config{Replicas: []Replica{newRegisters(now)}, Now: now, Limits: fixed(doc)})
			r := spend("a", 1, "streams")
			r.Receipt, r.ID = receipt, "x"
			decide(t, s, r)
			pass(4 * time.Second)
			if again := decide(t, s, r); !again.Allowed {
				t.Errorf("with receipts %v, a repetition in time is denied: %+v", receipt, again)
			}
			pass(2 * time.Second)
			another := r
			another.ID = "y"
			if d := decide(t, s, another); !d.Allowed {
				t.Fatalf("with receipts %v, the place is free: %+v", receipt, d)
			}
			if again := decide(t, s, r); again.Allowed {
				t.Errorf("with receipts %v, two have one place: the repetition is told %+v", receipt, again)
			}
		})
	}
}

// Workers enter and leave at two nodes that do not know of one another, each at another one than it has entered: never are more inside
// than may be, no return is without effect, and in the end all places are free.
func TestPermitsAmongNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const places = 3
		doc := document(t, fmt.Sprintf("limits: {streams: {algorithm: concurrency, limit: %d, lease: 1h}}", places))
		now := clock.New().Now
		cfg := Config{Replicas: []Replica{newRegisters(now)}, Now: now, Limits: fixed(doc)}
		nodes := []*System{start(t, cfg), start(t, cfg)}
		var (
			wait           sync.WaitGroup
			inside, served atomic.Int64
		)
		for i := range 8 {
			wait.Go(func() {
				for j := range 50 {
					r := spend("a", 1, "streams")
					r.Receipt = true
					d, err := nodes[(i+j)%2].Check(t.Context(), r)
					if err != nil {
						t.Error(err)
						return
					}
					if !d.Allowed {
						continue
					}
					served.Add(1)
					if n := inside.Add(1); n > places {
						t.Errorf("%d of %d are inside", n, places)
					}
					inside.Add(-1)
					if back, err := nodes[(i+j+1)%2].Return(t.Context(), "a", d.Receipts); err != nil || !back[0] {
						t.Errorf("it came back: %v, %v", back, err)
					}
				}
			})
		}
		wait.Wait()
		pass(time.Second)
		d := decide(t, nodes[0], spend("a", places, "streams"))
		if !d.Allowed || served.Load() == 0 {
			t.Errorf("after %d have left: %+v", served.Load(), d)
		}
	})
}

// A permit that came back is told to nobody again: neither for the id of the check that took it nor of one that extended it.
func TestReturnForgetsExtensions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := clock.New().Now
		doc := document(t, "limits: {streams: {algorithm: concurrency, limit: 1, lease: 1m}}")
		s := start(t, Config{Replicas: []Replica{newRegisters(now)}, Now: now, Limits: fixed(doc)})
		enter := named("x", spend("a", 1, "streams"))
		enter.Receipt = true
		longer := enter
		longer.ID, longer.Extend, longer.Cost = "longer", decide(t, s, enter).Receipts[0].Serial, 0
		pass(time.Second)
		if back := takeBack(t, s, "a", decide(t, s, longer).Receipts...); !back[0] {
			t.Fatal("it was not inside")
		}
		if d := decide(t, s, named("y", enter)); !d.Allowed {
			t.Fatalf("the place is free: %+v", d)
		}
		for _, r := range []limit.Request{enter, longer} {
			if again := decide(t, s, r); again.Allowed {
				t.Errorf("two have one place: %q is told %+v again", r.ID, again)
			}
		}
	})
}

// A return may be stored after its caller has given up. Whoever returns the permit again was not inside, and is not told later that it is.
func TestReturnInVainIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, now := shutFor("nothing")
		doc := document(t, "limits: {streams: {algorithm: concurrency, limit: 1, lease: 1m}}")
		s := start(t, Config{Replicas: []Replica{g}, Now: now, Limits: fixed(doc)})
		enter := named("x", spend("a", 1, "streams"))
		enter.Receipt = true
		d := decide(t, s, enter)
		pass(time.Second)
		g.mu.Lock()
		g.shut = []string{"a"}
		g.mu.Unlock()
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		if _, err := s.Return(ctx, "a", d.Receipts); err == nil {
			t.Fatal("nobody has stored it")
		}
		g.open()
		pass(time.Second)
		takeBack(t, s, "a", d.Receipts...)
		if d := decide(t, s, named("y", enter)); !d.Allowed {
			t.Fatalf("the place is free: %+v", d)
		}
		if again := decide(t, s, enter); again.Allowed {
			t.Errorf("two have one place: the repetition is told %+v", again)
		}
	})
}
