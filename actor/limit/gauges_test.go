package limit_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/jeton-dev/jeton/actor/limit"
)

// TestGauges reads, writes and refuses gauges, in both forms of a document and in JSON.
func TestGauges(t *testing.T) {
	for _, text := range []string{"limits:\n  a:\n    capacity: 10\n    refill: 1/s\n    gauges: 5\n", "limits: {a: {capacity: 10, refill: 1/s, gauges: 5}}"} {
		doc, err := limit.ParseDocument([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		rule, _ := doc.Rule("a")
		written, err := doc.YAML()
		if err != nil || rule.Gauges != 5 || !strings.Contains(string(written), "gauges: 5") {
			t.Errorf("%d gauges, written as %s, %v", rule.Gauges, written, err)
		}
		var back limit.Limit
		if data, err := json.Marshal(rule.Limit); err != nil || json.Unmarshal(data, &back) != nil || back != rule.Limit {
			t.Errorf("as JSON it is %s, read as %+v, %v", data, back, err)
		}
		if terms := strings.Join(rule.Terms(), ", "); strings.Contains(terms, "gauges") {
			t.Errorf("its terms are %s", terms)
		}
	}
	for fields, want := range map[string]string{
		"capacity: 10, refill: 1/s, gauges: x":                     `"x" is not a whole number of keys from 0 to 20`,
		"capacity: 10, refill: 1/s, gauges: 21":                    "21 is not from 0 to 20 keys",
		"capacity: 10, refill: 1/s, gauges: -1":                    "-1 is not from 0 to 20 keys",
		"capacity: 10, refill: 1/s, gauges: 1, consistency: local": "those of a local limit are at its edges",
	} {
		if _, err := limit.ParseDocument([]byte("limits: {a: {" + fields + "}}")); err == nil || !strings.Contains(err.Error(), "limits.a.gauges: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", fields, err)
		}
	}
	if _, err := new(limit.Document).Resolve(limit.Inline(limit.Limit{Name: "a", Capacity: 1, Refill: perSecond(1), Gauges: 1})); err == nil || !strings.Contains(err.Error(), "gauges: is for stored limits") {
		t.Errorf("of a limit that a request defines: %v", err)
	}
}

// TestGaugesInAll bounds the gauges of all limits of a document together, and says where there is one too many.
func TestGaugesInAll(t *testing.T) {
	for _, form := range []string{"  l%02d:\n    capacity: 10\n    refill: 1/s\n    gauges: 20\n", "  l%02d: {capacity: 10, refill: 1/s, gauges: 20}\n"} {
		text, limits := "limits:\n", []limit.Limit(nil)
		for i := range limit.MostGaugesAll/limit.MostGauges + 1 {
			if _, err := limit.ParseDocument([]byte(text + "  last: {capacity: 1, refill: 1/s}\n")); err != nil {
				t.Errorf("%d limits with gauges: %v", i, err)
			}
			text += fmt.Sprintf(form, i)
			limits = append(limits, limit.Limit{Name: fmt.Sprint("l", i), Capacity: 10, Refill: perSecond(1), Gauges: 20})
		}
		if _, err := limit.ParseDocument([]byte(text)); err == nil || !strings.Contains(err.Error(), "limits.l10.gauges: makes more than 200 of all limits together") {
			t.Errorf("one too many: %v", err)
		}
		if _, err := limit.NewDocument(limits...); err == nil || !strings.Contains(err.Error(), "limits.l10.gauges: makes more than 200") {
			t.Errorf("one too many: %v", err)
		}
	}
}

// TestGaugesDecideNothing changes the gauges of a limit: it is another document, and buckets do not notice.
func TestGaugesDecideNothing(t *testing.T) {
	l := limit.Limit{Name: "a", Capacity: 10, Refill: perSecond(1)}
	before := ruleOf(t, l)
	l.Gauges = 5
	after := ruleOf(t, l)
	if !before.Equal(after) || len(limit.Effects(before, after)) != 0 {
		t.Errorf("equal %v, effects %q", before.Equal(after), limit.Effects(before, after))
	}
}
