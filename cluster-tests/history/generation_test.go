package history_test

import (
	"slices"
	"testing"

	"github.com/jeton-dev/jeton/cluster-tests/history"
)

// spent is a check of one token from start to end whose receipt is the span, all in milliseconds since epoch.
func spent(generation, start, end, from, to int64) history.Call {
	at := func(ms int64) int64 { return epoch + ms*millisecond }
	if generation > 0 {
		generation = at(generation)
	}
	return history.Call{
		Kind: history.KindCheck, Outcome: history.Admitted, Limit: "api", Key: "k", Cost: 1, Start: at(start), End: at(end),
		Receipt: &history.Receipt{Generation: generation, Span: history.Span{Start: at(from), End: at(to)}, Owner: "o", Serial: uint64(from)},
	}
}

// reset is one from 10 ms to end.
func reset(end int64) history.Call {
	return history.Call{
		Kind: history.KindReset, Outcome: history.Done, Limit: "api", Key: "k", Start: epoch + 10*millisecond, End: epoch + end*millisecond,
	}
}

// What a reset frees, and what it does not. A token is 100 ms of line, a bucket holds 5, and the reset makes a generation that
// is a position one second ahead.
func TestGenerations(t *testing.T) {
	before := []history.Call{spent(0, 0, 1, 0, 100), spent(0, 2, 3, 100, 200)}
	for name, tt := range map[string]struct {
		calls []history.Call
		want  []string
	}{
		"line before the new generation is free":     {[]history.Call{reset(20), spent(1000, 30, 31, 30, 130)}, nil},
		"what was reserved may be spent":             {[]history.Call{reset(20), spent(0, 50, 51, 500, 600), spent(1000, 52, 53, 52, 152)}, []string{"placed"}},
		"what was reserved may be spent in its time": {[]history.Call{reset(20), spent(0, 110, 111, 500, 600), spent(1000, 112, 113, 112, 212)}, nil},
		"no line of before was reserved further":     {[]history.Call{reset(20), spent(0, 150, 151, 531, 631)}, []string{"disjoint"}},
		"a call from before the reset may end after": {[]history.Call{reset(200), spent(0, 150, 151, 531, 631)}, nil},
		"line beyond the generation is not free": {
			[]history.Call{reset(2000), spent(0, 990, 999, 1000, 1100), spent(1000, 1010, 1011, 1010, 1110)},
			[]string{"disjoint"},
		},
		"before any reset there is one generation": {[]history.Call{spent(1000, 5, 6, 200, 300), reset(20)}, []string{"disjoint"}},
		"a reset that failed may have happened": {
			[]history.Call{{
				Kind: history.KindReset, Outcome: history.Failed, Limit: "api", Key: "k", Start: epoch + 10*millisecond, End: epoch + 20*millisecond,
			}, spent(1000, 30, 31, 30, 130)}, nil,
		},
		"a whole bucket for one generation": {
			[]history.Call{
				reset(20), spent(1000, 30, 31, 30, 130), spent(1000, 30, 31, 130, 230), spent(1000, 30, 31, 230, 330),
				spent(1000, 30, 31, 330, 430), spent(1000, 30, 31, 430, 530),
			}, nil,
		},
		"and no more": {
			[]history.Call{
				reset(20), spent(1000, 30, 31, 30, 130), spent(1000, 30, 31, 130, 230), spent(1000, 30, 31, 230, 330),
				spent(1000, 30, 31, 330, 430), spent(1000, 30, 31, 430, 530), spent(1000, 30, 31, 430, 530),
			}, []string{"disjoint", "windows"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := &history.History{Limits: []history.Limit{token(5, 10, second)}, Calls: slices.Concat(before, tt.calls)}
			names, results := found(t, h, 0)
			if !slices.Equal(names, tt.want) {
				t.Errorf("found by %v, want %v: %v", names, tt.want, results)
			}
		})
	}
}

// While a limit is changed either one may be in force, before and afterwards only one.
func TestChangeOfALimit(t *testing.T) {
	small, large := token(1, 10, second), token(3, 5, second)
	large.At, large.By = epoch+100*millisecond, epoch+200*millisecond
	two := func(start, from, to int64) history.Call { return spent(0, start, start+1, from, to) }
	for name, tt := range map[string]struct {
		call history.Call
		want []string
	}{
		"the old one before":       {two(50, 50, 150), nil},
		"the new one before":       {two(50, 50, 250), []string{"lengths", "placed"}},
		"the old one meanwhile":    {two(150, 150, 250), nil},
		"the new one meanwhile":    {two(150, 150, 350), nil},
		"neither of them":          {two(150, 150, 300), []string{"lengths"}},
		"the new one afterwards":   {two(250, 650, 850), nil},
		"the old one afterwards":   {two(250, 250, 350), []string{"lengths"}},
		"beyond even the new one":  {two(250, 652, 852), []string{"placed"}},
		"the old place meanwhile":  {two(150, 551, 751), nil},
		"beyond both, in the mean": {two(150, 552, 752), []string{"placed"}},
	} {
		t.Run(name, func(t *testing.T) {
			h := &history.History{Limits: []history.Limit{small, large}, Calls: []history.Call{tt.call}}
			if names, results := found(t, h, 0); !slices.Equal(names, tt.want) {
				t.Errorf("found by %v, want %v: %v", names, tt.want, results)
			}
		})
	}
}

// A fault that takes what was reserved takes the resets with it. What is spent then lies beyond all that was reserved.
func TestResetsAreLostWithWhatWasReserved(t *testing.T) {
	fault := func(start, end int64) []history.Fault {
		return []history.Fault{{Start: epoch + start*millisecond, End: epoch + end*millisecond, What: "all nodes are killed"}}
	}
	for name, tt := range map[string]struct {
		faults []history.Fault
		call   history.Call
		want   []string
	}{
		"beyond what was reserved":       {fault(100, 120), spent(0, 650, 651, 700, 800), nil},
		"that may have been reserved":    {fault(100, 120), spent(0, 650, 651, 580, 680), []string{"disjoint", "placed"}},
		"without a fault":                {nil, spent(0, 650, 651, 700, 800), []string{"disjoint"}},
		"with a fault before the reset":  {fault(1, 5), spent(0, 650, 651, 700, 800), []string{"disjoint"}},
		"with a fault that came later":   {fault(700, 800), spent(0, 650, 651, 700, 800), []string{"disjoint"}},
		"with a mark that all is healed": {append(fault(1, 5), history.Fault{Start: epoch + 100*millisecond, End: epoch + 120*millisecond, What: "healed"}), spent(0, 650, 651, 700, 800), []string{"disjoint"}},
	} {
		t.Run(name, func(t *testing.T) {
			h := &history.History{
				Limits: []history.Limit{token(5, 10, second)}, Calls: []history.Call{spent(0, 0, 1, 0, 100), reset(20), tt.call}, Faults: tt.faults,
			}
			if names, results := found(t, h, 0); !slices.Equal(names, tt.want) {
				t.Errorf("found by %v, want %v: %v", names, tt.want, results)
			}
		})
	}
}
