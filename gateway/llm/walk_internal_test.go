package llm

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"
)

// slowMembers are the members of an object as encoding/json reads them, in their order; nil for anything else.
func slowMembers(text []byte) []string {
	d := json.NewDecoder(bytes.NewReader(text))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return nil
	}
	members := []string{}
	for d.More() {
		key, err := d.Token()
		name, ok := key.(string)
		var value json.RawMessage
		if err != nil || !ok || d.Decode(&value) != nil {
			return nil
		}
		members = append(members, name, string(value))
	}
	return members
}

// FuzzWalk walks over any text, and compares with encoding/json where it is an object.
func FuzzWalk(f *testing.F) {
	for _, text := range []string{
		`{"a":1,"b":[{"c":"\\\""}],"\u0061":"]}"}`, ` { "a" : { } , "b":null }`, `{"a`, `{"a":`, `{"a":"\`, `{"a":{"b":[`, `}`, `[1,[2,{}],"x"]`, `{1:2}`, `{"a",:1}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		deeperThan(text, 3)
		whole := root(text)
		if !whole.found() {
			if json.Valid(text) && slowMembers(text) != nil {
				t.Fatalf("%q is an object", text)
			}
			return
		}
		for _, p := range []path{{"a"}, {"a", "b"}, {"b", "a", "c"}} {
			locate(text, whole, p)
		}
		var got []string
		for w := walkInto(text, whole); ; {
			key, value, ok := w.member()
			if !ok {
				break
			}
			var name string
			if err := json.Unmarshal(slices.Concat([]byte{'"'}, key, []byte{'"'}), &name); err == nil && !sameKey(key, name) && bytes.IndexByte(key, '\\') >= 0 {
				t.Fatalf("%q is not the key %q", key, name)
			}
			got = append(got, name, string(value.of(text)))
		}
		if json.Valid(text) && !slices.Equal(got, slowMembers(text)) {
			t.Fatalf("%q: got %q, want %q", text, got, slowMembers(text))
		}
	})
}
