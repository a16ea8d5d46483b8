package actor

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/jeton-dev/jeton/actor/clock"
	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/storage"
	"github.com/jeton-dev/jeton/storage/register"
)

// TestPanic has an actor panic: its callers get an error, those of other keys notice nothing, and the key works again.
func TestPanic(t *testing.T) {
	var (
		bad atomic.Bool
		log bytes.Buffer
	)
	reg := prometheus.NewRegistry()
	s := start(t, Config{
		Replicas: []Replica{open(t, storage.Config{})},
		Metrics:  reg,
		Logger:   slog.New(slog.NewTextHandler(&log, nil)),
		Shards:   1,
		beforeStep: func(key string) {
			if key == "bad" && bad.Load() {
				panic("a bug")
			}
		},
		IdleAfter: time.Hour,
	})
	ctx := t.Context()
	decide(t, s, spend("bad", 3, "demo"))
	receipt := proof(t, s, spend("bad", 1, "demo"))
	bad.Store(true)
	for what, call := range map[string]func() error{
		"check":   func() error { _, err := s.Check(ctx, spend("bad", 1, "demo")); return err },
		"batch":   func() error { return s.CheckBatch(ctx, []limit.Request{spend("bad", 1, "demo")})[0].Err },
		"reset":   func() error { return s.Reset(ctx, "bad", limit.Named("demo")) },
		"inspect": func() error { _, err := s.Inspect(ctx, "bad", limit.Named("demo"), ""); return err },
	} {
		if err := call(); !errors.Is(err, ErrInternal) {
			t.Errorf("%s: %v, want an internal error", what, err)
		}
		if got := remaining(t, s, "good", "demo"); got != 10 {
			t.Errorf("%s: another key has %d of 10", what, got)
		}
	}
	bad.Store(false)
	if got := takeBack(t, s, "bad", receipt); got[0] {
		t.Error("an actor that was forgotten took back a receipt")
	}
	decide(t, s, spend("bad", 0, "demo"))
	bad.Store(true)
	if _, err := s.Return(ctx, "bad", []limit.Receipt{receipt}); !errors.Is(err, ErrInternal) {
		t.Errorf("return: %v, want an internal error", err)
	}
	bad.Store(false)
	if got := drain(t, s, "bad", "demo"); got != 6 {
		t.Errorf("%d were admitted after 3 + 1 of 10, want 6", got)
	}
	if got := count(t, reg, "jeton_actor_panics_total"); got != 5 {
		t.Errorf("%v panics counted, want 5", got)
	}
	s.Close()
	if text := log.String(); !strings.Contains(text, "a bug") || !strings.Contains(text, "key=#") || strings.Contains(text, "key=bad") || !strings.Contains(text, "goroutine") {
		t.Errorf("the log has not the panic, its key and its stack: %q", text)
	}
}

// TestPanicWhileWaiting has an actor panic on which much waits: everyone is answered once.
func TestPanicWhileWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var bad atomic.Bool
		g, now := shutFor("bad")
		s := start(t, Config{Replicas: []Replica{g}, Now: now, Shards: 1, beforeStep: func(key string) {
			if key == "bad" && bad.Load() {
				panic("a bug")
			}
		}})
		ctx, cancel := context.WithCancel(t.Context())
		gone := ask(ctx, s, spend("bad", 1, "demo"))
		answers := []<-chan result{
			ask(t.Context(), s, named("one", spend("bad", 1, "demo"))),
			ask(t.Context(), s, named("one", spend("bad", 1, "demo"))),
			ask(t.Context(), s, named("one", spend("bad", 1, "demo"))),
			ask(t.Context(), s, spend("bad", 1, "slow", "demo")),
		}
		resets := make(chan error, 1)
		go func() { resets <- s.Reset(t.Context(), "bad", limit.Named("demo")) }()
		synctest.Wait()
		cancel()
		settled(t, gone)
		for _, a := range answers {
			pending(t, a)
		}
		bad.Store(true)
		if a := settled(t, ask(t.Context(), s, spend("bad", 1, "demo"))); !errors.Is(a.err, ErrInternal) {
			t.Errorf("the check that panicked: %+v", a)
		}
		for _, a := range answers {
			if a := settled(t, a); !errors.Is(a.err, ErrInternal) {
				t.Errorf("one that waited: %+v", a)
			}
		}
		if err := <-resets; !errors.Is(err, ErrInternal) {
			t.Errorf("the reset that waited: %v", err)
		}
		bad.Store(false)
		g.open() // late answers, to an actor that is no more
		synctest.Wait()
		if got := drain(t, s, "bad", "demo"); got > 10 || got < 8 {
			t.Errorf("%d of 10 were admitted, want all but what was reserved for the forgotten actor", got)
		}
		if again := decide(t, s, named("one", spend("bad", 0, "demo"))); !again.Allowed {
			t.Errorf("an id whose request failed was remembered: %+v", again)
		}
	})
}

