package limit_test

import (
	"testing"

	"github.com/jeton-dev/jeton/actor/limit"
)

// An override of the key counts before the plan, and the plan before the limit.
func TestCauseOf(t *testing.T) {
	doc := read(t, varied)
	own, _ := doc.Rule("api")
	for _, c := range []struct {
		key, plan       string
		told            limit.Outcome
		capacity        int64
		verdict         limit.Verdict
		decidedByItself bool
	}{
		{"nobody", "", limit.Outcome{}, 100, limit.Decides, true},
		{"nobody", "gone", limit.Outcome{}, 100, limit.Decides, true},
		{"nobody", "pro", limit.Outcome{Plan: "pro"}, 1000, limit.Decides, false},
		{"org:acme:1", "pro", limit.Outcome{Override: `capacity: 500 for "org:acme:*", of the limits document`}, 500, limit.Decides, false},
		{"user:7", "pro", limit.Outcome{Override: `deny for "user:7", of the limits document`}, 100, limit.Denies, false},
	} {
		by := doc.CauseOf("api", c.key, c.plan, nil)
		var told limit.Outcome
		by.Tell(&told)
		if told != c.told || by.Rule(own).Capacity != c.capacity || by.Verdict() != c.verdict || (by == limit.Cause{}) != c.decidedByItself {
			t.Errorf("%s by plan %q: %+v with a capacity of %d, verdict %q", c.key, c.plan, told, by.Rule(own).Capacity, by.Verdict())
		}
	}
}
