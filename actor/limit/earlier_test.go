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
	before := parse("limits: {a: {capacity: 100, refill: 1/s}, b: {capacity: 5, refill: 1/s}, c: {capacity: 5, refill: 1/s, plans: {pro: {capacity: 50}}}, gone: {capacity: 9, refill: 1/s}, counts: {algorithm: sliding-window, limit: 5, window: 1m}, log: {algorithm: sliding-log, limit: 5, window: 1m}, pool: {capacity: 1000, refill: 1/s, hold: 1m, plans: {slow: {refill: 1/10s}}}, month: {algorithm: fixed-window, limit: 5, window: 720h, hold: 1m}, streams: {algorithm: concurrency, limit: 5, lease: 1m}}")
	after := parse("limits: {a: {capacity: 10, refill: 1/s, plans: {free: {capacity: 1}}, overrides: [{key: k, capacity: 20}]}, b: {capacity: 7, refill: 1/s}, c: {capacity: 5, refill: 1/s}, pool: {capacity: 1000, refill: 1/s, hold: 1m, plans: {large: {capacity: 2000}}}}")
	shorter := limit.Shorter(before, after)
	second := int64(time.Second)
	for name, want := range map[string]int64{"a": 100 * second, "b": 0, "c": 50 * second, "gone": 9 * second, "pool": 10_000 * second} {
		if got := shorter[name]; got != want {
			t.Errorf("%s was shortened from %v, want %v", name, time.Duration(got), time.Duration(want))
		}
	}
	if len(shorter) != 4 {
		t.Errorf("%v are shorter: windows have registers of their own, and are in none of them", shorter)
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
	for name, want := range map[string]int64{"b": 7, "c": 50, "pool": 10_000} {
		if rule, _ := led.Rule(name); rule.Lead() < want*second || rule.Lead() > 2*want*second {
			t.Errorf("%s leads %v", name, time.Duration(rule.Lead()))
		}
	}
	large, _ := led.Plan("pool", "large")
	if rule := large.Rule; rule.Lead() < 10_000*second || rule.Ahead() != 0 || rule.Reach() != 0 {
		t.Errorf("a plan of a bucket leads %v, and lies %v ahead", time.Duration(rule.Lead()), time.Duration(rule.Ahead()))
	}
	if rule, _ := after.Rule("pool"); rule.Lead() != 2000*second {
		t.Errorf("a bucket leads %v, and its largest plan takes 2000 s", time.Duration(rule.Lead()))
	}
	if rule, _ := after.Rule("a"); rule.Lead() != 20*second {
		t.Errorf("the document itself has changed: %v", time.Duration(rule.Lead()))
	}
}

// The slowest of a bucket's numbers leads all of them: those of a plan, of an override in the document, and of one that was set.
func TestLeadOfABucket(t *testing.T) {
	doc, err := limit.ParseDocument([]byte("limits: {pool: {capacity: 1000, refill: 1/10s, hold: 1m, overrides: [{key: w, refill: 1/100s}]}}"))
	if err != nil {
		t.Fatal(err)
	}
	const want = 100_000 * time.Second
	own, _ := doc.Rule("pool")
	if got := time.Duration(own.Lead()); got != want {
		t.Errorf("the limit leads %v, and an override of the document takes %v", got, want)
	}
	doc, problems := doc.WithOverrides([]limit.OverrideChange{{Limit: "pool", Key: "k", Set: &limit.Override{Limit: "pool", Key: "k", Says: "refill: 1/1s"}}})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	own, _ = doc.Rule("pool")
	r := doc.CauseOf("pool", "k", "", func() int64 { return 1e18 }).Rule(own)
	if got := time.Duration(r.Lead()); r == own || got != want {
		t.Errorf("an override that was set leads %v", got)
	}
}
