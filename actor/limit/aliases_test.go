package limit_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jeton-dev/jeton/actor/limit"
)

// Aliases repeat what is written once, in whatever place they stand: all that a document becomes is counted.
func TestAliasesAreCounted(t *testing.T) {
	const n = 300 // times n is more than may be
	var overrides, plans strings.Builder
	for i := range n {
		fmt.Fprintf(&overrides, "{key: k%d, deny: true}, ", i)
		fmt.Fprintf(&plans, "p%d: {capacity: 9}, ", i)
	}
	for name, c := range map[string]struct{ first, again, field string }{
		"overrides": {"{capacity: 5, refill: 1/s, overrides: &o [" + overrides.String() + "]}", "{capacity: 5, refill: 1/s, overrides: *o}", ".overrides["},
		"plans":     {"{capacity: 5, refill: 1/s, plans: &o {" + plans.String() + "}}", "{capacity: 5, refill: 1/s, plans: *o}", ".plans.p"},
		"limits":    {"&o {capacity: 5, refill: 1/s, overrides: [" + overrides.String() + "]}", "*o", ".overrides["},
	} {
		text := "limits:\n  l0: " + c.first + "\n"
		for i := range n {
			text += fmt.Sprintf("  l%d: %s\n", i+1, c.again)
		}
		_, err := limit.ParseDocument([]byte(text))
		if err == nil || !strings.Contains(err.Error(), c.field) || !strings.Contains(err.Error(), "is one of more than 50000 plans and overrides") {
			t.Errorf("%s, %d times %d: %v", name, n, n, err)
		}
	}
	doc, err := limit.ParseDocument([]byte("limits: {a: &a {capacity: 1, refill: 1/s, overrides: [{key: k, deny: true}]}, b: *a}"))
	if err != nil || doc.Override("b", "k", nil) == nil {
		t.Errorf("a limit that is an alias: %v", err)
	}
}
