package bench

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// slowly answers each call after a while, and the third never.
type slowly struct {
	takes time.Duration
	calls int
}

func (s *slowly) call(context.Context, []string, *tally) bool {
	<-time.After(s.takes) // in a bubble, where it is the virtual clock that moves
	s.calls++
	return s.calls != 3
}

func TestTimelineCountsAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		l := Load{Callers: 2, Duration: time.Second}
		answers := newTimeline(l, begin)
		s := answers.over(service{caller: func(number int) caller {
			return &slowly{takes: time.Duration(number+1) * 100 * time.Millisecond}
		}})
		for number := range l.Callers { // one after the other, so the second one begins at 400 ms
			c := s.caller(number)
			for range 4 {
				c.call(t.Context(), make([]string, 1000), newTally())
			}
		}
		at := func(ms float64) time.Time { return begin.Add(time.Duration(ms * float64(time.Millisecond))) }
		for _, tt := range []struct {
			from, to float64 // ms
			want     int64
		}{
			{0, 1000, 5000}, // at 100, 200, 400, 600, 800; the third call has no answer, and one ends after the load
			{0, 100, 0},
			{0, 105, 500}, // half of a tick
			{100, 110, 1000},
			{150, 610, 3000},
			{205, 406, 1100},
		} {
			got, err := answers.within(at(tt.from), at(tt.to))
			if got != tt.want || (err != nil) != (tt.want == 0) {
				t.Errorf("from %v to %v ms: %d, %v; want %d", tt.from, tt.to, got, err, tt.want)
			}
		}
		for _, window := range [][2]float64{{-1, 500}, {500, 1001}, {500, 500}} {
			if n, err := answers.within(at(window[0]), at(window[1])); err == nil {
				t.Errorf("a window beyond the load, %v, has %d checks", window, n)
			}
		}
	})
}
