package nemesis

import (
	"context"
	"fmt"
	"time"
)

var kindLate = Kind{
	Name: "answers late", Weight: 3, Shortest: 2 * time.Second, Longest: 20 * time.Second, Recovery: time.Second, Operators: true,
	Needs: func(s Setting) string {
		if !s.Late {
			return "packets cannot be made late here"
		}
		return ""
	},
	Draw: func(d *Drawing) Fault {
		return late{percent: []int{1, 1, 5}[d.IntN(3)], by: []time.Duration{10 * time.Millisecond, 10 * time.Millisecond, 30 * time.Millisecond}[d.IntN(3)]}
	},
}

// late are a few messages between nodes that take long, while nothing else is wrong.
type late struct {
	percent int
	by      time.Duration
}

func (f late) String() string {
	return fmt.Sprintf("%d in 100 packets between nodes are late by %v", f.percent, f.by)
}

// Begin makes them late.
func (f late) Begin(_ context.Context, s *Stage) error {
	return s.lab.Late(s.nodeNames(), float64(f.percent)/100, f.by)
}

// End has all arrive in time again.
func (f late) End(_ context.Context, s *Stage) error { return s.lab.OnTime() }
