// Package calendar cuts time into windows that people name: days, weeks, months and years of a time zone, from an anchor on. Its
// zones are embedded, so that all nodes of a release cut alike.
//
// A window begins when the clocks of its zone show its beginning first. Where clocks are put forward over it, it begins at the end of
// the gap. Days of 23 and of 25 hours are one window each.
//
// Start with [New].
package calendar

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/jeton-dev/jeton/internal/spelling"
)

// A Calendar cuts time into windows. The zero value is none. Calendars are equal (==) if they are of the same period, zone and anchor.
type Calendar struct {
	per    string
	anchor anchor
	zone   *zone
}

// New is the calendar of windows of one day, week, month or year each. An empty time zone is UTC. The anchor is an hour of the day (0 to
// 23), a day of the week, a day of the month (1 to 31; in a shorter month the last one), or a date such as 04-06; empty is the first.
// Its errors are *Error.
func New(per, timezone, anchor string) (Calendar, error) {
	c := Calendar{per: known(per)}
	if c.per == "" {
		return Calendar{}, perError(per)
	}
	var err error
	if c.anchor, err = parseAnchor(c.per, anchor); err != nil {
		return Calendar{}, err
	}
	if c.zone, err = zones.find(timezone); err != nil {
		return Calendar{}, err
	}
	return c, nil
}

// known is the constant that equals per, or "".
func known(per string) string {
	for _, p := range pers {
		if p == per {
			return p
		}
	}
	return ""
}

func perError(per string) error {
	problem := "is not a period of the calendar: use day, week, month or year"
	switch strings.TrimSuffix(strings.ToLower(per), "s") {
	case "", "h", "m", "second", "minute", "hour", "min":
		problem += "; for hours and less write window, such as window: 1h"
	default:
		if meant := spelling.Near(strings.ToLower(per), pers); meant != "" {
			problem += fmt.Sprintf(": did you mean %q?", meant)
		}
	}
	return &Error{Field: "per", Value: per, Problem: problem}
}

// Per is the period. Like Timezone and Anchor it is what New was given, in one form for all that mean the same.
func (c Calendar) Per() string { return c.per }

// Timezone is the name of the zone.
func (c Calendar) Timezone() string { return c.zone.name }

// Anchor is where windows begin.
func (c Calendar) Anchor() string { return c.anchor.text(c.per) }

// String is a name that no other calendar has, such as "month/15/Europe/Berlin".
func (c Calendar) String() string { return c.per + "/" + c.Anchor() + "/" + c.Timezone() }

// Bounds of the lengths of windows, in nanoseconds.
const (
	hour    = int64(time.Hour)
	ofDay   = 12 * hour // by how much a day is shorter at most: where clocks are put forward further, it is no window
	ofMore  = 25 * hour // by how much a week and more: a few zones have left out a whole day
	tooLong = 72 * hour // by how much a window is longer at most
)

// Usual is how long a window usually lasts at most, in nanoseconds.
func (c Calendar) Usual() int64 {
	switch c.per {
	case day:
		return 24 * hour
	case week:
		return 7 * 24 * hour
	case month:
		return 31 * 24 * hour
	}
	return 366 * 24 * hour
}

// Shortest is how long each window lasts at least.
func (c Calendar) Shortest() int64 {
	least := c.Usual()
	switch c.per {
	case month:
		least = 28 * 24 * hour
	case year:
		least = 365 * 24 * hour
	}
	if c.zone.fixed {
		return least
	}
	if c.per == day {
		return least - ofDay
	}
	return least - ofMore
}

// Longest is how long each window lasts at most.
func (c Calendar) Longest() int64 {
	if c.zone.fixed {
		return c.Usual()
	}
	return c.Usual() + tooLong
}

