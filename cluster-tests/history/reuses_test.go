package history_test

import (
	"strings"
	"testing"

	"github.com/jeton-dev/jeton/cluster-tests/history"
)

// What was admitted under a limit is worth nothing under other numbers: it cannot be spent again when these are in force.
func TestReusesAcrossAChange(t *testing.T) {
	const second = int64(1e9)
	before := history.Limit{Name: "api", Capacity: 10, Tokens: 1, PerNS: second}
	span := history.Span{Start: 10 * second, End: 11 * second}
	receipt := func(serial uint64, s history.Span, reuses ...history.Span) *history.Receipt {
		return &history.Receipt{Owner: "a", Serial: serial, Span: s, Reuses: reuses}
	}
	call := func(kind history.Kind, outcome history.Outcome, at int64, r *history.Receipt) history.Call {
		return history.Call{Kind: kind, Outcome: outcome, Limit: "api", Key: "k", Cost: 1, Start: at, End: at + second/100, Receipt: r}
	}
	for name, tt := range map[string]struct {
		after history.Limit
		wrong bool
	}{
		"other numbers":    {history.Limit{Name: "api", Capacity: 5, Tokens: 1, PerNS: second, At: 12 * second, By: 13 * second}, true},
		"the same numbers": {history.Limit{Name: "api", Capacity: 10, Tokens: 1, PerNS: second, At: 12 * second, By: 13 * second}, false},
		"not in force yet": {history.Limit{Name: "api", Capacity: 5, Tokens: 1, PerNS: second, At: 12 * second, By: 15 * second}, false},
	} {
		t.Run(name, func(t *testing.T) {
			h := &history.History{Limits: []history.Limit{before, tt.after}, Calls: []history.Call{
				call(history.KindCheck, history.Admitted, 10*second, receipt(1, span)),
				call(history.KindReturn, history.Taken, 10*second+second/2, receipt(1, span)),
				call(history.KindCheck, history.Admitted, 14*second, receipt(2, history.Span{Start: 14 * second, End: 14 * second}, span)),
			}}
			err := history.Safe(h, second/100)
			if found := err != nil && strings.Contains(err.Error(), "spent again"); found != tt.wrong {
				t.Errorf("found: %v, want %v: %v", found, tt.wrong, err)
			}
		})
	}
}
