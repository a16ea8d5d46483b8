package keys

import (
	"bytes"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
)

// FuzzParse holds that no text makes parse panic, that what is wrong has a line, and that what it takes can be written and is then
// read the same.
func FuzzParse(f *testing.F) {
	const digest = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
	f.Add(`{"label":"ci","owner":"acme","attributes":{"plan":"gold"},"expires":"2027-01-01T00:00:00Z","digest":"` + digest + `"}` + "\n# ours\n\n")
	f.Add(`{"label":"a","owner":"\u00e9\\\"","digest":"` + digest + `"}`)
	f.Add(`{"label":"a","attributes":{},"owner":"b","expires":"2027-01-01T00:00:00.5+02:00","digest":"` + digest + `"}` + "\r\n")
	f.Add(`{"label":"a","attributes":{"a":"b","a":"c"}}`)
	f.Add(`{"x":{"y":{"z":[{"a":1}]}}}`)
	f.Add("{}")
	f.Add("# revoked ci " + digest + " 2026-11-22T18:00:00Z\n# revoked ci\n")
	f.Fuzz(func(t *testing.T, text string) {
		all, err := parse("file", strings.NewReader(text))
		if err != nil {
			if !strings.HasPrefix(err.Error(), "file:") && !errors.Is(err, errEmpty) {
				t.Fatalf("the error has no line: %v", err)
			}
			return
		}
		written := []byte(header) // a file without a key is not empty
		for _, k := range all.keys {
			if bytes.IndexByte(k.Key.line(), '\n') != len(k.Key.line())-1 {
				t.Fatalf("%+v is not written on one line", k.Key)
			}
			written = append(written, k.Key.line()...)
		}
		for _, d := range all.revoked {
			written = append(written, (&Key{Label: "a", Digest: d}).revocation(time.Now())...)
		}
		again, err := parse("file", bytes.NewReader(written))
		if err != nil || len(again.keys) != len(all.keys) || !slices.Equal(again.revoked, all.revoked) {
			t.Fatalf("of %d keys %d are read again: %v\n%s", len(all.keys), len(again.keys), err, written)
		}
		for i := range all.keys {
			k, other := all.keys[i].Key, again.keys[i].Key
			if k.Label != other.Label || k.Owner != other.Owner || k.Digest != other.Digest || !k.Expires.Equal(other.Expires) ||
				!maps.Equal(k.Attributes, other.Attributes) {
				t.Fatalf("%+v is read again as %+v", k, other)
			}
		}
	})
}
