package limit_test

import (
	"math"
	"math/big"
	"time"

	"pgregory.net/rapid"

	"github.com/jeton-dev/jeton/actor/limit"
)

// latest is the last time that histories reach, in 2116. Even after it there is room on the line for a whole bucket spent
// and another one asked for, so that every decision up to it is exact.
const latest = int64(1<<62 - 2)

// refills are those of every day and of the edges: fast, slow, with a numerator and a denominator that share nothing.
var refills = rapid.OneOf(
	rapid.Custom(func(t *rapid.T) limit.Refill {
		return limit.Refill{
			Tokens: rapid.Int64Range(1, 1000).Draw(t, "tokens"),
			Per: rapid.SampledFrom([]time.Duration{
				time.Millisecond, time.Second, 1500 * time.Millisecond, time.Minute, time.Hour, 24 * time.Hour,
			}).Draw(t, "per"),
		}
	}),
	rapid.SampledFrom([]limit.Refill{
		{Tokens: 700_000_000, Per: time.Second},
		{Tokens: 999_999_937, Per: time.Second}, // a prime
		{Tokens: 1e9, Per: time.Second},
		{Tokens: 1, Per: limit.MaxFill},
		{Tokens: math.MaxInt64 - 1, Per: math.MaxInt64},
		{Tokens: math.MaxInt64, Per: math.MaxInt64},
		{Tokens: 4, Per: math.MaxInt64},
		{Tokens: 1<<61 - 1, Per: 1 << 62},          // a Mersenne prime
		{Tokens: 1<<31 - 1, Per: 1<<61 - 1},        // and two
		{Tokens: 1 << 30, Per: 1_000_000_000_007},  // a power of two below a prime
		{Tokens: 99_999_999_977, Per: 1 << 62},     // a prime below a power of two
		{Tokens: 1<<62 + 1, Per: 1<<63 - 25},       // large and coprime
		{Tokens: 3, Per: 7},                        // thirds of a nanosecond
		{Tokens: 1_000_003, Per: 10 * time.Second}, // a prime
	}),
	rapid.Custom(func(t *rapid.T) limit.Refill {
		per := rapid.Int64Range(1, math.MaxInt64).Draw(t, "per")
		least := 1 + (per-1)/int64(limit.MaxFill) // so that one token does not fill the line
		return limit.Refill{Tokens: rapid.Int64Range(least, per).Draw(t, "tokens"), Per: time.Duration(per)}
	}),
)

// limits have every capacity that their refill permits.
var limits = rapid.Custom(func(t *rapid.T) limit.Limit {
	refill := refills.Draw(t, "refill")
	most := new(big.Int).Mul(big.NewInt(int64(limit.MaxFill)), big.NewInt(refill.Tokens))
	largest := most.Quo(most, big.NewInt(int64(refill.Per))).Int64()
	capacity := rapid.OneOf(
		rapid.Int64Range(1, min(largest, 10)),
		rapid.Int64Range(1, largest),
		rapid.Just(largest),
	).Draw(t, "capacity")
	return limit.Limit{Name: "demo", Capacity: capacity, Refill: refill}
})

func drawRule(t *rapid.T) *limit.Rule {
	rule, err := limits.Draw(t, "limit").Rule()
	if err != nil {
		t.Fatal(err)
	}
	return rule
}

// nextTime is a time that follows t: often so near that the bucket has changed little, sometimes in the past.
func nextTime(t *rapid.T, rule *limit.Rule, now int64, back bool) int64 {
	token := rule.Length(1).Ceil()
	step := rapid.OneOf(
		rapid.Just(int64(0)),
		rapid.Just(int64(1)),
		rapid.Int64Range(0, token),
		rapid.Int64Range(0, rule.Reach()),
		rapid.Int64Range(0, 2*rule.Reach()),
	).Draw(t, "step")
	if back && rapid.Float64Range(0, 1).Draw(t, "back") < 0.3 {
		return max(now-step, 0)
	}
	if step > latest-now {
		return latest
	}
	return now + step
}

// nextCost is a cost worth asking of a bucket in which that many tokens remain.
func nextCost(t *rapid.T, rule *limit.Rule, remaining int64) int64 {
	return rapid.OneOf(
		rapid.Just(int64(0)),
		rapid.Just(int64(1)),
		rapid.Just(remaining),
		rapid.Just(remaining+1),
		rapid.Int64Range(0, rule.Capacity),
		rapid.SampledFrom([]int64{rule.Capacity, rule.Capacity + 1, math.MaxInt64}),
	).Draw(t, "cost")
}

// startTime is a first time: today, or any.
func startTime(t *rapid.T) int64 {
	return rapid.OneOf(rapid.Just(epoch), rapid.Int64Range(0, latest)).Draw(t, "start")
}
