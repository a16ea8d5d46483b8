package lease_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/lease"
	"github.com/jeton-dev/jeton/actor/limit"
)

const ms = int64(time.Millisecond)

// A hand is an edge's share whose owner gives what is asked for, a round trip later.
type hand struct {
	*lease.Share

	t     *testing.T
	rule  *limit.Rule
	now   int64
	trip  int64
	home  int64 // up to where the owner has passed down line
	stock int64 // how many tokens it has left to give
	due   int64 // when the answer comes; 0 for none
	ask   lease.Ask
	asked int
}

func newHand(t *testing.T, capacity int64, refill limit.Refill) *hand {
	t.Helper()
	rule, err := limit.Limit{Name: "l", Capacity: capacity, Refill: refill}.Rule()
	if err != nil {
		t.Fatal(err)
	}
	return &hand{Share: lease.NewShare(rule), t: t, rule: rule, now: start, trip: 2 * ms, stock: 1 << 40}
}

func (h *hand) check() lease.Verdict {
	_, v, ask := h.Check(h.now, 1)
	if ask.Number != 0 {
		if h.due != 0 {
			h.t.Fatal("it asks while it asks")
		}
		h.ask, h.due = ask, h.now+h.trip
		h.asked++
	}
	return v
}

// pass lets time pass, and answers come.
func (h *hand) pass(ns int64) {
	h.now += ns
	if h.due == 0 || h.now < h.due {
		return
	}
	a := lease.Answer{Number: h.ask.Number, Sent: h.due - h.trip, Now: h.due, Outcome: limit.Outcome{Name: "l"}, Random: 0.5}
	if h.stock >= h.ask.Tokens {
		h.stock -= h.ask.Tokens
		length := h.rule.Length(h.ask.Tokens).Ceil()
		from := max(h.home, a.Sent+h.ask.Life-length)
		h.home = from + length
		a.Lease = &limit.Lease{Receipt: limit.Receipt{Limit: "l", Span: limit.Span{Start: from, End: h.home}}, Until: h.home, Now: a.Sent}
	}
	h.due = 0
	h.Answered(a, 250*ms)
}

// An edge that spends steadily decides nearly everything by itself, and asks about once in the life of a lease.
func TestShareOfASteadyEdge(t *testing.T) {
	for _, c := range []struct{ perSecond, seconds, asks, elsewhere int64 }{{20, 20, 16, 3}, {100, 20, 16, 6}, {5000, 20, 18, 300}} {
		h := newHand(t, 100_000, limit.Refill{Tokens: 10_000, Per: time.Second})
		var here, elsewhere, waits int64
		for range c.perSecond * c.seconds {
			switch h.check() {
			case lease.Spent:
				here++
			case lease.Waits:
				waits++
			case lease.Elsewhere, lease.Denied:
				elsewhere++
			}
			h.pass(int64(time.Second) / c.perSecond)
		}
		if int64(h.asked) > c.asks || elsewhere > c.elsewhere {
			t.Errorf("%d a second: %d asks, at most %d; %d elsewhere, at most %d; %d here, %d waited", c.perSecond, h.asked, c.asks, elsewhere, c.elsewhere, here, waits)
		}
	}
}

// Who asks seldom is decided about by the owner: a lease would be one message as well.
func TestShareOfAnIdleEdge(t *testing.T) {
	h := newHand(t, 100, limit.Refill{Tokens: 100, Per: time.Minute})
	for range 20 {
		if v := h.check(); v != lease.Elsewhere {
			t.Errorf("the verdict is %v", v)
		}
		h.pass(3 * second)
	}
	if h.asked > 0 {
		t.Errorf("%d leases were asked for", h.asked)
	}
	if !h.Idle(h.now + 6*second) {
		t.Error("it is not idle")
	}
}

// While a lease is on its way, as many checks wait as it can serve; the others are decided by the owner.
func TestShareWaits(t *testing.T) {
	h := newHand(t, 100_000, limit.Refill{Tokens: 10_000, Per: time.Second})
	var verdicts []lease.Verdict
	for range 8 {
		verdicts = append(verdicts, h.check())
	}
	want := []lease.Verdict{lease.Elsewhere, lease.Waits, lease.Waits, lease.Waits, lease.Waits, lease.Elsewhere, lease.Elsewhere, lease.Elsewhere}
	if !slices.Equal(verdicts, want) {
		t.Errorf("%v, want %v", verdicts, want)
	}
	h.pass(h.trip)
	for range 4 {
		if _, ok := h.Again(h.now, 1); !ok {
			t.Error("what was asked for does not serve who waited")
		}
	}
	if v := h.check(); v != lease.Waits || h.ask.Tokens < 15 {
		t.Errorf("%v, and %d tokens are asked for", v, h.ask.Tokens)
	}
}

