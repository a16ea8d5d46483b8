package limit_test

import (
	"math"
	"math/big"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/jeton-dev/jeton/actor/limit"
)

// Every decision and all that is said about it is the model's, also at times that go back.
func TestDecideIsTheModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rule := drawRule(t)
		m, tat, now := newModel(rule.Limit), limit.Pos{}, startTime(t)
		for range rapid.IntRange(1, 50).Draw(t, "checks") {
			now = nextTime(t, rule, now, true)
			cost := nextCost(t, rule, m.remaining(now))
			end := rule.End(tat, now, rule.Length(cost))
			next, allowed := rule.Decide(tat, now, cost)
			want := limit.Outcome{Name: "demo", Limit: rule.Capacity, Never: cost > rule.Capacity, Allowed: m.decide(now, cost)}
			want.Remaining = m.remaining(now)
			want.ResetAfter = m.wait(now, m.capacity)
			if !want.Allowed && !want.Never {
				want.RetryAfter = m.wait(now, big.NewRat(cost, 1))
			}
			if got := rule.Outcome(next, now, cost, end, allowed); got != want {
				t.Fatalf("cost %d at %d, bucket at %v: got %+v, the model says %+v", cost, now, tat, got, want)
			}
			if next.Frac >= new(big.Rat).SetFrac64(rule.Refill.Tokens, int64(rule.Refill.Per)).Num().Uint64() {
				t.Fatalf("position %v has a fraction of a nanosecond or more", next)
			}
			tat = next
		}
	})
}

// What an outcome tells the caller is true of Decide itself: Remaining can be had now and one more cannot; after
// RetryAfter the check passes, and a nanosecond earlier it does not; after ResetAfter the bucket is full.
func TestOutcomeIsTight(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rule := drawRule(t)
		tat, now := limit.Pos{}, startTime(t)
		for range rapid.IntRange(1, 50).Draw(t, "checks") {
			now = nextTime(t, rule, now, true)
			cost := nextCost(t, rule, rule.Tokens(tat, now))
			next, allowed := rule.Decide(tat, now, cost)
			o := rule.Outcome(next, now, cost, rule.End(tat, now, rule.Length(cost)), allowed)
			tat = next
			admits := func(after time.Duration, cost int64) bool {
				_, ok := rule.Decide(tat, now+int64(after), cost)
				return ok
			}
			if admits(0, o.Remaining+1) || o.Remaining > 0 && !admits(0, o.Remaining) {
				t.Fatalf("%d is not the greatest cost admitted at %d, bucket at %v", o.Remaining, now, tat)
			}
			if !o.Allowed && !o.Never && (!admits(o.RetryAfter, cost) || o.RetryAfter == 0 || admits(o.RetryAfter-1, cost)) {
				t.Fatalf("%v is not the least wait for a cost of %d at %d, bucket at %v", o.RetryAfter, cost, now, tat)
			}
			full := func(after time.Duration) bool { return !tat.After(limit.At(now + int64(after))) }
			if !full(o.ResetAfter) || o.ResetAfter > 0 && full(o.ResetAfter-1) {
				t.Fatalf("%v is not when the bucket at %v is full, from %d", o.ResetAfter, tat, now)
			}
		}
	})
}

// A bucket whose TAT has passed admits its capacity, to the token, however it is split.
func TestIdleBucketAdmitsItsCapacity(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rule, now := drawRule(t), startTime(t)
		tat := limit.At(rapid.Int64Range(0, now).Draw(t, "tat"))
		left := rule.Capacity
		spend := func(cost int64) {
			next, ok := rule.Decide(tat, now, cost)
			if !ok {
				t.Fatalf("%d of %d denied when %d were left", cost, rule.Capacity, left)
			}
			tat, left = next, left-cost
		}
		for range rapid.IntRange(0, 20).Draw(t, "pieces") {
			if left > 1 {
				spend(rapid.Int64Range(1, left-1).Draw(t, "piece"))
			}
		}
		spend(left)
		if _, ok := rule.Decide(tat, now, 1); ok {
			t.Fatalf("%d tokens and one more admitted at once", rule.Capacity)
		}
	})
}

// An admission is a check that was let through: its cost and its clock reading.
type admission struct{ at, cost int64 }

// withinAllowance asserts the promise on every window [s, e] that begins and ends at an admission, the only ones that
// can break it: the cost of the admissions read in it is at most C + r·(e − s). Not a fraction of a token is given away.
func withinAllowance(t *rapid.T, l limit.Limit, history []admission) {
	sorted := slices.SortedFunc(slices.Values(history), func(a, b admission) int { return int(max(-1, min(1, a.at-b.at))) })
	for i, first := range sorted {
		sum := new(big.Int)
		for j, last := range sorted[i:] {
			sum.Add(sum, big.NewInt(last.cost))
			if i+j+1 < len(sorted) && sorted[i+j+1].at == last.at {
				continue
			}
			if most := allowance(l, last.at-first.at); new(big.Rat).SetInt(sum).Cmp(most) > 0 {
				t.Fatalf("%v admitted in [%d, %d], %s allowed", sum, first.at, last.at, most.FloatString(9))
			}
		}
	}
}

