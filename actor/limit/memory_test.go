package limit_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/jeton-dev/jeton/actor/limit"
)

// A bucket in memory decides as a loop over Rule.Decide does, whatever was looked at between, and across changes of its limit.
func TestMemoryIsALoopOverDecide(t *testing.T) {
	for _, name := range limit.Spending() {
		t.Run(name, rapid.MakeCheck(func(t *rapid.T) {
			rule, tat := drawOf(t, name), limit.Pos{}
			charged, spent := rule, tat // of the last admission
			at := rapid.Int64Range(0, 1<<61).Draw(t, "start")
			var m limit.Memory
			for range rapid.IntRange(1, 40).Draw(t, "checks") {
				at += rapid.Int64Range(0, max(rule.Reach()/4, 1)).Draw(t, "later")
				if rapid.IntRange(0, 9).Draw(t, "change") == 0 {
					other := drawOf(t, name)
					rule = other
					if tat = (limit.Pos{}); rule.Register() == charged.Register() { // otherwise nothing was spent in these windows
						tat = rule.Carry(charged, spent)
					}
				}
				cost := rapid.Int64Range(0, rule.Capacity+1).Draw(t, "cost")
				end := rule.End(tat, at, rule.Length(cost))
				next, allowed := rule.Decide(tat, at, cost)
				if got, want := m.Look(rule, at, cost), rule.Outcome(tat, at, cost, end, allowed); got != want {
					t.Fatalf("a look for %d at %d is told %+v, want %+v", cost, at, got, want)
				}
				if got := m.Allows(rule, at, cost); got != allowed {
					t.Fatalf("%d at %d passes: %v, want %v", cost, at, got, allowed)
				}
				if got, want := int64(m.Wait(rule, at, cost)), int64(rule.Wait(end, at)); got != want {
					t.Fatalf("%d at %d waits %d, want %d", cost, at, got, want)
				}
				if got, want := m.Decide(rule, at, cost), rule.Outcome(next, at, cost, end, allowed); got != want {
					t.Fatalf("a check of %d at %d is told %+v, want %+v", cost, at, got, want)
				}
				if tat = next; allowed && cost > 0 {
					charged, spent = rule, next
				}
				if full := m.Full(at); full && (rule.Tokens(tat, at) != rule.Capacity || tat.After(limit.At(at))) {
					t.Fatalf("at %d the bucket at %v counts as full, and has %d of %d", at, tat, rule.Tokens(tat, at), rule.Capacity)
				}
			}
			var none limit.Memory
			if far := spent.Ceil(); !m.Full(far) || m.Look(rule, far, rule.Capacity) != none.Look(rule, far, rule.Capacity) {
				t.Fatalf("once %v has passed, %+v is not as good as new", tat, m)
			}
		}))
	}
}
