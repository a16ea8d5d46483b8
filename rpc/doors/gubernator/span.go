package gubernator

import (
	"fmt"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/rpc/pb/gubernatorpb"
)

// A span is the duration of an item: so many milliseconds, or a window of the calendar.
type span struct {
	length    time.Duration // of a window of the calendar the longest
	gregorian bool
	per       string // the window of the calendar, if its windows are not equally long
}

const day = 24 * time.Hour

// gregorian are the windows of the calendar by the number that stands in the duration.
var gregorian = [...]span{
	{length: time.Minute, gregorian: true},
	{length: time.Hour, gregorian: true},
	{length: day, gregorian: true, per: "day"},
	{length: 7 * day, gregorian: true, per: "week"},
	{length: 31 * day, gregorian: true, per: "month"},
	{length: 366 * day, gregorian: true, per: "year"},
}

// longest is the longest duration that windows have, in milliseconds.
const longest = int64(limit.MaxFill/2) / int64(time.Millisecond)

// spanOf reads the duration of m. A duration of 0 lasts a millisecond, the least that times are told in. The error is for the answer.
func spanOf(m *gubernatorpb.RateLimitReq) (span, error) {
	d := m.GetDuration()
	if has(m, gubernatorpb.Behavior_DURATION_IS_GREGORIAN) {
		if d < 0 || d >= int64(len(gregorian)) {
			return span{}, invalidError("behavior DURATION_IS_GREGORIAN is set; but `Duration` is not a valid gregorian interval: " +
				"0 means minutes, 1 hours, 2 days, 3 weeks, 4 months and 5 years")
		}
		return gregorian[d], nil
	}
	switch {
	case d < 0:
		return span{}, invalidError(fmt.Sprintf("field 'duration' cannot be negative: %d; give milliseconds", d))
	case d > longest:
		return span{}, invalidError(fmt.Sprintf("field 'duration' is too long: %d; give milliseconds, at most %d", d, longest))
	}
	return span{length: time.Duration(max(d, 1)) * time.Millisecond}, nil
}

// has says whether m has that behavior.
func has(m *gubernatorpb.RateLimitReq, flag gubernatorpb.Behavior) bool {
	return m.GetBehavior()&flag != 0
}

// An invalidError is what is wrong with an item: it can never be decided.
type invalidError string

func (e invalidError) Error() string { return string(e) }
