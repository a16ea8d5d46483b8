package storage

import (
	"bytes"
	"errors"
	"math"
	"testing"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/storage/register"
)

func TestRegisterKey(t *testing.T) {
	tests := []struct {
		p          ring.Partition
		key, limit string
		want       string
	}{
		{0, "user:42", "demo", "r\x00\x00\x00\x07user:42demo"},
		{270, "a", "b", "r\x01\x0e\x00\x01ab"},
		{math.MaxUint16, "ip:2001:db8::/64", "x", "r\xff\xff\x00\x10ip:2001:db8::/64x"},
		{1, "", "", "r\x00\x01\x00\x00"},
	}
	for _, test := range tests {
		if got := registerKey(nil, test.p, test.key, test.limit); string(got) != test.want {
			t.Errorf("registerKey(%d, %q, %q) = %q, want %q", test.p, test.key, test.limit, got, test.want)
		}
	}
}

// Keys that begin alike are kept apart: the length of the key stands before it.
func TestRegisterKeysDiffer(t *testing.T) {
	if bytes.Equal(registerKey(nil, 1, "user:4", "2demo"), registerKey(nil, 1, "user:42", "demo")) {
		t.Error("two buckets have one register")
	}
}

// FuzzParseRegisterKey holds parseRegisterKey against registerKey: whatever it takes, it takes apart as it was put
// together, and anything else is an error.
func FuzzParseRegisterKey(f *testing.F) {
	f.Add([]byte("r\x01\x0e\x00\x07user:42demo"))
	f.Add([]byte("r\x00\x00\x00\x00"))
	f.Add([]byte("r\x00\x00\x00\x05four"))
	f.Add([]byte("p\x00\x00"))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, text []byte) {
		p, key, limit, err := parseRegisterKey(text)
		if err != nil {
			if !errors.Is(err, register.ErrCorrupt) {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		if again := registerKey(nil, p, key, limit); !bytes.Equal(again, text) {
			t.Fatalf("%q is (%d, %q, %q), which is written %q", text, p, key, limit, again)
		}
		lower, upper := registersOf(p)
		if bytes.Compare(text, lower) < 0 || bytes.Compare(text, upper) >= 0 {
			t.Fatalf("%q does not lie between %q and %q", text, lower, upper)
		}
	})
}

// FuzzRegisterKey writes any bucket's key and reads it.
func FuzzRegisterKey(f *testing.F) {
	f.Add(uint16(270), "user:42", "demo")
	f.Add(uint16(math.MaxUint16), "", "")
	f.Fuzz(func(t *testing.T, p uint16, key, limit string) {
		if len(key) > 512 || len(limit) > 64 {
			t.Skip("longer than any")
		}
		text := registerKey([]byte("before"), ring.Partition(p), key, limit)
		gotP, gotKey, gotLimit, err := parseRegisterKey(text[len("before"):])
		if err != nil || gotP != ring.Partition(p) || gotKey != key || gotLimit != limit {
			t.Fatalf("(%d, %q, %q) was read as (%d, %q, %q), %v", p, key, limit, gotP, gotKey, gotLimit, err)
		}
	})
}