// Window is the one that t lies in, from start to before end; all in nanoseconds since the Unix epoch. At the ends of the range of
// time it is cut off.
func (c Calendar) Window(t int64) (start, end int64) {
	slot := &c.zone.recent[(uint(c.anchor.hour)+uint(c.anchor.weekday)+uint(c.anchor.day)+uint(c.anchor.month)*5+uint(len(c.per))*32)%64]
	r := slot.Load()
	if r == nil || t < r.at[0] || t >= r.at[3] || r.anchor != c.anchor || r.per != c.per {
		r = c.around(t)
		slot.Store(r)
	}
	for i := range 3 {
		if t < r.at[i+1] {
			return r.at[i], r.at[i+1]
		}
	}
	return r.at[2], r.at[3]
}

// around is the window that t lies in with those before and behind it.
func (c Calendar) around(t int64) *run {
	seconds := floor(t, int64(time.Second))
	i := c.index(seconds + c.zone.offset(seconds))
	for c.beginning(i+1) <= seconds {
		i++
	}
	for c.beginning(i) > seconds || !c.counts(i) {
		i--
	}
	r := &run{per: c.per, anchor: c.anchor}
	r.at[1] = nanoseconds(c.beginning(i))
	r.at[0] = nanoseconds(c.beginning(c.next(i, -1)))
	i = c.next(i, 1)
	r.at[2] = nanoseconds(c.beginning(i))
	r.at[3] = nanoseconds(c.beginning(c.next(i, 1)))
	return r
}

// next is the next beginning that counts, in that direction.
func (c Calendar) next(i, step int64) int64 {
	i += step
	for !c.counts(i) {
		i += step
	}
	return i
}

// counts says whether a window begins at the i-th beginning. It does not where clocks were put forward by so much that the period before
// would be too short; a few zones have left out a whole day.
func (c Calendar) counts(i int64) bool {
	return c.beginning(i)-c.beginning(i-1) >= c.Shortest()/int64(time.Second)
}

// beginning is when clocks of the zone show the i-th beginning first, or are put forward over it, in seconds since the Unix epoch.
func (c Calendar) beginning(i int64) int64 { return c.zone.first(c.shown(i)) }

// secondsOfDay are those of a day by the clock.
const secondsOfDay = int64(24 * time.Hour / time.Second)

// shown is what clocks show at the i-th beginning, as if they were those of UTC: in seconds since the Unix epoch. Days count from the epoch, weeks
// from the one in which it lies, months and years from year 0.
func (c Calendar) shown(i int64) int64 {
	switch c.per {
	case day:
		return i*secondsOfDay + int64(c.anchor.hour)*int64(time.Hour/time.Second)
	case week:
		return (i*7 + int64(c.anchor.weekday) - epochWeekday) * secondsOfDay
	case month:
		return c.date(floor(i, 12), time.Month(i-floor(i, 12)*12+1))
	}
	return c.date(i, time.Month(c.anchor.month))
}

// epochWeekday is that of the Unix epoch, a Thursday, from Monday on.
const epochWeekday = 3

// date is the day of the anchor in that month, or its last one.
func (c Calendar) date(year int64, month time.Month) int64 {
	last := time.Date(int(year), month+1, 0, 0, 0, 0, 0, time.UTC)
	return last.AddDate(0, 0, min(int(c.anchor.day)-last.Day(), 0)).Unix()
}

// index is that of the last beginning that is not after what clocks show.
func (c Calendar) index(shown int64) int64 {
	switch c.per {
	case day:
		return floor(shown-int64(c.anchor.hour)*int64(time.Hour/time.Second), secondsOfDay)
	case week:
		return floor(floor(shown, secondsOfDay)+epochWeekday-int64(c.anchor.weekday), 7)
	}
	y, m, _ := time.Unix(shown, 0).UTC().Date()
	i := int64(y)
	if c.per == month {
		i = int64(y)*12 + int64(m) - 1
	}
	if c.shown(i) > shown {
		i--
	}
	return i
}

// floor is a/b, rounded down.
func floor(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// nanoseconds are those of seconds, or the end of their range.
func nanoseconds(seconds int64) int64 {
	switch most := math.MaxInt64 / int64(time.Second); {
	case seconds > most:
		return math.MaxInt64
	case seconds < -most:
		return math.MinInt64
	}
	return seconds * int64(time.Second)
}
