package limit_test

import (
	"reflect"
	"testing"

	"github.com/jeton-dev/jeton/actor/limit"
)

func TestDifferences(t *testing.T) {
	parse := func(text string) *limit.Document {
		doc, err := limit.ParseDocument([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return doc
	}
	before := parse("limits: {login: {capacity: 10, refill: 1/s, on_unavailable: deny}, old: {capacity: 1, refill: 1/h}, same: {capacity: 2, refill: 60/1m}}")
	after := parse("limits: {login: {capacity: 20, refill: 1/s, on_unavailable: allow}, export: {capacity: 5, refill: 5/1m}, same: {capacity: 2, refill: 60/1m}}")
	type fields = []limit.FieldDifference
	want := map[string]fields{
		"export": {{"algorithm", "", "token-bucket"}, {"capacity", "", "5"}, {"refill", "", "5/m"}, {"on_unavailable", "", "allow"}},
		"login":  {{"capacity", "10", "20"}, {"on_unavailable", "deny", "allow"}},
		"old":    {{"algorithm", "token-bucket", ""}, {"capacity", "1", ""}, {"refill", "1/h", ""}, {"on_unavailable", "allow", ""}},
	}
	var names []string
	for _, d := range limit.Differences(before, after) {
		names = append(names, d.Limit)
		if got := d.Fields(); !reflect.DeepEqual(got, want[d.Limit]) {
			t.Errorf("%s: %+v, want %+v", d.Limit, got, want[d.Limit])
		}
	}
	if !reflect.DeepEqual(names, []string{"export", "login", "old"}) {
		t.Errorf("the limits that differ are %q", names)
	}
	if same := limit.Differences(after, after); len(same) != 0 {
		t.Errorf("a document differs from itself in %+v", same)
	}
	if none := limit.Differences(&limit.Document{}, &limit.Document{}); len(none) != 0 {
		t.Errorf("nothing differs from nothing in %+v", none)
	}
}
