package descriptors

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

// Numbers are how much a rule admits, as a file or a request says it.
type Numbers struct {
	Requests   uint32 // per Multiplier units; 0 admits nothing
	Unit       Unit
	Multiplier uint32 // 0 means 1
	Bucket     bool   // a token bucket of that many tokens, refilled within that time; otherwise a fixed window
}

// longest is how long a bucket may take to fill by a limit that a request defines: nodes keep its register for so long.
const longest = 366 * day

// Period is the time in which Requests are admitted: at most 366 days. Its error is a *limit.FieldError.
func (n Numbers) Period() (time.Duration, error) {
	length := n.Unit.Length()
	if length == 0 {
		return 0, &limit.FieldError{Field: "unit", Problem: "is missing or unknown: use second, minute, hour, day, week, month or year"}
	}
	times := int64(cmp.Or(n.Multiplier, 1))
	if times > int64(longest/length) {
		return 0, &limit.FieldError{Field: "unit_multiplier", Problem: fmt.Sprintf("%d is too large: at most %d with the unit %s",
			times, longest/length, n.Unit)}
	}
	return time.Duration(times * int64(length)), nil
}

// Limit is the inline limit of n, which admits something. Its name says the period and the algorithm and not how many requests: another
// number changes the limit of the same bucket, another period is another bucket. Its error is a *limit.FieldError that names the field
// of a rate_limit.
func (n Numbers) Limit() (limit.Limit, error) {
	period, err := n.Period()
	if err != nil {
		return limit.Limit{}, err
	}
	l := limit.Limit{Name: n.limitName(), Capacity: int64(n.Requests)}
	if n.Bucket {
		l.Algorithm, l.Refill = limit.TokenBucket, limit.Refill{Tokens: int64(n.Requests), Per: period}
	} else {
		l.Algorithm, l.Window = limit.FixedWindow, period
	}
	if _, err = l.Rule(); err != nil {
		problem := err.Error()
		if wrong, ok := errors.AsType[*limit.FieldError](err); ok {
			problem = wrong.Problem
		}
		return limit.Limit{}, &limit.FieldError{Field: "requests_per_unit", Problem: problem}
	}
	return l, nil
}

// limitName is rls-minute, rls-30second or rls-minute-bucket.
func (n Numbers) limitName() string {
	name := "rls-"
	if n.Multiplier > 1 {
		name += strconv.FormatUint(uint64(n.Multiplier), 10)
	}
	name += n.Unit.String()
	if n.Bucket {
		name += "-bucket"
	}
	return name
}
