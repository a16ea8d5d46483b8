package history_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/jeton-dev/jeton/cluster-tests/history"
)

// anyCount draws what a limiter with another algorithm than the token bucket goes through.
func anyCount(t *rapid.T) scene {
	s := anyScene(t)
	s.mute = 0
	s.extends = rapid.SampledFrom([]float64{0, 0.1, 0.5}).Draw(t, "extends")
	s.limits = []history.Limit{{
		Name: "api", Algorithm: rapid.SampledFrom(history.Algorithms()).Draw(t, "algorithm"),
		Capacity: rapid.Int64Range(1, 20).Draw(t, "limit"),
		Length:   rapid.SampledFrom([]int64{60, 6000, 100 * millisecond, 3 * second}).Draw(t, "length"),
	}}
	return s
}

// Whatever an exact limiter of any algorithm goes through, no checker finds anything.
func TestNothingIsFoundOfAnyAlgorithm(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := anyCount(t)
		_, results := found(t, s.play(), s.epsilon)
		for _, r := range results {
			if r.Err() != nil {
				t.Error(r.Err())
			}
		}
	})
}

// anyCounts draws a few calls of one bucket that no limiter need ever have answered so.
func anyCounts(t *rapid.T) *history.History {
	h := &history.History{Limits: []history.Limit{{
		Name: "api", Algorithm: rapid.SampledFrom(history.Algorithms()).Draw(t, "algorithm"),
		Capacity: rapid.Int64Range(1, 5).Draw(t, "limit"), Length: rapid.Int64Range(5, 12).Draw(t, "length"),
	}}}
	kinds := rapid.SliceOfN(rapid.SampledFrom([]int{0, 0, 0, 0, 1, 2, 3, 4, 5}), 1, 14).Draw(t, "calls")
	for i, kind := range kinds {
		c := history.Call{Limit: "api", Key: "k", Start: epoch + rapid.Int64Range(0, 40).Draw(t, "start")}
		c.End = c.Start + rapid.Int64Range(0, 9).Draw(t, "took")
		c.Receipt = &history.Receipt{Serial: uint64(rapid.IntRange(0, i).Draw(t, "serial"))}
		switch kind {
		case 1:
			c.Kind, c.Outcome = history.KindReturn, history.Taken
		case 2:
			c.Kind, c.Outcome = history.KindReturn, history.Failed
		case 3:
			c.Kind, c.Outcome = history.KindReturn, history.Ignored
		case 4:
			c.Kind, c.Outcome = history.KindExtend, rapid.SampledFrom([]history.Outcome{history.Admitted, history.Denied, history.Failed}).Draw(t, "extended")
		default:
			c.Kind, c.Outcome, c.Cost, c.Receipt.Serial = history.KindCheck, history.Admitted, rapid.Int64Range(0, 3).Draw(t, "cost"), uint64(i)
		}
		h.Calls = append(h.Calls, c)
	}
	return h
}

// The checkers find exactly what looking at every moment finds.
func TestCountsIsTheSlowWay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := anyCounts(t)
		epsilon := rapid.Int64Range(0, 2).Draw(t, "epsilon")
		checker, over := "counts", tooMany(h, epsilon)
		if h.Limits[0].Algorithm == history.Concurrency {
			checker, over = "inside", tooManyInside(h, epsilon)
		}
		results, err := history.Run(h, epsilon, checker)
		if err != nil {
			t.Fatal(err)
		}
		if over != (results[0].Found > 0) {
			t.Fatalf("%v; the slow way says %v", results[0], over)
		}
	})
}

// tooMany looks at the windows that end at each moment.
func tooMany(h *history.History, epsilon int64) bool {
	l := h.Limits[0]
	for end := epoch; end < epoch+60; end++ {
		sliding, aligned := int64(0), int64(0)
		for i := range h.Calls {
			c := &h.Calls[i]
			if c.Kind != history.KindCheck || c.End > end || slices.ContainsFunc(h.Calls, func(r history.Call) bool {
				return r.Kind == history.KindReturn && r.Outcome != history.Ignored && r.Receipt.Serial == c.Receipt.Serial && r.Start <= end
			}) {
				continue
			}
			if end-c.Start+2*epsilon < l.Length {
				sliding += c.Cost
			}
			if (c.Start-epsilon)/l.Length == end/l.Length && (c.End+epsilon)/l.Length == end/l.Length {
				aligned += c.Cost
			}
		}
		switch l.Algorithm {
		case history.FixedWindow:
			sliding = 0
		case history.Weighted:
			sliding -= l.Capacity - 1
		default:
			aligned = 0
		}
		if sliding > l.Capacity || aligned > l.Capacity {
			return true
		}
	}
	return false
}

