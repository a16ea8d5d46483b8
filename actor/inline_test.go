package actor

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jeton-dev/jeton/actor/clock"
	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/storage/register"
)

// TestInventedLimits has one key checked under thousands of names that its caller makes up. The actor must not keep a
// bucket for each, and the registers must.
func TestInventedLimits(t *testing.T) {
	const names = 3000
	s := start(t, Config{Replicas: []Replica{newRegisters(clock.New().Now)}, IdleAfter: time.Hour})
	ask := func(i int) limit.Decision {
		return decide(t, s, limit.Request{Key: "k", Cost: 1, Limits: []limit.Ref{limit.Inline(limit.Limit{
			Name: fmt.Sprint("n", i), Capacity: 1, Refill: limit.Refill{Tokens: 1, Per: time.Hour},
		})}})
	}
	for i := range names {
		if d := ask(i); !d.Allowed {
			t.Fatalf("the first check of %d: %+v", i, d)
		}
	}
	kept := 0
	count := func(_ *shard, a *actor) { kept = len(a.owner.Views(0)) }
	if err := s.look(t.Context(), "k", count); err != nil {
		t.Fatal(err)
	}
	if kept > names/10 {
		t.Errorf("the actor keeps %d buckets of %d", kept, names)
	}
	for _, i := range []int{0, names / 2, names - 1} {
		if d := ask(i); d.Allowed {
			t.Errorf("the second check of %d is allowed", i)
		}
	}
}

// While checks of a key wait, callers cannot make it hold ever more buckets by inventing limits.
func TestInventedLimitsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, now := shutFor("k")
		s := start(t, Config{Replicas: []Replica{g}, Now: now})
		var waiting []<-chan result
		for i := range 2 * maxInline {
			rs := limit.Request{Key: "k", Cost: 1, Limits: []limit.Ref{limit.Inline(limit.Limit{
				Name: "l" + strconv.Itoa(i), Capacity: 1, Refill: limit.Refill{Tokens: 1, Per: time.Hour},
			})}}
			waiting = append(waiting, ask(t.Context(), s, rs))
			synctest.Wait()
		}
		refused := 0
		g.open()
		for _, w := range waiting {
			if got := settled(t, w); errors.Is(got.err, limit.ErrOverloaded) {
				refused++
			} else if got.err != nil || !got.Allowed {
				t.Errorf("%+v", got)
			}
		}
		if refused < maxInline/2 || refused > maxInline+1 {
			t.Errorf("%d of %d were turned away, want about %d", refused, 2*maxInline, maxInline)
		}
		if got := drain(t, s, "k", "demo"); got != 10 {
			t.Errorf("%d were admitted under a stored limit, want 10", got)
		}
	})
}

// How long a register of an invented limit is kept is the caller's choice, up to a bound. Stored limits have none but their own.
func TestHowSlowAnInventedLimitMayBe(t *testing.T) {
	doc, err := limit.ParseDocument([]byte("limits: {slow: {capacity: 10, refill: 1/20000h}}"))
	if err != nil {
		t.Fatal(err)
	}
	for most, fits := range map[time.Duration]time.Duration{0: DefaultInlineFill, time.Hour: time.Hour} {
		s := start(t, Config{
			Replicas: []Replica{newRegisters(clock.New().Now)}, InlineFill: most, Limits: func() *limit.Document { return doc },
		})
		for _, tt := range []struct {
			fill time.Duration
			ok   bool
		}{{fits, true}, {fits + 1, false}, {limit.MaxFill, false}} {
			ref := limit.Inline(limit.Limit{Name: "burst", Capacity: 1, Refill: limit.Refill{Tokens: 1, Per: tt.fill}})
			r := limit.Request{Key: "k", Cost: 1, Limits: []limit.Ref{limit.Named("slow"), ref}}
			_, checked := s.Check(t.Context(), r)
			batched := s.CheckBatch(t.Context(), []limit.Request{r})[0].Err
			reset := s.Reset(t.Context(), "k", ref)
			for _, err := range []error{checked, batched, reset} {
				fe, refused := errors.AsType[*limit.FieldError](err)
				if refused == tt.ok || !refused && err != nil {
					t.Errorf("to fill in %v: %v, taken must be %v", tt.fill, err, tt.ok)
				}
				if refused && (fe.Field != "limits.burst.refill" || !strings.Contains(fe.Problem, "raise --inline-fill")) {
					t.Errorf("%v does not name the field and what mends it", err)
				}
			}
		}
	}
}

