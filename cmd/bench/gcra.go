package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

// gcraScript is a token bucket in Redis: the rule of actor/limit, and the same answer. A bucket is one number, its TAT.
//
// Lua's numbers are floating point and hold whole numbers up to 2⁵³ exactly. Times count in nanoseconds from a base that
// the caller gives, so everything is exact for 104 days after it, and for limits that fill in less. Redis' own clock tells
// microseconds.
//
//	KEYS[1]  the bucket
//	ARGV     nanoseconds per token, capacity, cost, base in seconds since the epoch, now from base in nanoseconds (empty
//	         under load: then it is the clock's, and a bucket that is full again is forgotten)
//	returns  {allowed, remaining, nanoseconds to wait, nanoseconds until full}
const gcraScript = `
local per, capacity, cost, now = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[5])
local tested = now ~= nil
if not tested then
  local clock = redis.call('TIME')
  now = (tonumber(clock[1]) - tonumber(ARGV[4])) * 1000000000 + tonumber(clock[2]) * 1000
end
local tat = tonumber(redis.call('GET', KEYS[1]) or '')
if not tat or tat < now then
  tat = now
end
local full = now + capacity * per
local after = tat + cost * per
if after > full then
  return {0, math.floor((full - tat) / per), after - full, tat - now}
end
if cost > 0 then
  if tested then
    redis.call('SET', KEYS[1], string.format('%.0f', after))
  else
    redis.call('SET', KEYS[1], string.format('%.0f', after), 'PX', math.ceil((after - now) / 1000000))
  end
end
return {1, math.floor((full - after) / per), 0, after - now}
`

// gcraArgs are the arguments of gcraScript for a rule, but for its now. The error says why the script cannot keep it.
func gcraArgs(r *limit.Rule, cost int64, base time.Time) ([]any, error) {
	per := int64(r.Refill.Per) / r.Refill.Tokens
	if per*r.Refill.Tokens != int64(r.Refill.Per) {
		return nil, fmt.Errorf("refill %s: a token does not take a whole number of nanoseconds, which the script for Redis needs", r.Refill)
	}
	if r.Fill() > 100*24*time.Hour {
		return nil, fmt.Errorf("limit %s: a bucket takes %v to fill, and the script for Redis reckons with 100 days at most", r.Name, r.Fill())
	}
	return []any{per, r.Capacity, cost, base.Unix(), ""}, nil
}

// A gcraStep runs the script on a bucket at a time in nanoseconds from the base, and returns its four numbers.
type gcraStep func(ctx context.Context, key string, args []any) ([]int64, error)

// checkGCRA holds the script against the rule of actor/limit: the same checks at the same times must be decided alike. It
// is done before Redis is measured with it.
func checkGCRA(ctx context.Context, step gcraStep, checks int) error {
	random := rand.New(rand.NewPCG(1, 2))
	base := time.Now().Truncate(time.Second)
	for i, l := range []limit.Limit{
		{Name: "open", Capacity: openCapacity, Refill: limit.Refill{Tokens: 1_000_000_000, Per: time.Second}},
		{Name: "once", Capacity: 1, Refill: limit.Refill{Tokens: 1, Per: 24 * time.Hour}},
		{Name: "some", Capacity: 10, Refill: limit.Refill{Tokens: 4, Per: time.Second}},
	} {
		rule, err := l.Rule()
		if err != nil {
			return err
		}
		key, tat, now := fmt.Sprint("jeton-bench-check-", i), limit.Pos{}, int64(0)
		for made := 0; made < checks && now < 1<<52; made++ {
			// Not in steps that are multiples of anything, and mostly short of what refills a token.
			now += random.Int64N(int64(rule.Fill())/rule.Capacity + 3)
			cost := random.Int64N(min(rule.Capacity, 5) + 1)
			want, after := decide(rule, tat, now, cost)
			tat = after
			args, err := gcraArgs(rule, cost, base)
			if err != nil {
				return err
			}
			args[4] = now
			got, err := step(ctx, key, args)
			if err != nil {
				return fmt.Errorf("the script for Redis: %w", err)
			}
			if len(got) != 4 || [4]int64(got) != want {
				return errors.New("the script for Redis does not decide as jeton does: " +
					fmt.Sprintf("limit %s, cost %d at %d ns: %v, not %v", l.Name, cost, now, got, want))
			}
		}
	}
	return nil
}

// decide is what the script is to say, and the TAT after it.
func decide(rule *limit.Rule, tat limit.Pos, now, cost int64) ([4]int64, limit.Pos) {
	end := rule.End(tat, now, rule.Length(cost))
	after, allowed := rule.Decide(tat, now, cost)
	o := rule.Outcome(after, now, cost, end, allowed)
	want := [4]int64{0, o.Remaining, int64(o.RetryAfter), int64(o.ResetAfter)}
	if allowed {
		want[0] = 1
	}
	return want, after
}
