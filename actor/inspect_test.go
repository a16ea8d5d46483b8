package actor

import (
	"errors"
	"maps"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jeton-dev/jeton/actor/clock"
	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/ring"
)

// inspect looks at a bucket of the key "a".
func inspect(tb testing.TB, s *System, ref limit.Ref) limit.Inspection {
	tb.Helper()
	in, err := s.Inspect(tb.Context(), "a", ref, "")
	if err != nil {
		tb.Fatal(err)
	}
	return in
}

// TestInspect looks at a bucket all through its life: before, awake, with a credit, asleep, after a restart, full again.
func TestInspect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := clock.New().Now
		regs := newRegisters(now)
		s := start(t, Config{Replicas: []Replica{regs}, Now: now})
		began := now()
		perToken := int64(6 * time.Minute)
		// look checks all that is true at any time, and that looking changes nothing.
		look := func(awake bool, tokens, tat int64) limit.Inspection {
			t.Helper()
			before, writes := regs.snapshot(), regs.writes
			in := inspect(t, s, limit.Named("demo"))
			if in.Key != "a" || in.Rule.Name != "demo" || in.Now != now() || in.Owner != s.ID() || in.Node != "here" ||
				in.Epoch != ring.FirstEpoch || in.Partition != int(ring.PartitionOf(ring.Hash("a"), ring.DefaultPartitions)) {
				t.Errorf("where and when: %+v", in)
			}
			if in.Awake != awake || in.Tokens != tokens || max(in.TAT, began) != began+tat || len(in.Registers) != 1 {
				t.Errorf("got %+v, want awake = %v, %d tokens, TAT %d later", in, awake, tokens, tat)
			}
			if !maps.EqualFunc(before, regs.snapshot(), sameRegister) || regs.writes != writes {
				t.Errorf("looking changed the registers: %v to %v", before, regs.snapshot())
			}
			o := overview(t, s)
			if (o.Awake == 1) != awake {
				t.Errorf("%d actors are awake after looking", o.Awake)
			}
			return in
		}
		if in := look(false, 10, 0); in.Registers[0].Exists {
			t.Errorf("a register of a bucket that was never used: %+v", in)
		}
		decide(t, s, spend("a", 3, "demo"))
		in := look(true, 7, 3*perToken)
		want := []limit.Recent{{At: began, Cost: 3, Allowed: true}}
		if !slices.Equal(in.Recent, want) || in.Registers[0].Reserved != in.TAT || in.Segment.Start != in.Segment.End {
			t.Errorf("after 3 of 10: %+v", in)
		}
		decide(t, s, spend("a", 8, "demo"))
		if in := look(true, 7, 3*perToken); len(in.Recent) != 2 || in.Recent[1].Allowed || in.Recent[1].Cost != 8 {
			t.Errorf("after a denial: %+v", in)
		}
		pass(time.Minute)
		look(false, 7, 3*perToken)
		s = start(t, Config{Replicas: []Replica{regs}, Now: now})
		look(false, 7, 3*perToken)
		receipt := proof(t, s, spend("a", 2, "demo"))
		if in := look(true, 5, 5*perToken); in.Credit != 0 {
			t.Errorf("without a credit: %+v", in)
		}
		takeBack(t, s, "a", receipt)
		if in := look(true, 7, 5*perToken); in.Credit != 2*perToken {
			t.Errorf("with a credit of 2 tokens: %+v", in)
		}
		pass(time.Hour)
		look(false, 10, 5*perToken)
	})
}

// TestInspectInline looks at limits that are not stored.
func TestInspectInline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, Config{})
		r := inline("a", 3, "burst", 5, "1/h")
		if _, err := s.Inspect(t.Context(), "a", limit.Named("burst"), ""); !errors.Is(err, limit.ErrUnknownLimit) {
			t.Errorf("a limit that no request has defined: %v", err)
		}
		decide(t, s, r)
		if in := inspect(t, s, limit.Named("burst")); in.Tokens != 2 || in.Rule.Capacity != 5 {
			t.Errorf("by its name, while it is awake: %+v", in)
		}
		pass(5 * time.Second)
		if _, err := s.Inspect(t.Context(), "a", limit.Named("burst"), ""); !errors.Is(err, limit.ErrUnknownLimit) {
			t.Errorf("by its name, when it is asleep: %v", err)
		}
		if in := inspect(t, s, r.Limits[0]); in.Tokens != 2 || in.Awake {
			t.Errorf("by its definition, when it is asleep: %+v", in)
		}
		_, err := s.Inspect(t.Context(), "a", inline("a", 1, "demo", 1, "1/s").Limits[0], "")
		if fe, ok := errors.AsType[*limit.FieldError](err); !ok || fe.Field != "limits.demo" {
			t.Errorf("a stored limit, defined: %v", err)
		}
	})
}

// TestInspectChanged looks at a bucket whose limit was replaced since its last check.
func TestInspectChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var current atomic.Pointer[limit.Document]
		current.Store(document(t, "limits: {x: {capacity: 7, refill: 7/3s}}"))
		s := start(t, Config{Limits: current.Load})
		r := proof(t, s, spend("a", 1, "x")) // up to a place that is no whole number of nanoseconds
		decide(t, s, spend("a", 1, "x"))
		takeBack(t, s, "a", r)
		for _, text := range []string{"{capacity: 9, refill: 7/3s}", "{capacity: 7, refill: 1/s}", "{capacity: 1, refill: 11/9s}"} {
			current.Store(document(t, "limits: {x: "+text+"}"))
			in := inspect(t, s, limit.Named("x"))
			if peek := remaining(t, s, "a", "x"); in.Tokens != peek {
				t.Errorf("%s: %d tokens, and a peek says %d", text, in.Tokens, peek)
			}
		}
	})
}

