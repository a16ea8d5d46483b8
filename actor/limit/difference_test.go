package limit_test

import (
	"reflect"
	"testing"

	"github.com/jeton-dev/jeton/actor/limit"
)

func TestDifference(t *testing.T) {
	parse := func(text string) *limit.Document {
		doc, err := limit.ParseDocument([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return doc
	}
	before := parse("limits: {login: {capacity: 10, refill: 1/s, on_unavailable: deny}, old: {capacity: 1, refill: 1/h}, same: {capacity: 2, refill: 60/1m}}")
	after := parse("limits: {login: {capacity: 20, refill: 1/s, on_unavailable: allow}, export: {capacity: 5, refill: 5/1m}, same: {capacity: 2, refill: 60/1m}}")
	want := limit.Changes{
		Added: []string{"export"}, Changed: []string{"login"}, Removed: []string{"old"},
		Fields: []limit.FieldChange{
			{"export", "algorithm", "", "token-bucket"},
			{"export", "capacity", "", "5"},
			{"export", "refill", "", "5/m"},
			{"export", "on_unavailable", "", "allow"},
			{"login", "capacity", "10", "20"},
			{"login", "on_unavailable", "deny", "allow"},
			{"old", "algorithm", "token-bucket", ""},
			{"old", "capacity", "1", ""},
			{"old", "refill", "1/h", ""},
			{"old", "on_unavailable", "allow", ""},
		},
	}
	got := limit.Difference(before, after)
	if len(got.Effects) == 0 || got.Effects[0].Limit != "export" {
		t.Errorf("the effects are %q", got.Effects)
	}
	got.Effects = nil // see TestEffects
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if said := got.Summary(); said != "login: capacity 10 → 20; login: on_unavailable deny → allow; added export; removed old" {
		t.Errorf("in a line: %s", said)
	}
	if names := got.Names(); !reflect.DeepEqual(names, []string{"export", "login", "old"}) {
		t.Errorf("the limits that differ are %q", names)
	}
	for what, same := range map[string]*limit.Document{"a document": after, "nothing": {}} {
		if got := limit.Difference(same, same); !reflect.DeepEqual(got, limit.Changes{}) {
			t.Errorf("%s differs from itself in %+v", what, got)
		}
	}
}

// A field that is left out is not none: of a reserve it is the default, and of a debt the capacity.
func TestSummaryOfWhatIsLeftOut(t *testing.T) {
	document := func(fields string) *limit.Document {
		doc, err := limit.ParseDocument([]byte("limits: {pay: {capacity: 100, refill: 1/s, hold: 1m" + fields + "}}"))
		if err != nil {
			t.Fatal(err)
		}
		return doc
	}
	with, without := document(", max_debt: 5, reserve: exact"), document("")
	for _, c := range []struct {
		before, after *limit.Document
		want          string
	}{
		{with, without, "pay: max_debt 5 → left out; pay: reserve exact → left out"},
		{without, with, "pay: max_debt left out → 5; pay: reserve left out → exact"},
	} {
		changes := limit.Difference(c.before, c.after)
		if said := changes.Summary(); said != c.want {
			t.Errorf("got %q, want %q", said, c.want)
		}
	}
}
