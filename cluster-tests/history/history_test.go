package history_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cluster-tests/history"
)

func rule(t interface{ Fatal(...any) }, capacity int64, refill string) *limit.Rule {
	r, err := limit.ParseRefill(refill)
	if err != nil {
		t.Fatal(err)
	}
	compiled, err := limit.Limit{Name: "test", Capacity: capacity, Refill: r}.Rule()
	if err != nil {
		t.Fatal(err)
	}
	return compiled
}

// admitted is a call from start to end whose receipt is the span.
func admitted(start, end, from, to int64) history.Call {
	return history.Call{
		Key: "k", Cost: 1, Start: start, End: end, Admitted: true,
		Receipt: limit.Receipt{Span: limit.Span{Start: from, End: to}},
	}
}

// Each checker must find what it is there for: a checker that has found nothing yet proves nothing.
func TestCheckersFind(t *testing.T) {
	r := rule(t, 2, "1/10ns") // a token is 10 ns of line
	good := []history.Call{admitted(100, 105, 100, 110), admitted(101, 106, 110, 120), admitted(111, 115, 120, 130)}
	if err := history.Check(r, good, 0); err != nil {
		t.Fatalf("a history within the limit: %v", err)
	}
	for _, tt := range []struct {
		name, want string
		add        history.Call
	}{
		{"spent twice", "overlap", admitted(112, 116, 125, 135)},
		{"same span again", "overlap", admitted(100, 105, 100, 110)},
		{"too short", "long", admitted(200, 205, 200, 205)},
		{"too early", "cannot have been spent", admitted(200, 205, 150, 160)},
		{"too far ahead", "cannot have been spent", admitted(200, 205, 220, 230)},
		{"one too many", "too many", admitted(108, 109, 130, 140)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := history.Check(r, append([]history.Call{tt.add}, good...), 0)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Check = %v, want an error with %q", err, tt.want)
			}
		})
	}
}

func TestDenialsAndOtherKeysDoNotCount(t *testing.T) {
	r := rule(t, 1, "1/1h")
	calls := []history.Call{
		admitted(100, 105, 100, 100+int64(3600e9)),
		{Key: "k", Cost: 1, Start: 106, End: 107},
	}
	other := admitted(100, 105, 100, 100+int64(3600e9))
	other.Key = "other"
	if err := history.Check(r, append(calls, other), 0); err != nil {
		t.Error(err)
	}
}

// The tree must find exactly what looking at every window finds.
func TestWindowsIsTheSlowWay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		capacity, per := rapid.Int64Range(1, 6).Draw(t, "capacity"), rapid.Int64Range(1, 7).Draw(t, "per")
		tokens := rapid.Int64Range(1, per).Draw(t, "tokens")
		r, err := limit.Limit{Name: "test", Capacity: capacity, Refill: limit.Refill{Tokens: tokens, Per: 1}}.Rule()
		if tokens == 1 && per > 1 || err != nil {
			r = rule(t, capacity, "1/"+map[int64]string{1: "1ns", 2: "2ns", 3: "3ns", 4: "4ns", 5: "5ns", 6: "6ns", 7: "7ns"}[per])
		}
		var calls []history.Call
		for range rapid.IntRange(0, 12).Draw(t, "calls") {
			start := rapid.Int64Range(1000, 1040).Draw(t, "start")
			calls = append(calls, history.Call{
				Cost: rapid.Int64Range(1, 3).Draw(t, "cost"), Admitted: true,
				Start: start, End: start + rapid.Int64Range(0, 9).Draw(t, "took"),
			})
		}
		slow := false
		for _, a := range calls {
			for _, b := range calls {
				sum := int64(0)
				for _, c := range calls {
					if c.Start >= a.Start && c.End <= b.End {
						sum += c.Cost
					}
				}
				p, n := int64(r.Refill.Per), r.Refill.Tokens
				slow = slow || sum > 0 && p*sum > p*r.Capacity+n*(b.End-a.Start)
			}
		}
		if err := history.Windows(r, calls, 0); (err != nil) != slow {
			t.Fatalf("Windows = %v, the slow way finds a violation: %v", err, slow)
		}
	})
}