// An edge that gets nothing asks again after a pause that doubles, up to a second, and is spread.
func TestSharePauses(t *testing.T) {
	h := newHand(t, 100_000, limit.Refill{Tokens: 10_000, Per: time.Second})
	h.stock = 0
	for range 10 * 1000 / 5 {
		h.check()
		h.pass(5 * ms)
	}
	if h.asked < 9 || h.asked > 16 {
		t.Errorf("it asked %d times in ten seconds", h.asked)
	}
	h.stock = 1 << 40
	for range 2 * 1000 / 5 {
		h.check()
		h.pass(5 * ms)
	}
	if h.Left(h.now) == 0 {
		t.Error("it has nothing two seconds after there is something")
	}
}

// What is not needed any more is given back from the end, and twice what may be needed is kept.
func TestShareGivesBack(t *testing.T) {
	h := newHand(t, 100_000, limit.Refill{Tokens: 10_000, Per: time.Second})
	h.home = start + 5*second // others have taken as much
	for range 2000 {
		h.check()
		h.pass(ms)
	}
	if tails := h.Surplus(h.now); len(tails) > 0 {
		t.Errorf("gives back %d tails while it spends", len(tails))
	}
	left := h.Left(h.now)
	h.pass(2 * second)
	tails := h.Surplus(h.now)
	kept := h.Left(h.now)
	if len(tails) == 0 || kept == 0 || kept > left*9/10 {
		t.Errorf("two seconds later, of %d %d are kept, and %d tails given back", left, kept, len(tails))
	}
	for range 10 {
		h.pass(second)
		tails = append(tails, h.Surplus(h.now)...)
	}
	if h.Left(h.now) > 1 {
		t.Errorf("%d are left after ten seconds", h.Left(h.now))
	}
}

// A lease of an owner whose clock may be too far off is not taken.
func TestShareComparesClocks(t *testing.T) {
	for what, c := range map[string]struct {
		owner int64 // its clock, from when the ask was sent
		took  bool
	}{"between": {1, true}, "ahead": {250, true}, "too far ahead": {251, false}, "behind": {-240, true}, "too far behind": {-241, false}} {
		h := newHand(t, 1000, limit.Refill{Tokens: 100, Per: time.Second})
		h.check()
		h.check()
		h.check()
		l := &limit.Lease{Receipt: limit.Receipt{Limit: "l", Span: limit.Span{Start: start + second, End: start + 2*second}}, Until: start + 2*second, Now: start + c.owner*ms}
		if !h.Answered(lease.Answer{Number: h.ask.Number, Sent: start, Now: start + 10*ms, Lease: l}, 250*ms) {
			t.Fatalf("%s: the answer is not taken in", what)
		}
		if got := h.Left(start+10*ms) > 0; got != c.took {
			t.Errorf("%s: the lease is taken is %v", what, got)
		}
	}
}

// Whatever edges do, each token that is given is spent once at most.
func TestShareSpendsNothingTwice(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for range 200 {
		h := newHand(t, 1+random.Int64N(1000), limit.Refill{Tokens: 1 + random.Int64N(100), Per: time.Duration(1 + random.Int64N(int64(time.Second)))})
		given, spent := h.stock, int64(0)
		for range 300 {
			cost := 1 + random.Int64N(3)
			piece, v, ask := h.Check(h.now, cost)
			if ask.Number != 0 {
				h.ask, h.due = ask, h.now+h.trip
			}
			if v == lease.Spent {
				if piece.Span.Start < h.now || piece.Span.End > h.home {
					t.Fatalf("seed %d: spent %+v at %d of line up to %d", seed, piece.Span, h.now, h.home)
				}
				spent += cost
				if random.IntN(4) == 0 && h.Undo(piece, h.now) {
					spent -= cost
				}
			}
			if random.IntN(20) == 0 {
				h.Surplus(h.now)
			}
			h.pass(random.Int64N(50 * ms))
		}
		if given -= h.stock; spent > given {
			t.Fatalf("seed %d: spent %d of %d", seed, spent, given)
		}
	}
}

func BenchmarkShare(b *testing.B) {
	rule, err := limit.Limit{Name: "l", Capacity: 1 << 40, Refill: limit.Refill{Tokens: 1 << 29, Per: time.Second}}.Rule()
	if err != nil {
		b.Fatal(err)
	}
	s := lease.NewShare(rule)
	now := start
	b.ReportAllocs()
	for b.Loop() {
		now += 300
		_, v, ask := s.Check(now, 1)
		if ask.Number != 0 {
			length := rule.Length(ask.Tokens).Ceil()
			s.Answered(lease.Answer{Number: ask.Number, Sent: now, Now: now, Lease: &limit.Lease{
				Receipt: limit.Receipt{Limit: "l", Span: limit.Span{Start: now + ask.Life, End: now + ask.Life + length}}, Until: now + ask.Life + length, Now: now,
			}}, second)
		}
		if v == lease.Elsewhere && now > start+second {
			b.Fatal("an owner is asked")
		}
	}
}
