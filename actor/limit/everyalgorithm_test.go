package limit_test

import (
	"math/big"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/actor/limit/limittest"
)

// drawOf draws a rule of the algorithm.
func drawOf(t *rapid.T, algorithm string) *limit.Rule {
	capacity := rapid.OneOf(rapid.Int64Range(1, 20), rapid.Int64Range(1, 10_000)).Draw(t, "capacity")
	if slices.Contains(limit.Fields(algorithm), "per") && rapid.IntRange(0, 2).Draw(t, "of the calendar") == 0 {
		return drawCalendar(t, algorithm, capacity)
	}
	rule, err := limittest.Of(algorithm, "any", capacity, limit.Refill{
		Tokens: rapid.Int64Range(1, 1000).Draw(t, "tokens"),
		Per:    time.Duration(rapid.Int64Range(1000, int64(time.Hour)).Draw(t, "per")),
	}).Rule()
	if err != nil {
		t.Fatal(err)
	}
	return rule
}

// drawCalendar draws a rule of windows of the calendar.
func drawCalendar(t *rapid.T, algorithm string, capacity int64) *limit.Rule {
	per := rapid.SampledFrom([]string{"day", "week", "month", "year"}).Draw(t, "per")
	rule, err := limit.Limit{
		Name: "any", Algorithm: algorithm, Capacity: capacity, Per: per,
		Timezone: rapid.SampledFrom([]string{"", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu"}).Draw(t, "timezone"),
		Anchor: rapid.SampledFrom(map[string][]string{
			"day": {"", "2", "23"}, "week": {"", "sunday"}, "month": {"", "15", "29", "30", "31"}, "year": {"", "04-06", "02-29"},
		}[per]).Draw(t, "anchor"),
	}.Rule()
	if err != nil {
		t.Fatal(err)
	}
	return rule
}

// Owners and replicas rest on what an algorithm says of its line.
func TestEveryAlgorithmKeepsItsContract(t *testing.T) {
	for _, name := range limit.Spending() {
		t.Run(name, rapid.MakeCheck(func(t *rapid.T) {
			r := drawOf(t, name)
			at := rapid.OneOf(rapid.Int64Range(0, 1<<61), rapid.Int64Range(0, 4*r.Reach()).Filter(func(n int64) bool { return n >= 0 })).Draw(t, "t")
			begin, bound := r.Begin(at), r.Bound(at)
			if begin < at || limit.At(begin).After(bound) || bound.Ceil() > at+r.Reach() {
				t.Fatalf("at %d the line begins at %d, and can be spent up to %d, with a reach of %d", at, begin, bound, r.Reach())
			}
			later := at + rapid.Int64Range(0, 3*r.Reach()).Draw(t, "later")
			if r.Begin(later) < begin || bound.After(r.Bound(later)) {
				t.Fatalf("at %d the line is from %d to %d, and at %d from %d to %d", at, begin, bound, later, r.Begin(later), r.Bound(later))
			}
			from := max(begin, bound.NS-rapid.Int64Range(0, r.Reach()).Draw(t, "behind"))
			if lead := r.Lead(); lead <= 0 || r.Bound(from-lead-1).After(limit.At(from)) {
				t.Fatalf("at %d, %d before %d, line behind that can be spent, up to %d", from-lead-1, lead+1, from, r.Bound(from-lead-1))
			}
			if got := r.Tokens(limit.At(begin), at); got != r.Capacity {
				t.Fatalf("a full bucket of %d has %d", r.Capacity, got)
			}
			end := r.Add(bound, r.Length(rapid.Int64Range(0, 2*r.Capacity).Draw(t, "beyond")))
			wait := int64(r.Wait(end, at))
			if end.After(r.Bound(at + wait)) {
				t.Fatalf("a span to %d cannot be spent after the wait of %d", end, wait)
			}
			if wait > 0 && !end.After(r.Bound(at+wait-1)) {
				t.Fatalf("a span to %d can be spent before the wait of %d is over", end, wait)
			}
			if again, err := r.Limit.Rule(); err != nil || *again != *r {
				t.Fatalf("the same limit twice makes other rules: %+v and %+v, %v", r, again, err)
			}
		}))
	}
}

// Sums of the time of day and a few reaches must fit in 64 bits, whatever a limit says.
func TestEveryAlgorithmBoundsItsReach(t *testing.T) {
	for _, name := range limit.Spending() {
		t.Run(name, rapid.MakeCheck(func(t *rapid.T) {
			r, err := limittest.Of(name, "slow", rapid.Int64Range(1, 1<<40).Draw(t, "capacity"), limit.Refill{
				Tokens: rapid.Int64Range(1, 3).Draw(t, "tokens"), Per: time.Duration(rapid.Int64Range(1<<20, 1<<60).Draw(t, "per")),
			}).Rule()
			if err != nil {
				return
			}
			if r.Reach() < 0 || r.Reach() > int64(limit.MaxFill) || r.Fill() > limit.MaxFill {
				t.Fatalf("%s reaches %d ahead, and fills in %d", r.Limit.Refill, r.Reach(), r.Fill())
			}
		}))
	}
}

// No window of time admits more than the envelope, by checks at random.
func TestEveryAlgorithmKeepsItsEnvelope(t *testing.T) {
	for _, name := range limit.Spending() {
		t.Run(name, rapid.MakeCheck(func(t *rapid.T) {
			r := drawOf(t, name)
			envelope := r.Envelope()
			now, tat := rapid.Int64Range(0, 1<<60).Draw(t, "begin"), limit.Pos{}
			start, level := now, new(big.Int) // of what was admitted beyond the refill, in tokens × nanoseconds
			most := new(big.Int).Mul(big.NewInt(envelope.Burst), big.NewInt(int64(envelope.Refill.Per)))
			for range rapid.IntRange(1, 50).Draw(t, "checks") {
				step := rapid.OneOf(rapid.Just(int64(0)), rapid.Int64Range(0, r.Reach()/10+1), rapid.Int64Range(0, 2*r.Reach()+1)).Draw(t, "step")
				now += step
				level.Sub(level, new(big.Int).Mul(big.NewInt(step), big.NewInt(envelope.Refill.Tokens)))
				if level.Sign() < 0 {
					level.SetInt64(0)
				}
				left := r.Tokens(tat, now)
				cost := rapid.OneOf(rapid.Just(left), rapid.Int64Range(1, r.Capacity)).Draw(t, "cost")
				var ok bool
				if tat, ok = r.Decide(tat, now, cost); ok != (cost <= left) {
					t.Fatalf("%d tokens are left, and a cost of %d is admitted: %v", left, cost, ok)
				}
				if ok {
					level.Add(level, new(big.Int).Mul(big.NewInt(cost), big.NewInt(int64(envelope.Refill.Per))))
				}
				if level.Cmp(most) > 0 {
					t.Fatalf("%v after the beginning, %s of %s are admitted beyond the refill", time.Duration(now-start), level, most)
				}
			}
		}))
	}
}

// What callers are told comes true.
func TestEveryAlgorithmTellsWhen(t *testing.T) {
	for _, name := range limit.Spending() {
		t.Run(name, rapid.MakeCheck(func(t *rapid.T) {
			r := drawOf(t, name)
			now, tat := rapid.Int64Range(0, 1<<60).Draw(t, "now"), limit.Pos{}
			tat, _ = r.Decide(tat, now, rapid.Int64Range(0, r.Capacity).Draw(t, "spent"))
			now += rapid.Int64Range(0, r.Reach()).Draw(t, "passed")
			cost := rapid.Int64Range(1, r.Capacity).Draw(t, "cost")
			end := r.End(tat, now, r.Length(cost))
			o := r.Outcome(tat, now, cost, end, !end.After(r.Bound(now)))
			if full := now + int64(o.ResetAfter); r.Tokens(tat, full) != r.Capacity || o.ResetAfter > 0 && r.Tokens(tat, full-1) == r.Capacity {
				t.Fatalf("%+v: that is not when the bucket is full", o)
			}
			if o.Allowed != (o.RetryAfter == 0) || o.RetryAfter > o.ResetAfter {
				t.Fatalf("%+v", o)
			}
			back := now + int64(o.RetryAfter)
			if _, ok := r.Decide(tat, back, cost); !ok {
				t.Fatalf("%+v: then a cost of %d is denied", o, cost)
			}
			if _, ok := r.Decide(tat, back-1, cost); ok && o.RetryAfter > 0 {
				t.Fatalf("%+v: a cost of %d is admitted before", o, cost)
			}
			window := r.Window(o.Remaining, o.ResetAfter)
			if has := r.Tokens(tat, now+int64(window)); window <= 0 && o.Remaining < r.Capacity || o.Remaining == 0 && has == 0 {
				t.Fatalf("%+v: after the window of %v the bucket has %d", o, window, has)
			}
		}))
	}
}
