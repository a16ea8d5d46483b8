package bench

import (
	"context"
	"errors"
	"math"
	"time"
)

// timelineTick is how finely a timeline knows when checks were answered.
const timelineTick = 10 * time.Millisecond

// A timeline counts the checks that are answered under a load, tick by tick, so that those within a window can be counted
// whose bounds become known only later. Each caller writes a row of its own; they are read after the load.
type timeline struct {
	begin time.Time
	ends  time.Time // of the load
	rows  [][]int64
}

// newTimeline is that of a load which begins at that time, or a little later.
func newTimeline(l Load, begin time.Time) *timeline {
	t := &timeline{begin: begin, ends: begin.Add(l.Warmup + l.Duration), rows: make([][]int64, l.Callers)}
	for i := range t.rows {
		t.rows[i] = make([]int64, (l.Warmup+l.Duration)/timelineTick+1)
	}
	return t
}

// over is the service with its answers counted.
func (t *timeline) over(s service) service {
	inner := s.caller
	s.caller = func(number int) caller {
		return &timedCaller{caller: inner(number), begin: t.begin, answered: t.rows[number]}
	}
	return s
}

// within is how many checks were answered in a window. That of a tick which lies in it partly counts in part.
func (t *timeline) within(from, to time.Time) (int64, error) {
	if from.Before(t.begin) || to.After(t.ends) || !from.Before(to) {
		return 0, errors.New("the profile was not taken while the load ran: the machine is too busy")
	}
	first, last := float64(from.Sub(t.begin))/float64(timelineTick), float64(to.Sub(t.begin))/float64(timelineTick)
	sum := 0.0
	for _, row := range t.rows {
		for i, n := range row {
			sum += float64(n) * max(0, min(last, float64(i+1))-max(first, float64(i)))
		}
	}
	checks := int64(math.Round(sum))
	if checks == 0 {
		return 0, errors.New("no check was answered while the profile was taken: a longer --window is needed")
	}
	return checks, nil
}

// A timedCaller writes down when its calls are answered.
type timedCaller struct {
	caller

	begin    time.Time
	answered []int64
}

func (c *timedCaller) call(ctx context.Context, keys []string, t *tally) bool {
	if !c.caller.call(ctx, keys, t) {
		return false
	}
	if i := int(time.Since(c.begin) / timelineTick); i < len(c.answered) {
		c.answered[i] += int64(len(keys))
	}
	return true
}
