package plain

import (
	"fmt"
	"math"
	"strings"
	"time"
)

const (
	day      = 24 * time.Hour
	manyDays = 4 * day // from here on, days only
)

// Duration formats a duration for people: about three digits, rounded up.
func Duration(d time.Duration) string {
	for _, step := range []struct{ from, unit time.Duration }{
		{manyDays, time.Hour},
		{10 * time.Second, time.Second},
		{10 * time.Millisecond, time.Millisecond},
		{10 * time.Microsecond, time.Microsecond},
	} {
		if d >= step.from {
			d = roundUp(d, step.unit)
			break
		}
	}
	if d >= manyDays {
		if d%day == 0 {
			return fmt.Sprintf("%dd", d/day)
		}
		return fmt.Sprintf("%dd%dh", d/day, d%day/time.Hour)
	}
	text := d.String()
	if d >= time.Minute && d%time.Minute == 0 {
		text = strings.TrimSuffix(text, "0s")
	}
	if d >= time.Hour && d%time.Hour == 0 {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

func roundUp(d, unit time.Duration) time.Duration {
	if whole := d.Truncate(unit); whole == d || whole > math.MaxInt64-unit {
		return whole
	}
	return d.Truncate(unit) + unit
}