// TestPanicHalfway has a step panic that has answered one check already: that answer stands.
func TestPanicHalfway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, now := shutFor("bad")
		s := start(t, Config{Replicas: []Replica{g}, Now: now, Shards: 1})
		number, bad := s.owners[1].NextSeq, false
		s.owners[1].NextSeq = func() uint64 {
			if bad {
				panic("a bug")
			}
			return number()
		}
		first := ask(t.Context(), s, named("one", spend("bad", 1, "demo")))
		pending(t, first)
		again := ask(t.Context(), s, named("one", spend("bad", 1, "demo")))
		second := ask(t.Context(), s, spend("bad", 1, "demo"))
		pending(t, second)
		bad = true // the answer admits the first check, then the second one needs a reservation
		g.open()
		for _, a := range []<-chan result{first, again} {
			if a := settled(t, a); a.err != nil || !a.Allowed {
				t.Errorf("admitted before the panic: %+v", a)
			}
		}
		if a := settled(t, second); !errors.Is(a.err, ErrInternal) {
			t.Errorf("after the panic: %+v", a)
		}
		bad = false
		if got := drain(t, s, "bad", "demo"); got != 9 {
			t.Errorf("%d of 10 were admitted afterwards, want 9", got)
		}
	})
}

// TestPanickingRule brings a rule into a shard that cannot be decided by.
func TestPanickingRule(t *testing.T) {
	s := start(t, Config{})
	decide(t, s, spend("a", 4, "demo"))
	err := s.ask(t.Context(), &mail{kind: check, key: "a", rules: []*limit.Rule{{}}})
	if !errors.Is(err, ErrInternal) {
		t.Errorf("got %v, want an internal error", err)
	}
	if got := drain(t, s, "a", "demo"); got != 6 {
		t.Errorf("%d were admitted afterwards, want 6", got)
	}
}

// TestPanicAnywhere lets the actor of one key panic in turn at every place where the test can make it: everyone is
// answered, once, and never more is admitted than there is.
func TestPanicAnywhere(t *testing.T) {
	places := panicAt(t, -1)
	if places < 20 {
		t.Fatalf("only %d places", places)
	}
	for place := range places {
		panicAt(t, place)
	}
}

// panicAt runs a story of which something panics when that many places have been passed, and says how many there are.
func panicAt(t *testing.T, place int) (passed int) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var at atomic.Int64
		pass := func() {
			if at.Add(1)-1 == int64(place) {
				panic("a bug")
			}
		}
		now := clock.New().Now
		regs := newRegisters(now)
		s := start(t, Config{
			Now: now, Shards: 1, Replicas: []Replica{slow{regs, 2 * time.Millisecond}},
			beforeStep: func(string) { pass() },
		})
		seq, random := s.owners[1].NextSeq, s.owners[1].Rand
		s.owners[1].NextSeq = func() uint64 { pass(); return seq() }
		s.owners[1].Rand = func(n int64) int64 { pass(); return random(n) }
		regs.byBucket[bucketID{"bad", "demo"}] = register.Register{H: now() + int64(time.Hour/10)} // 1 of 10 is gone

		rs := []limit.Request{
			spend("bad", 1, "demo"), named("one", spend("bad", 2, "demo")), named("one", spend("bad", 2, "demo")),
			spend("bad", 11, "demo"), spend("bad", 1, "slow", "demo"), named("two", spend("bad", 3, "demo", "fast")),
			named("two", spend("bad", 1, "demo")), spend("bad", 9, "demo"), spend("bad", 1, "demo"),
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		results := make([]limit.Result, len(rs)+1)
		c := s.newBundle(ctx, len(results), results)
		sh := s.shards[0]
		for i := range rs {
			m := &c.mail[i]
			m.check(&rs[i])
			if err := m.resolve(s.cfg.Limits(), rs[i].Limits, nil); err != nil {
				t.Fatal(err)
			}
			sh.push(m)
			if i%3 == 0 {
				<-time.After(time.Millisecond)
			}
		}
		last := &c.mail[len(rs)]
		last.kind, last.key, last.hash = reset, "bad", ring.Hash("bad")
		if err := last.resolve(s.cfg.Limits(), []limit.Ref{limit.Named("fast")}, nil); err != nil {
			t.Fatal(err)
		}
		sh.push(last)
		<-time.After(2 * time.Second)
		synctest.Wait()

		if got := c.open.Load(); got != 0 {
			t.Errorf("place %d: %d answers are missing (or too many, if negative)", place, got)
		}
		spent, internal := int64(0), 0
		for i, r := range results {
			if errors.Is(r.Err, ErrInternal) {
				internal++
			} else if r.Err != nil && i != 6 { // which bears the id of another question
				t.Errorf("place %d: mail %d: %v", place, i, r.Err)
			}
			if r.Decision.Allowed && (i != 2 || results[1].Err != nil) { // which repeats the one before
				spent += c.mail[i].cost
			}
		}
		if place < 0 && internal > 0 {
			t.Errorf("%d internal errors without a panic", internal)
		}
		passed = int(at.Swap(1 << 40)) // nothing panics from now on
		if left := drain(t, s, "bad", "demo"); spent+left > 9 || place < 0 && spent+left != 9 {
			t.Errorf("place %d: %d were admitted and then %d of 9", place, spent, left)
		}
	})
	return passed
}
