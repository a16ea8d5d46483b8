package redis

import (
	"context"
	"math"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

// A rateCall is one of the scripts of redis_rate: burst, rate, period in seconds, and how many.
type rateCall struct {
	key                []byte
	burst, rate, count int64
	period             time.Duration
}

func readRateCall(key []byte, args [][]byte) (c rateCall, err error) {
	c.key = key
	if len(args) != 4 {
		return c, refuse("this script has the arguments burst, rate, period and count: there are %d", len(args))
	}
	if c.burst, err = integerFrom(1, "burst", args[0]); err != nil {
		return c, err
	}
	if c.rate, err = integerFrom(1, "rate", args[1]); err != nil {
		return c, err
	}
	seconds, err := decimal("period", args[2])
	if err != nil {
		return c, err
	}
	if c.period, err = duration("period", seconds, time.Second); err != nil {
		return c, err
	}
	c.count, err = integerFrom(0, "count", args[3])
	return c, err
}

var rateNames = names{"capacity": "burst", "refill": "rate per period", "cost": "count"}

// check asks for count of the tokens.
func (c *rateCall) check(s *session, count int64) *check {
	return asking(c.key, s.defined.define(ofRate, c.burst, c.rate, c.period, 0), count, rateNames)
}

// retry is after how many seconds count tokens are there, by when the bucket is full, to the nanosecond. The script counts on beyond a whole
// bucket.
func (c *rateCall) retry(reset time.Duration, count int64) float64 {
	seconds := reset.Seconds() + float64(count-c.burst)*c.period.Seconds()/float64(c.rate)
	return math.Round(seconds*1e9) / 1e9
}

// answerRate writes what both scripts answer: how many were allowed, how many remain, when to retry, and when the bucket is full. Times are
// seconds, as Lua writes them.
func answerRate(r *reply, count, remaining int64, retry float64, reset time.Duration) {
	r.array(4)
	r.number(count)
	r.number(remaining)
	r.text(luaNumber(retry))
	r.text(luaNumber(reset.Seconds()))
}

// rateAllow is the script that allows count, or none.
func rateAllow(s *session, key []byte, args [][]byte) (*check, error) {
	call, err := readRateCall(key, args)
	if err != nil {
		return nil, err
	}
	c := call.check(s, call.count)
	c.answer = func(r *reply, d *limit.Decision) {
		o := &d.Limits[0]
		switch {
		case c.never:
			answerRate(r, 0, 0, call.retry(o.ResetAfter, call.count), o.ResetAfter)
		case d.Allowed || call.count == 0:
			answerRate(r, call.count, o.Remaining, -1, o.ResetAfter)
		default:
			answerRate(r, 0, 0, o.RetryAfter.Seconds(), o.ResetAfter)
		}
	}
	return c, nil
}

// rateTries is how many checks rateAllowAtMost makes at most: others may take meanwhile what one has seen. The last one is of a single token.
const rateTries = 4

// rateAllowAtMost is the script that allows as many as there are, up to count.
func rateAllowAtMost(ctx context.Context, s *session, name string, key []byte, args [][]byte) error {
	call, err := readRateCall(key, args)
	if err != nil {
		return err
	}
	count := min(call.count, call.burst)
	for try := 1; ; try++ {
		d, err := s.decide(ctx, name, call.check(s, count))
		if err != nil {
			return err
		}
		o := &d.Limits[0]
		switch {
		case count == 0 && o.Remaining == 0:
			answerRate(&s.out, 0, 0, call.retry(o.ResetAfter, 1), o.ResetAfter)
			return nil
		case d.Allowed || count == 0:
			answerRate(&s.out, count, o.Remaining, -1, o.ResetAfter)
			return nil
		case o.Remaining == 0 || count == 1:
			answerRate(&s.out, 0, 0, call.retry(o.ResetAfter, 1), o.ResetAfter)
			return nil
		}
		count = min(count, o.Remaining)
		if try == rateTries-1 {
			count = 1
		}
	}
}