// tooManyInside looks at every moment.
func tooManyInside(h *history.History, epsilon int64) bool {
	l := h.Limits[0]
	for now := epoch; now < epoch+80; now++ {
		sum := int64(0)
		for _, c := range h.Calls {
			until := c.Start
			for _, o := range h.Calls {
				if o.Kind == history.KindExtend && o.Outcome == history.Admitted && o.Receipt.Serial == c.Receipt.Serial {
					until = max(until, o.Start)
				}
			}
			until += l.Length - 2*epsilon
			for _, o := range h.Calls {
				if o.Kind == history.KindReturn && o.Receipt.Serial == c.Receipt.Serial {
					until = min(until, o.Start)
				}
			}
			if c.Kind == history.KindCheck && c.End <= now && now < until {
				sum += c.Cost
			}
		}
		if sum > l.Capacity {
			return true
		}
	}
	return false
}

// What is excused, and what is not. The limit is 2 in 100 ms, or 2 permits with a lease of 100 ms; times are in milliseconds.
func TestCountsExcuses(t *testing.T) {
	at := func(ms int64) int64 { return epoch + ms*millisecond }
	serial := uint64(0)
	call := func(k history.Kind, o history.Outcome, start, end int64) history.Call {
		c := history.Call{Kind: k, Outcome: o, Limit: "api", Key: "k", Start: at(start), End: at(end)}
		if k == history.KindCheck {
			serial++
			c.Cost, c.Receipt = 1, &history.Receipt{Serial: serial}
		}
		return c
	}
	admitted := func(start, end int64) history.Call { return call(history.KindCheck, history.Admitted, start, end) }
	of := func(c, what history.Call) history.Call {
		c.Receipt = what.Receipt
		return c
	}
	one := admitted(0, 1)
	two := admitted(2, 3)
	reset := func(o history.Outcome, start, end int64) history.Call { return call(history.KindReset, o, start, end) }
	returned := func(o history.Outcome, what history.Call, start, end int64) history.Call {
		return of(call(history.KindReturn, o, start, end), what)
	}
	extended := func(o history.Outcome, what history.Call, start, end int64) history.Call {
		return of(call(history.KindExtend, o, start, end), what)
	}
	clock := history.Fault{Start: at(50), End: at(60), What: "a clock jumps", Held: 30 * millisecond}
	for name, tt := range map[string]struct {
		algorithm string
		calls     []history.Call
		faults    []history.Fault
		found     bool
	}{
		"a window later":                          {history.SlidingLog, []history.Call{admitted(100, 100)}, nil, false},
		"just within the window":                  {history.SlidingLog, []history.Call{admitted(98, 99)}, nil, true},
		"a call that may have been decided later": {history.SlidingLog, []history.Call{admitted(50, 101)}, nil, false},
		"returned":                                    {history.SlidingLog, []history.Call{returned(history.Taken, one, 10, 11), admitted(50, 51)}, nil, false},
		"returned too late":                           {history.SlidingLog, []history.Call{returned(history.Taken, one, 60, 61), admitted(50, 51)}, nil, true},
		"a return that may have happened":             {history.SlidingLog, []history.Call{returned(history.Failed, one, 10, 11), admitted(50, 51)}, nil, false},
		"a return without effect":                     {history.SlidingLog, []history.Call{returned(history.Ignored, one, 10, 11), admitted(50, 51)}, nil, true},
		"reset":                                       {history.SlidingLog, []history.Call{reset(history.Done, 10, 11), admitted(50, 51), admitted(50, 51)}, nil, false},
		"reset, and one too many":                     {history.SlidingLog, []history.Call{reset(history.Done, 10, 11), admitted(50, 51), admitted(50, 51), admitted(50, 51)}, nil, true},
		"reset later":                                 {history.SlidingLog, []history.Call{reset(history.Done, 60, 61), admitted(50, 51)}, nil, true},
		"a reset that may have happened":              {history.SlidingLog, []history.Call{reset(history.Failed, 10, 11), admitted(50, 51), admitted(50, 51)}, nil, false},
		"reset long before":                           {history.SlidingLog, []history.Call{reset(history.Done, 1, 2), admitted(150, 151), admitted(150, 151), admitted(150, 151)}, nil, true},
		"what was held at a reset":                    {history.Weighted, []history.Call{reset(history.Done, 4, 5), admitted(50, 51), admitted(50, 51)}, nil, false},
		"a wrong clock":                               {history.SlidingLog, []history.Call{admitted(80, 81)}, []history.Fault{clock}, false},
		"a wrong clock, and a window without it":      {history.SlidingLog, []history.Call{admitted(40, 41)}, []history.Fault{clock}, true},
		"a fault is no excuse":                        {history.SlidingLog, []history.Call{admitted(80, 81)}, []history.Fault{{Start: at(0), End: at(90), What: "node-1 is killed"}}, true},
		"the next window":                             {history.FixedWindow, []history.Call{admitted(100, 101)}, nil, false},
		"two windows, weighted":                       {history.Weighted, []history.Call{admitted(100, 101)}, nil, false},
		"twice the limit in one, weighted":            {history.Weighted, []history.Call{admitted(150, 151), admitted(150, 151), admitted(210, 211), admitted(210, 211)}, nil, true},
		"one too many in the second window, weighted": {history.Weighted, []history.Call{admitted(130, 131), admitted(150, 151), admitted(190, 191)}, nil, true},
		"lease over":                                  {history.Concurrency, []history.Call{admitted(99, 100)}, nil, false},
		"lease not over":                              {history.Concurrency, []history.Call{admitted(98, 99)}, nil, true},
		"left":                                        {history.Concurrency, []history.Call{returned(history.Taken, one, 10, 20), admitted(5, 10)}, nil, false},
		"left, whatever the answer":                   {history.Concurrency, []history.Call{returned(history.Ignored, one, 10, 20), admitted(5, 10)}, nil, false},
		"not yet left":                                {history.Concurrency, []history.Call{returned(history.Taken, one, 10, 20), admitted(5, 9)}, nil, true},
		"extended":                                    {history.Concurrency, []history.Call{extended(history.Admitted, one, 60, 61), extended(history.Admitted, two, 60, 61), admitted(140, 141)}, nil, true},
		"extended, and over":                          {history.Concurrency, []history.Call{extended(history.Admitted, one, 60, 61), extended(history.Admitted, two, 60, 61), admitted(159, 160)}, nil, false},
		"may have been extended":                      {history.Concurrency, []history.Call{extended(history.Failed, one, 60, 61), admitted(140, 141), admitted(140, 141)}, nil, false},
		"not extended":                                {history.Concurrency, []history.Call{extended(history.Denied, one, 99, 110), admitted(140, 141), admitted(140, 141)}, nil, false},
		"no reset frees a permit":                     {history.Concurrency, []history.Call{reset(history.Failed, 4, 5), admitted(50, 51)}, nil, true},
		"a lease by a wrong clock":                    {history.Concurrency, []history.Call{admitted(80, 81)}, []history.Fault{clock}, false},
	} {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			h := &history.History{
				Limits: []history.Limit{{Name: "api", Algorithm: tt.algorithm, Capacity: 2, Length: 100 * millisecond}},
				Calls:  append([]history.Call{one, two}, tt.calls...), Faults: tt.faults,
			}
			if tt.algorithm == history.FixedWindow {
				for i := range h.Calls {
					h.Calls[i].Receipt = nil
				}
			}
			err := history.Safe(h, 0)
			if (err != nil) != tt.found {
				t.Errorf("found %v: %v", err != nil, err)
			}
		})
	}
}

// A limit that was lowered may be used up to what it was, and a raised one as soon as it may be in force.
func TestCountsWhileALimitChanges(t *testing.T) {
	version := func(capacity, at, by int64) history.Limit {
		l := history.Limit{Name: "api", Algorithm: history.SlidingLog, Capacity: capacity, Length: 100 * millisecond}
		if at > 0 {
			l.At, l.By = epoch+at*millisecond, epoch+by*millisecond
		}
		return l
	}
	for _, tt := range []struct {
		second history.Limit
		at     int64 // of three admissions
		found  bool
	}{
		{version(3, 50, 60), 40, true},
		{version(3, 50, 60), 50, false},
		{version(1, 50, 60), 50, true},
		{version(1, 50, 60), 200, true},
	} {
		h := &history.History{Limits: []history.Limit{version(2, 0, 0), tt.second}}
		for range 3 {
			at := epoch + tt.at*millisecond
			h.Calls = append(h.Calls, history.Call{Kind: history.KindCheck, Outcome: history.Admitted, Limit: "api", Key: "k", Cost: 1, Start: at, End: at})
		}
		if err := history.Safe(h, 0); (err != nil) != tt.found {
			t.Errorf("%+v: %v", tt, err)
		}
	}
}
