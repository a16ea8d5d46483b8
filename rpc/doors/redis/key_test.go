package redis

import (
	"bytes"
	"strings"
	"testing"

	"github.com/jeton-dev/jeton/actor/limit"
)

func TestKeys(t *testing.T) {
	long := strings.Repeat("é", 256)
	digested := keyOf([]byte(long + "!"))
	seen := map[string]string{}
	for _, tt := range []struct{ key, begins string }{
		{"user:42", "user:42"},
		{"rate:web@file:10.0.0.1", "rate:web@file:10.0.0.1"},
		{long, long},
		{long + "!", strings.Repeat("é", 32) + digestMark},
		{long + "?", strings.Repeat("é", 32) + digestMark},
		{"", digestMark},
		{"a\xffb", "ab" + digestMark},
		{"a\xfeb", "ab" + digestMark},
		{"x" + long + "!", "x" + strings.Repeat("é", 31) + digestMark},
		{digested, strings.Repeat("é", 32) + digestMark}, // it would be the key of another one
	} {
		got := keyOf([]byte(tt.key))
		if !strings.HasPrefix(got, tt.begins) || limit.ValidateKey(got) != nil {
			t.Errorf("%.20q becomes %q", tt.key, got)
		}
		if other, taken := seen[got]; taken {
			t.Errorf("%q is the key of %q and of %q", got, tt.key, other)
		}
		seen[got] = tt.key
	}
	if digested == keyOf([]byte(digested)) {
		t.Error("a key that looks like one with a digest is left as it is")
	}
}

func FuzzKeys(f *testing.F) {
	for _, key := range []string{"", "a", "\xff", strings.Repeat("k", 513), "~sha256:" + strings.Repeat("0", 64)} {
		f.Add([]byte(key), []byte("a"))
	}
	f.Fuzz(func(t *testing.T, a, b []byte) {
		if err := limit.ValidateKey(keyOf(a)); err != nil {
			t.Errorf("%q: %v", a, err)
		}
		if !bytes.Equal(a, b) && keyOf(a) == keyOf(b) {
			t.Errorf("%q and %q are both %q", a, b, keyOf(a))
		}
	})
}
