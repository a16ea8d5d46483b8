package nemesis

import (
	"math"
	"slices"
	"testing"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cluster-tests/history"
	"github.com/jeton-dev/jeton/cluster-tests/load"
)

// Callers ask limits of every algorithm that there is, and each of them can be judged.
func TestEveryAlgorithmIsAsked(t *testing.T) {
	doc, err := limit.ParseDocument([]byte(founding()))
	if err != nil {
		t.Fatal(err)
	}
	asked, judged := map[string]bool{}, map[string]bool{}
	for _, r := range doc.Rules() {
		l := load.Limit(r)
		if err := l.Validate(); err != nil {
			t.Errorf("limit %s cannot be judged: %v", r.Name, err)
		}
		asked[r.Algorithm], judged[l.Algorithm] = true, true
	}
	for _, name := range limit.Algorithms() {
		if !asked[name] {
			t.Errorf("no stream asks a limit of the algorithm %s", name)
		}
	}
	for _, name := range history.Algorithms() {
		if !judged[name] {
			t.Errorf("no stream asks a limit that is judged as %s", name)
		}
	}
	sum := 0.0
	for _, s := range all() {
		sum += s.share
		if s.plain && (len(s.rules) > 1 || s.cost > 1 || s.returns > 0) {
			t.Errorf("gateways cannot ask what %s asks", s.rules[0].name)
		}
		if s.permits != slices.ContainsFunc(s.rules, func(r rule) bool {
			found, _ := doc.Rule(r.name)
			return found.Permits()
		}) {
			t.Errorf("%s: permits: %v", s.rules[0].name, s.permits)
		}
		for _, r := range s.rules {
			if found, _ := doc.Rule(r.name); (s.holds > 0) != (found.Holds.Longest > 0) || s.holds > found.Holds.Longest {
				t.Errorf("%s: holds for %v", r.name, s.holds)
			}
		}
	}
	if math.Abs(sum-1) > 1e-9 {
		t.Errorf("the shares of the streams add up to %v, not 1", sum)
	}
}
