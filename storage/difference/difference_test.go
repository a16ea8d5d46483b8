package difference

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"
)

// most is how long ledgers may be in these tests.
const most = 56 << 10

// of makes the difference from one ledger to the next.
func of(m *Maker, base, next []byte) []byte {
	return m.Append(nil, base, SumOf(base), next, SumOf(next))
}

func TestApply(t *testing.T) {
	long := bytes.Repeat([]byte("0123456789abcdef"), 100)
	for name, test := range map[string]struct {
		base, next string
		atMost     int // bytes, besides what says of which ledgers it is
	}{
		"nothing to something":      {"", "abc", 7},
		"something to nothing":      {"abc", "", 1},
		"nothing to nothing":        {"", "", 1},
		"the same":                  {"what stays", "what stays", 5},
		"added behind":              {string(long), string(long) + "more", 12},
		"taken from behind":         {string(long), string(long[:len(long)-5]), 6},
		"taken from the front":      {"first one, " + string(long), string(long), 12},
		"changed in the middle":     {string(long) + "?" + string(long), string(long) + "!" + string(long), 16},
		"grown in the middle":       {string(long) + "?" + string(long), string(long) + "!!!" + string(long), 24},
		"nothing in common":         {"abcdefghijklmnop", "0123456789", 16},
		"what stood behind, before": {"abcdefghijklmnop0123456789", "0123456789abcdefghijklmnop", 40},
	} {
		t.Run(name, func(t *testing.T) {
			var m Maker
			d := of(&m, []byte(test.base), []byte(test.next))
			got, ok := Apply([]byte(test.base), d, most)
			if !ok || string(got) != test.next {
				t.Errorf("got %q and %v, want %q", got, ok, test.next)
			}
			if len(d) > 32+test.atMost || Length(d) != len(test.next) {
				t.Errorf("the difference has %d bytes, and is of %d", len(d)-32, Length(d))
			}
			if again, ok := Apply(got, d, most); !ok || string(again) != test.next {
				t.Errorf("whoever has the next ledger makes %q and %v of it", again, ok)
			}
			if test.base != test.next {
				if wrong, ok := Apply(append([]byte("x"), test.base...), d, most); ok {
					t.Errorf("of another base it makes %q", wrong)
				}
			}
			if _, ok := Apply([]byte(test.base), d, len(test.next)-1); ok {
				t.Error("it made more than it may")
			}
		})
	}
}

// edited is a ledger after some random edits of a few bytes each.
func edited(r *rand.Rand, ledger []byte, edits int) []byte {
	for range edits {
		at := r.IntN(len(ledger) + 1)
		gone := min(r.IntN(20), len(ledger)-at)
		come := make([]byte, r.IntN(20))
		for i := range come {
			come[i] = byte(r.IntN(1 + r.IntN(256)))
		}
		ledger = bytes.Join([][]byte{ledger[:at], come, ledger[at+gone:]}, nil)
	}
	return ledger
}

// TestLedgersGoOn draws ledgers and edits of them: whoever has the base makes the next ledger of the difference, and of another base,
// or of a difference with other bytes, nobody makes anything else. Where little changes, the difference is short.
func TestLedgersGoOn(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	var m Maker
	for range 3000 {
		base := edited(r, nil, r.IntN(500))
		edits := r.IntN(10)
		next := edited(r, base, edits)
		d := of(&m, base, next)
		if got, ok := Apply(base, d, most); !ok || !bytes.Equal(got, next) {
			t.Fatalf("%x, which became %x: made %x, %v", base, next, got, ok)
		}
		if room := 48 + 80*edits; len(d) > room {
			t.Fatalf("%d bytes for %d edits of %d bytes", len(d), edits, len(base))
		}
		if other := edited(r, base, 1); !bytes.Equal(other, base) && !bytes.Equal(other, next) {
			if _, ok := Apply(other, d, most); ok {
				t.Fatal("another base was taken for the right one")
			}
		}
		d[r.IntN(len(d))] ^= byte(1 + r.IntN(255))
		if got, ok := Apply(base, d, most); ok && !bytes.Equal(got, next) {
			t.Fatalf("a byte was changed, and %x made of it, not %x", got, next)
		}
	}
}

// TestLedgersWithoutAnythingInCommon become differences that are hardly longer than themselves, of whatever length.
func TestLedgersWithoutAnythingInCommon(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	random := func(n int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		return b
	}
	var m Maker
	for _, n := range []int{0, 1, 7, 8, 9, 1000, most, maxIndexed + 1000} {
		base, next := random(n), random(n)
		d := of(&m, base, next)
		if len(d) > n+64 {
			t.Errorf("%d bytes became %d", n, len(d))
		}
		if got, ok := Apply(base, d, n); !ok || !bytes.Equal(got, next) {
			t.Errorf("%d bytes: %v", n, ok)
		}
		more := append(bytes.Clone(base), next...) // an index that was larger before
		if got, ok := Apply(base, of(&m, base, more), 2*n); !ok || !bytes.Equal(got, more) {
			t.Errorf("%d bytes and as many: %v", n, ok)
		}
	}
}

// FuzzApply reads differences from strangers: what is made has the length and the sum that was said, and no more than may be.
func FuzzApply(f *testing.F) {
	var m Maker
	base := bytes.Repeat([]byte("0123456789abcdef"), 20)
	f.Add(base, of(&m, base, base[7:])[32:])
	f.Add(base, of(&m, base, append(bytes.Clone(base), "more"...))[32:])
	f.Add(base, []byte{200, 1, 200, 2, 0, 0, 200, 2, 0, 0})
	f.Fuzz(func(t *testing.T, base, rest []byte) {
		length, n := binary.Uvarint(rest)
		if n <= 0 || length > most {
			return
		}
		made, ok := apply(base, rest[n:], int(length))
		if len(made) > int(length) || cap(made) > int(length) {
			t.Fatalf("made %d bytes of %d", len(made), length)
		}
		from, to := SumOf(base), SumOf(made)
		d := append(append(from[:], to[:]...), rest...)
		got, whole := Apply(base, d, most)
		if whole && SumOf(got) != to {
			t.Fatal("what was made is not what was said")
		}
		if ok && !whole {
			t.Fatal("a difference with the right sums made nothing")
		}
		Apply(base, rest, most)
	})
}

// FuzzMaker makes differences of whatever ledgers.
func FuzzMaker(f *testing.F) {
	f.Add([]byte("0123456789abcdef0123456789abcdef"), []byte("0123456789abcdef!0123456789abcdef"))
	f.Add([]byte{}, []byte{1})
	f.Fuzz(func(t *testing.T, base, next []byte) {
		var m Maker
		d := of(&m, base, next)
		if got, ok := Apply(base, d, len(next)); !ok || !bytes.Equal(got, next) {
			t.Fatalf("made %x, %v, not %x", got, ok, next)
		}
		if len(d) > 64+2*len(next) {
			t.Fatalf("%d bytes for %d", len(d), len(next))
		}
	})
}
