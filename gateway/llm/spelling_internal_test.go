package llm

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestSpelling compares with encoding/json, which takes keys in other letters for the same, on random keys.
func TestSpelling(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	pieces := []string{
		"k", "s", "K", "S", "\u212a", "\u017f", "_", "é", "É", "😀", `\u006b`, `\u004B`, `\u212a`, `\u017F`, `\ud83d\ude00`, `\ud83d`, `\ude00`, `\u00e9`, `\n`, `\\`, `\/`, `\"`, "x",
	}
	names := []string{"k", "ks", "s_k", "é", "😀", "sks", "/", "ß"}
	seen := map[likeness]int{}
	for range 200_000 {
		key := ""
		for range 1 + random.IntN(3) {
			key += pieces[random.IntN(len(pieces))]
		}
		name := names[random.IntN(len(names))]
		var plain string
		if err := json.Unmarshal([]byte(`"`+key+`"`), &plain); err != nil {
			t.Fatal(err)
		}
		want := other
		switch {
		case plain == name:
			want = same
		case strings.EqualFold(plain, name):
			want = alike
		}
		if got := spelling([]byte(key), name); got != want {
			t.Fatalf("%q is like %q: %d, want %d", key, name, got, want)
		}
		seen[want]++
	}
	if seen[same] < 100 || seen[alike] < 100 || seen[other] < 100 {
		t.Errorf("%v", seen)
	}
	if n := testing.AllocsPerRun(100, func() { spelling([]byte(`\u006dodel`), "model") }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	long := bytes.Repeat([]byte(`\u006d`), 1<<20)
	if n := testing.AllocsPerRun(1, func() { spelling(long, "model") }); n != 0 {
		t.Errorf("%v allocations for a long key", n)
	}
}

// FuzzSpelling reads any bytes without a panic: keys of answers need not be valid.
func FuzzSpelling(f *testing.F) {
	for _, key := range []string{`\`, `\u`, `\u00`, `\ud83d`, `\ud83d\u`, `\ud83d\ude0`, "\xff", `max_tok\u0065ns`} {
		f.Add([]byte(key), "max_tokens")
	}
	f.Fuzz(func(t *testing.T, key []byte, name string) {
		if spelling(key, name) == same && !bytes.ContainsAny(key, "\\\xff\xfe") && string(key) != name && bytes.IndexFunc(key, func(r rune) bool { return r > 127 }) < 0 {
			t.Errorf("%q is not %q", key, name)
		}
	})
}
