package simulate

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// simulated runs a log of JSON lines against a document.
func simulated(t *testing.T, document, log string) (*Report, string) {
	t.Helper()
	r, err := Run(Config{Logs: logs(log), Limits: parsed(t, document), Columns: 10, Top: 5})
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := r.Print(&text, Style{Plain: true}); err != nil {
		t.Fatal(err)
	}
	return r, text.String()
}

// planned is a check of a key in the n-th second.
func planned(n int, key, plan string) string {
	return fmt.Sprintf(`{"time":%d,"key":%q,"plan":%q}`+"\n", 1790000000+n, key, plan)
}

// Checks are delayed as long as their limit lets them wait, one behind the other; without a wait they are denied.
func TestDelays(t *testing.T) {
	r, text := simulated(t, "limits: {denies: {capacity: 1, refill: 1/s}, waits: {capacity: 1, refill: 1/s, wait: 3s}}", strings.Repeat(planned(0, "a", ""), 6)+planned(10, "a", ""))
	denies, waits := r.Candidates[0], r.Candidates[1]
	if denies.Admitted != 2 || denies.Delay != nil || waits.Admitted != 5 || waits.Denied != 2 || time.Duration(waits.LongestWait) != time.Second {
		t.Errorf("%+v\n%+v", denies, waits)
	}
	if want := (Delay{Checks: 3, Median: Step(2 * time.Second), P99: Step(3 * time.Second), Longest: Step(3 * time.Second)}); *waits.Delay != want {
		t.Errorf("%+v, want %+v", *waits.Delay, want)
	}
	if !strings.Contains(text, "delayed  median  99 %  longest\n") || !strings.Contains(text, "3      2s    3s       3s\n") {
		t.Error(text)
	}
	if want := []Key{{Key: "a", Admitted: 5, Denied: 2, Delayed: 3}}; !slices.Equal(waits.TopDelayed, want) || denies.TopDelayed != nil {
		t.Errorf("most delayed: %+v and %+v, want %+v", waits.TopDelayed, denies.TopDelayed, want)
	}
	if !strings.Contains(text, "\nmost denied  denied  of\na                 2   7\n\nmost delayed  delayed  of\na                   3   7\n") {
		t.Error(text)
	}
	if _, text = simulated(t, "limits: {denies: {capacity: 1, refill: 1/s}}", planned(0, "a", "")); strings.Contains(text, "delayed") {
		t.Errorf("where no limit has a wait:\n%s", text)
	}
}

// A line names its plan, and an override of the document counts before it. A limit without that plan goes by its own numbers.
func TestPlansOfLines(t *testing.T) {
	const document = `limits:
  api: {capacity: 1, refill: 1/1h, plans: {pro: {capacity: 3}}, overrides: [{key: vip, allow: true}, {key: no, deny: true}, {key: two, capacity: 2}]}
  own: {capacity: 2, refill: 1/1h}
`
	for _, tt := range []struct {
		key, plan string
		api, own  int64
	}{{"a", "", 1, 2}, {"a", "pro", 3, 2}, {"vip", "pro", 5, 2}, {"no", "pro", 0, 2}, {"two", "pro", 2, 2}} {
		r, _ := simulated(t, document, strings.Repeat(planned(0, tt.key, tt.plan), 5))
		if r.Candidates[0].Admitted != tt.api || r.Candidates[1].Admitted != tt.own {
			t.Errorf("%s by plan %q: %d and %d, want %d and %d", tt.key, tt.plan, r.Candidates[0].Admitted, r.Candidates[1].Admitted, tt.api, tt.own)
		}
	}
}

// A plan that no limit has is a mistake of its line; where no limit has plans, the field means nothing.
func TestUnknownPlan(t *testing.T) {
	log := planned(0, "a", "gold")
	_, err := Run(Config{Logs: logs(log), Limits: parsed(t, "limits: {api: {capacity: 1, refill: 1/s, plans: {free: {capacity: 1}, pro: {capacity: 2}}}}"), Columns: 10})
	if !errors.Is(err, ErrUnreadable) || !strings.Contains(err.Error(), `log-1:1: plan: no limit has a plan "gold": they have free, pro`) {
		t.Error(err)
	}
	if r, _ := simulated(t, "limits: {api: {capacity: 1, refill: 1/s}}", log); r.Candidates[0].Admitted != 1 {
		t.Errorf("%+v", r)
	}
}
