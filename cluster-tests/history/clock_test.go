package history_test

import (
	"slices"
	"testing"

	"github.com/jeton-dev/jeton/cluster-tests/history"
)

// While a clock is wrong, its node may spend what it holds at the wrong time, for as long as it takes to notice. No judge takes
// that for a violation, and none lets more pass for it, or at any other time.
func TestAWrongClockSpendsWhatItHolds(t *testing.T) {
	for name, tt := range map[string]struct {
		begin, end int64 // of the fault, in ms
		held       int64
		calls      []history.Call
		want       []string
	}{
		"held line is spent late":                {300, 900, 400, []history.Call{spent(0, 600, 601, 300, 400)}, nil},
		"later than a node takes to notice":      {300, 900, 100, []history.Call{spent(0, 600, 601, 300, 400)}, []string{"placed"}},
		"after the fault":                        {300, 500, 400, []history.Call{spent(0, 600, 601, 300, 400)}, []string{"placed"}},
		"without a word on clocks":               {300, 900, 0, []history.Call{spent(0, 600, 601, 300, 400)}, []string{"placed"}},
		"a bucket and what is held, in a window": {300, 900, 200, bursts(7), nil},
		"more than both":                         {300, 900, 200, bursts(8), []string{"placed", "windows"}},
	} {
		t.Run(name, func(t *testing.T) {
			h := &history.History{
				Limits: []history.Limit{token(5, 10, second)},
				Calls:  append([]history.Call{spent(0, 0, 1, 0, 100)}, tt.calls...),
				Faults: []history.Fault{{
					Start: epoch + tt.begin*millisecond, End: epoch + tt.end*millisecond, What: "a clock stands still", Held: tt.held * millisecond,
				}},
			}
			if names, results := found(t, h, 0); !slices.Equal(names, tt.want) {
				t.Errorf("found by %v, want %v: %v", names, tt.want, results)
			}
		})
	}
}

// bursts is n checks within a millisecond of each other, for line that ends 0.5 s after them, where the whole bucket does.
func bursts(n int64) []history.Call {
	var calls []history.Call
	for i := range n {
		end := 600 + 500 - 100*i
		calls = append(calls, spent(0, 600, 601, end-100, end))
	}
	return calls
}