// When replicas have no room for more invented limits, who invents one is told so at once, and stored limits of the same key go
// on.
func TestNoRoomForInventedLimits(t *testing.T) {
	registers := newRegisters(clock.New().Now)
	full := fullFor{registers}
	for name, replicas := range map[string][]Replica{"one": {full}, "all": {full, full, full}, "most": {full, registers, full}} {
		t.Run(name, func(t *testing.T) {
			s := start(t, Config{Replicas: replicas})
			invented := limit.Request{Key: "k", Cost: 1, Limits: []limit.Ref{limit.Named("demo"), limit.Inline(limit.Limit{
				Name: "burst", Capacity: 10, Refill: limit.Refill{Tokens: 1, Per: time.Hour},
			})}}
			for range 3 {
				if d, err := s.Check(t.Context(), invented); !errors.Is(err, limit.ErrOverloaded) || !strings.Contains(err.Error(), "--inline-registers") {
					t.Errorf("%+v, %v", d, err)
				}
			}
			if got := drain(t, s, "k"+name, "demo"); got != 10 {
				t.Errorf("%d were admitted under a stored limit, want 10", got)
			}
		})
	}
	s := start(t, Config{Replicas: []Replica{registers, full, registers}})
	d := decide(t, s, limit.Request{Key: "other", Cost: 1, Limits: []limit.Ref{limit.Inline(limit.Limit{
		Name: "burst", Capacity: 10, Refill: limit.Refill{Tokens: 1, Per: time.Hour},
	})}})
	if !d.Allowed {
		t.Errorf("where a majority has room: %+v", d)
	}
}

// fullFor is a replica without room for invented limits.
type fullFor struct{ Replica }

func (f fullFor) Reserve(rs []register.Reservation, done func([]register.Answer, error)) {
	f.Replica.Reserve(rs, func(answers []register.Answer, err error) {
		for i := range answers {
			if rs[i].Inline {
				answers[i] = register.Answer{Verdict: register.Full, Epoch: rs[i].Epoch}
			}
		}
		done(answers, err)
	})
}

// TestInventedLimitsStayFew has a key whose invented limits are not idle, though no check waits: there are receipts of them, or
// line that was reserved ahead. The key has no more of them than there may be, and is served.
func TestInventedLimitsStayFew(t *testing.T) {
	s := start(t, Config{Replicas: []Replica{newRegisters(clock.New().Now)}, IdleAfter: time.Hour})
	ask := func(name string, receipt bool) (limit.Decision, error) {
		r := inline("k", 1, name, 10, "10/1h")
		r.Receipt = receipt
		return s.Check(t.Context(), r)
	}
	for i := range 20 * maxInline {
		if d, err := ask("n"+strconv.Itoa(i), true); err != nil || !d.Allowed {
			t.Fatalf("the first check of %d: %+v, %v", i, d, err)
		}
	}
	kept := 0
	count := func(_ *shard, a *actor) { kept = a.owner.Buckets() }
	if err := s.look(t.Context(), "k", count); err != nil {
		t.Fatal(err)
	}
	if kept > maxInline {
		t.Errorf("the actor keeps %d buckets, want at most %d", kept, maxInline)
	}
	for i, want := range []int64{8, 7} {
		if d, err := ask("n0", false); err != nil || d.Limits[0].Remaining != want {
			t.Errorf("the first limit, whose receipts are forgotten, %d: %+v, %v", i, d, err)
		}
	}
}
