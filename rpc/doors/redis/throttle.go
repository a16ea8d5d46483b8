package redis

import (
	"math"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

var throttleNames = names{"capacity": "max_burst", "refill": "count per period", "cost": "quantity"}

// throttle reads CL.THROTTLE key max_burst count period [quantity].
func throttle(s *session, args [][]byte) (*check, error) {
	if len(args) > 6 {
		return nil, refuse("wrong number of arguments for 'cl.throttle' command: it is CL.THROTTLE key max_burst count period [quantity]")
	}
	burst, err := integerFrom(0, "max_burst", args[2])
	if err != nil {
		return nil, err
	}
	if burst == math.MaxInt64 {
		return nil, refuse("max_burst: %d is too large: the limit is one more", burst)
	}
	count, err := integerFrom(1, "count", args[3])
	if err != nil {
		return nil, err
	}
	seconds, err := integerFrom(1, "period", args[4])
	if err != nil {
		return nil, err
	}
	if seconds > math.MaxInt64/int64(time.Second) {
		return nil, refuse("period: %d seconds are too long: at most 292 years", seconds)
	}
	quantity := int64(1)
	if len(args) == 6 {
		if quantity, err = integerFrom(0, "quantity", args[5]); err != nil {
			return nil, err
		}
	}
	c := asking(args[1], s.defined.define(ofCell, burst+1, count, time.Duration(seconds)*time.Second, 0), quantity, throttleNames)
	c.answer = func(r *reply, d *limit.Decision) {
		o := &d.Limits[0]
		limited, retry := int64(0), int64(-1)
		switch {
		case c.never:
			limited = 1
		case !d.Allowed && quantity > 0:
			limited, retry = 1, cellSeconds(o.RetryAfter)
		}
		r.numbers(limited, o.Limit, o.Remaining, retry, cellSeconds(o.ResetAfter))
	}
	return c, nil
}

// cellSeconds is d in seconds as redis-cell rounds: up, but for what is less than a millisecond, which it leaves out.
func cellSeconds(d time.Duration) int64 {
	seconds := int64(d / time.Second)
	if d%time.Second >= time.Millisecond {
		seconds++
	}
	return seconds
}
