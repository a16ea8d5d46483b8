package limit_test

import (
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

// What a document makes shorter goes on to count in the leads of every rule of the limit, and changes nothing else about them.
func TestEarlierNumbersLead(t *testing.T) {
	parse := func(text string) *limit.Document {
		t.Helper()
		doc, err := limit.ParseDocument([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return doc
	}
	before := parse("limits: {a: {capacity: 100, refill: 1/s}, b: {capacity: 5, refill: 1/s}, c: {capacity: 5, refill: 1/s, plans: {pro: {capacity: 50}}}, gone: {capacity: 9, refill: 1/s}, counts: {algorithm: sliding-window, limit: 5, window: 1m}, log: {algorithm: sliding-log, limit: 5, window: 1m}, streams: {algorithm: concurrency, limit: 5, lease: 1m}}")
	after := parse("limits: {a: {capacity: 10, refill: 1/s, plans: {free: {capacity: 1}}, overrides: [{key: k, capacity: 20}]}, b: {capacity: 7, refill: 1/s}, c: {capacity: 5, refill: 1/s}}")
	shorter := limit.Shorter(before, after)
	second := int64(time.Second)
	for name, want := range map[string]int64{"a": 100 * second, "b": 0, "c": 50 * second, "gone": 9 * second} {
		if got := shorter[name]; got != want {
			t.Errorf("%s was shortened from %v, want %v", name, time.Duration(got), time.Duration(want))
		}
	}
	if len(shorter) != 3 {
		t.Errorf("%v are shorter: what counts entries has no line, and is in none of them", shorter)
	}
	if same := limit.Shorter(before, before); len(same) != 0 {
		t.Errorf("the same document shortens %v", same)
	}
	led := after.WithEarlier(shorter)
	free, _ := led.Plan("a", "free")
	over := led.Override("a", "k", func() int64 { return 0 })
	own, _ := led.Rule("a")
	for what, rule := range map[string]*limit.Rule{"own": own, "plan": free.Rule, "override": over.Rule} {
		if rule.Lead() < 100*second || rule.Reach() > 20*second {
			t.Errorf("%s leads %v and reaches %v", what, time.Duration(rule.Lead()), time.Duration(rule.Reach()))
		}
	}
	for name, want := range map[string]int64{"b": 7, "c": 50} {
		if rule, _ := led.Rule(name); rule.Lead() < want*second || rule.Lead() > 2*want*second {
			t.Errorf("%s leads %v", name, time.Duration(rule.Lead()))
		}
	}
	if rule, _ := after.Rule("a"); rule.Lead() != 20*second {
		t.Errorf("the document itself has changed: %v", time.Duration(rule.Lead()))
	}
}
