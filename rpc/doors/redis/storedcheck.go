package redis

import (
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

var storedNames = names{"name": "limit"}

// storedCheck reads JETON.CHECK key limit [cost], a check of a stored limit.
func storedCheck(_ *session, args [][]byte) (*check, error) {
	if len(args) > 4 {
		return nil, refuse("wrong number of arguments for 'jeton.check' command: it is JETON.CHECK key limit [cost]")
	}
	cost := int64(1)
	if len(args) == 4 {
		var err error
		if cost, err = integerFrom(0, "cost", args[3]); err != nil {
			return nil, err
		}
	}
	return &check{
		request: limit.Request{Key: keyOf(args[1]), Cost: cost, Look: cost == 0, Limits: []limit.Ref{limit.Named(string(args[2]))}},
		names:   storedNames,
		answer:  answerStored,
	}, nil
}

// answerStored writes whether the check was allowed, the limit, what remains, and in milliseconds when to retry and when the bucket is full.
func answerStored(r *reply, d *limit.Decision) {
	o := &d.Limits[0]
	yes, retry := int64(1), milliseconds(o.RetryAfter)
	switch {
	case d.Allowed:
		retry = 0
	case o.Never:
		yes, retry = 0, -1
	default:
		yes = 0
	}
	r.numbers(yes, o.Limit, o.Remaining, retry, milliseconds(o.ResetAfter))
}

// milliseconds is d in milliseconds, rounded up.
func milliseconds(d time.Duration) int64 {
	if whole := d.Truncate(time.Millisecond); whole < d {
		return whole.Milliseconds() + 1
	}
	return d.Milliseconds()
}
