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

// A return explains an admission beside it, though another return fails while it is under way: from then on nothing is known.
func TestReturnBesideOneThatFails(t *testing.T) {
	at := func(ms int64) int64 { return epoch + ms*millisecond }
	line := history.Span{Start: at(0), End: at(0) + second}
	first := &history.Receipt{Span: line, Owner: "a", Serial: 1}
	again := &history.Receipt{Span: history.Span{Start: line.End, End: line.End}, Owner: "a", Serial: 2, Reuses: []history.Span{line}}
	calls := []history.Call{
		{Kind: history.KindCheck, Cost: 1, Start: at(0), End: at(10), Outcome: history.Admitted, Receipt: first, Via: "1"},
		{Kind: history.KindReturn, Start: at(20), End: at(60), Outcome: history.Taken, Receipt: first, Via: "1"},
		{Kind: history.KindCheck, Cost: 1, Start: at(30), End: at(40), Outcome: history.Admitted, Receipt: again, Via: "2"},
		{Kind: history.KindReturn, Start: at(50), End: at(70), Outcome: history.Failed, Receipt: again, Via: "2"},
	}
	for i := range calls {
		calls[i].Limit, calls[i].Key = "api", "k"
	}
	h := &history.History{Limits: []history.Limit{token(1, 1, second)}, Calls: calls}
	if names, results := found(t, h, 0); len(names) > 0 {
		t.Errorf("%v", results)
	}
	calls[1].Start, calls[1].End = at(80), at(90) // too late for the admission
	calls = calls[:3]
	if names, _ := found(t, &history.History{Limits: h.Limits, Calls: calls}, 0); len(names) == 0 {
		t.Error("a return that comes too late explains an admission")
	}
}

// What was leased comes back to owners unseen, and an owner that reuses it says so: but no piece of it is spent twice, by whichever owner or edge.
func TestWhatIsLeasedIsSpentOnce(t *testing.T) {
	at := func(ms int64) int64 { return epoch + ms*millisecond }
	piece := func(n int64) history.Span { return history.Span{Start: at(0) + n*second, End: at(0) + (n+1)*second} }
	empty := history.Span{Start: at(0) + 9*second, End: at(0) + 9*second}
	limit := token(10, 1, second)
	limit.Leased = true
	call := func(n int64, kind history.Kind, outcome history.Outcome, r *history.Receipt) history.Call {
		return history.Call{Kind: kind, Outcome: outcome, Limit: "api", Key: "k", Cost: 1, Start: at(10 * n), End: at(10*n + 5), Receipt: r, Via: "1"}
	}
	edge := &history.Receipt{Span: piece(1), Owner: "edge", Serial: 1}
	owner := &history.Receipt{Span: empty, Owner: "a", Serial: 2, Reuses: []history.Span{piece(2)}}
	for what, c := range map[string]struct {
		calls []history.Call
		wrong bool
	}{
		"a tail that came back": {[]history.Call{call(0, history.KindCheck, history.Admitted, edge), call(1, history.KindCheck, history.Admitted, owner)}, false},
		"reused twice": {[]history.Call{
			call(0, history.KindCheck, history.Admitted, owner),
			call(1, history.KindCheck, history.Admitted, &history.Receipt{Span: empty, Owner: "b", Serial: 3, Reuses: []history.Span{piece(2)}}),
		}, true},
		"spent by an edge and by its owner": {[]history.Call{
			call(0, history.KindCheck, history.Admitted, edge),
			call(1, history.KindCheck, history.Admitted, &history.Receipt{Span: empty, Owner: "a", Serial: 4, Reuses: []history.Span{piece(1)}}),
		}, true},
		"returned to the edge, and spent again": {[]history.Call{
			call(0, history.KindCheck, history.Admitted, edge), call(1, history.KindReturn, history.Taken, edge),
			call(2, history.KindCheck, history.Admitted, &history.Receipt{Span: empty, Owner: "a", Serial: 5, Reuses: []history.Span{piece(1)}}),
		}, false},
	} {
		h := &history.History{Limits: []history.Limit{limit}, Calls: c.calls}
		err := history.Safe(h, 0)
		if found := err != nil && strings.Contains(err.Error(), "of what was leased was spent twice"); found != c.wrong {
			t.Errorf("%s: %v", what, err)
		}
	}
}
