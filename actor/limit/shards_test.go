package limit

import (
	"fmt"
	"testing"
)

// Few overrides are one map, and many are divided without one being lost; a document that shares them stays as it was.
func TestFewOverridesAreOneMap(t *testing.T) {
	doc, err := ParseDocument([]byte("limits: {l: {capacity: 5, refill: 1/s}}"))
	if err != nil {
		t.Fatal(err)
	}
	before := doc
	for i := range 3 * fewOf {
		for _, key := range []string{fmt.Sprintf("k%d", i), fmt.Sprintf("p%d:*", i)} {
			before = doc
			next, problems := doc.WithOverrides([]OverrideChange{{Limit: "l", Key: key, Set: &Override{Limit: "l", Key: key, Says: "deny"}}})
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			doc = next
		}
		want := 1
		if i >= fewOf {
			want = shardsOf
		}
		if o := doc.overrides["l"]; len(o.exact) != want || len(o.begin) != want {
			t.Fatalf("%d keys are in %d maps, and as many prefixes in %d; want %d", i+1, len(o.exact), len(o.begin), want)
		}
		for j := range i + 1 {
			if doc.Override("l", fmt.Sprintf("k%d", j), nil) == nil || doc.Override("l", fmt.Sprintf("p%d:x", j), nil) == nil {
				t.Fatalf("of %d the override %d is lost", i+1, j)
			}
		}
		if before.Override("l", fmt.Sprintf("p%d:x", i), nil) != nil {
			t.Fatal("a document has changed")
		}
	}
}