// TestInspectWaits looks at buckets whose checks may wait: an operator is told when the next one would begin, whether the key's actor is
// awake or not, and whatever has become of the limit since.
func TestInspectWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := clock.New().Now
		var current atomic.Pointer[limit.Document]
		current.Store(document(t, withWaits))
		cfg := Config{Replicas: []Replica{newRegisters(now)}, Now: now, Limits: current.Load}
		s, other := start(t, cfg), start(t, cfg)
		begins := func(what string, s *System, want time.Duration) {
			t.Helper()
			switch in := inspect(t, s, limit.Named("queue")); {
			case want < 0 && in.Begins != 0:
				t.Errorf("%s: a check begins in %v, want none", what, time.Duration(in.Begins-in.Now))
			case want >= 0 && time.Duration(in.Begins-in.Now) != want:
				t.Errorf("%s: a check begins in %v, want %v", what, time.Duration(in.Begins-in.Now), want)
			}
		}
		begins("never checked", s, 0)
		var places []limit.Receipt
		for i := range 6 {
			begins("in turn", s, time.Duration(i)*time.Second)
			places = append(places, decide(t, s, waiting(5*time.Second, "queue")).Receipts...)
		}
		begins("too long", s, -1)
		begins("by the registers", other, -1)
		pass(500 * time.Millisecond)
		begins("later", s, -1)
		takeBack(t, s, "a", places[2])
		pass(1)
		begins("a place that was given up", s, 1500*time.Millisecond-1)
		pass(500*time.Millisecond - 1)
		begins("by the registers, later", other, 5*time.Second)
		for text, want := range map[string]time.Duration{
			"wait: 500ms, capacity: 1, refill: 1/s": -1, "wait: 10s, capacity: 1, refill: 1/s": time.Second, "capacity: 1, refill: 1/s": -1,
			"wait: 10s, capacity: 3, refill: 1/s": 3 * time.Second, "wait: 1s, capacity: 3, refill: 1/s": -1,
		} {
			current.Store(document(t, "limits: {queue: {"+text+"}}"))
			begins(text, s, want)
		}
	})
}

// Where an override denies or lets pass in the place of the bucket, no check waits for it.
func TestInspectWaitsOfOverrides(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var current atomic.Pointer[limit.Document]
		current.Store(document(t, withWaits))
		s := start(t, Config{Limits: current.Load})
		for range 3 {
			decide(t, s, waiting(5*time.Second, "queue"))
		}
		for verdict, want := range map[string]time.Duration{"allow": 0, "deny": -1, "capacity: 1, refill": 3 * time.Second} {
			says := verdict + ": true"
			if want > 0 {
				says = verdict + ": 1/s"
			}
			current.Store(document(t, "limits: {queue: {capacity: 1, refill: 1/s, wait: 5s, overrides: [{key: a, "+says+"}]}}"))
			in := inspect(t, s, limit.Named("queue"))
			if got := time.Duration(in.Begins - in.Now); want < 0 && in.Begins != 0 || want >= 0 && (got > want || got < want-100*time.Millisecond) {
				t.Errorf("%s: a check begins in %v, want %v", says, got, want)
			}
		}
	})
}

// No check waits for a bucket that a penalty closes.
func TestInspectWaitsOfAClosedBucket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := clock.New().Now
		cfg := Config{Replicas: []Replica{newRegisters(now)}, Now: now, Limits: fixed(document(t,
			"limits: {login: {capacity: 1, refill: 1/s, wait: 5s, penalty_after: 2, penalty_for: 1m, penalty_max: 1h}}"))}
		s, other := start(t, cfg), start(t, cfg)
		for range 2 {
			decide(t, s, spend("a", 1, "login"))
		}
		if in := inspect(t, s, limit.Named("login")); in.Closed > 0 || in.Begins != in.Now+int64(time.Second) {
			t.Errorf("before: %+v", in)
		}
		decide(t, s, spend("a", 1, "login"))
		for _, s := range []*System{s, other} {
			if in := inspect(t, s, limit.Named("login")); in.Closed == 0 || in.Begins != 0 {
				t.Errorf("closed: %+v", in)
			}
		}
	})
}

func TestInspectWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, now := shutFor("a")
		s := start(t, Config{Replicas: []Replica{g}, Now: now})
		waiting := ask(t.Context(), s, spend("a", 3, "demo"))
		attached := ask(t.Context(), s, named("one", spend("a", 3, "demo")))
		synctest.Wait()
		if in := inspect(t, s, limit.Named("demo")); !in.Awake || in.Waiting != 2 {
			t.Errorf("got %+v, want 2 that wait", in)
		}
		g.open()
		settled(t, waiting)
		settled(t, attached)
		if in := inspect(t, s, limit.Named("demo")); in.Waiting != 0 || in.Tokens != 4 {
			t.Errorf("got %+v, want no check that waits and 4 tokens", in)
		}
	})
}

// An actor that woke while no majority answered knows nothing of the bucket, and says so.
func TestInspectWithoutAMajority(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, c := quorum(t, 3, Config{})
		drain(t, s, "a", "demo")
		<-time.After(time.Minute) // until the actor is forgotten
		for _, p := range c.peers[1:] {
			p.trouble(true, false)
		}
		if _, err := s.Check(t.Context(), spend("a", 1, "demo")); !errors.Is(err, limit.ErrUnavailable) {
			t.Fatal(err)
		}
		if in, err := s.Inspect(t.Context(), "a", limit.Named("demo"), ""); !errors.Is(err, limit.ErrUnavailable) {
			t.Errorf("a bucket that is used up is shown with %d tokens, %v", in.Tokens, err)
		}
	})
}