// drawHistory makes checks on a bucket and collects those admitted.
func drawHistory(t *rapid.T, rule *limit.Rule, tat limit.Pos, now int64, back bool) ([]admission, limit.Pos, int64) {
	var history []admission
	for range rapid.IntRange(1, 40).Draw(t, "checks") {
		now = nextTime(t, rule, now, back)
		cost := nextCost(t, rule, rule.Tokens(tat, now))
		next, allowed := rule.Decide(tat, now, cost)
		if tat = next; allowed && cost > 0 {
			history = append(history, admission{at: now, cost: cost})
		}
	}
	return history, tat, now
}

func TestEveryWindowIsWithinItsAllowance(t *testing.T) {
	for name, back := range map[string]bool{"monotone times": false, "times that go back": true} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				rule := drawRule(t)
				history, _, _ := drawHistory(t, rule, limit.Pos{}, startTime(t), back)
				withinAllowance(t, rule.Limit, history)
			})
		})
	}
}

// Carrying a position to another rule loses less than a nanosecond and gains nothing, and from the change on every
// window is within what the new limit allows.
func TestCarryNeverLoosens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before, after := drawRule(t), drawRule(t)
		_, tat, now := drawHistory(t, before, limit.Pos{}, startTime(t), true)
		carried := after.Carry(before, tat)
		moved := new(big.Rat).Sub(lineOf(after.Limit, carried), lineOf(before.Limit, tat))
		if moved.Sign() < 0 || moved.Cmp(big.NewRat(1, 1)) >= 0 || after.Same(before) && moved.Sign() != 0 {
			t.Fatalf("%v of %v is carried to %v of %v, which moves it by %v ns", tat, before.Refill, carried, after.Refill, moved)
		}
		history, _, _ := drawHistory(t, after, carried, now, true)
		withinAllowance(t, after.Limit, history)
	})
}

// A check is admitted only if its span ends within the bucket's bound, whatever the numbers: near the ends of the range
// a decision may be stricter than the exact one, and never looser.
func TestDecideNeverOverflows(t *testing.T) {
	anyTime := rapid.OneOf(
		rapid.Int64(),
		rapid.Int64Range(math.MaxInt64-10, math.MaxInt64),
		rapid.Int64Range(math.MaxInt64-int64(limit.MaxFill)-10, math.MaxInt64),
		rapid.Int64Range(math.MinInt64, math.MinInt64+10),
	)
	rapid.Check(t, func(t *rapid.T) {
		rule := drawRule(t)
		n := new(big.Rat).SetFrac64(rule.Refill.Tokens, int64(rule.Refill.Per)).Num().Uint64()
		tat := limit.Pos{NS: anyTime.Draw(t, "tat"), Frac: rapid.Uint64Range(0, n-1).Draw(t, "frac")}
		now := anyTime.Draw(t, "now")
		cost := nextCost(t, rule, rule.Tokens(tat, now))
		next, allowed := rule.Decide(tat, now, cost)
		from, start := lineOf(rule.Limit, tat), big.NewRat(now, 1)
		if from.Cmp(start) < 0 {
			from = start
		}
		fill := new(big.Rat).Inv(big.NewRat(rule.Refill.Tokens, int64(rule.Refill.Per)))
		end := new(big.Rat).Mul(fill, big.NewRat(cost, 1))
		end.Add(end, from)
		bound := fill.Mul(fill, big.NewRat(rule.Capacity, 1))
		bound.Add(bound, start)
		switch {
		case allowed && end.Cmp(bound) > 0:
			t.Fatalf("admitted a span that ends at %s, %s is the bound", end.FloatString(3), bound.FloatString(3))
		case allowed && cost > 0 && lineOf(rule.Limit, next).Cmp(end) != 0:
			t.Fatalf("the bucket moved to %v, not to %s", next, end.FloatString(3))
		case (!allowed || cost == 0) && next != tat:
			t.Fatalf("the bucket moved from %v to %v for nothing", tat, next)
		case !allowed && end.Cmp(bound) <= 0 && bound.Cmp(big.NewRat(math.MaxInt64-1, 1)) <= 0:
			t.Fatalf("denied a span that ends at %s, %s is the bound", end.FloatString(3), bound.FloatString(3))
		}
	})
}
