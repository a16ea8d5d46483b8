package limit

import "testing"

// Limits of the other document take the place of those of the same names, and neither document changes.
func TestDocumentWith(t *testing.T) {
	read := func(text string) *Document {
		t.Helper()
		doc, err := ParseDocument([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return doc
	}
	one := read("limits: {b: {capacity: 1, refill: 1/s}, c: {capacity: 1, refill: 1/s}}")
	other := read("limits: {c: {capacity: 2, refill: 1/s}, a: {capacity: 3, refill: 1/s}}")
	want := read("limits: {a: {capacity: 3, refill: 1/s}, b: {capacity: 1, refill: 1/s}, c: {capacity: 2, refill: 1/s}}")
	for _, tt := range []struct{ got, want *Document }{
		{one.With(other), want}, {one.With(&Document{}), one}, {new(Document).With(other), other}, {new(Document).With(new(Document)), &Document{}},
	} {
		if c := Difference(tt.want, tt.got); len(c.Names()) > 0 || len(tt.got.Rules()) != len(tt.want.Rules()) {
			t.Errorf("differs in %v", c.Names())
		}
	}
	if rule, _ := one.Rule("c"); rule.Capacity != 1 || len(one.Rules()) != 2 || len(other.Rules()) != 2 {
		t.Error("a document has changed")
	}
}
