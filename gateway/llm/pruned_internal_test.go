package llm

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"
)

// value is a random JSON value.
func value(random *rand.Rand, depth int) any {
	texts := []string{"", "usage", "a", `"`, `\`, `\"`, `{"usage":1}`, "],", "}", ":", "é\n", `","usage":{"prompt_tokens":1}`}
	switch n := random.IntN(6); {
	case n == 0:
		return random.IntN(1000)
	case n == 1:
		return nil
	case n < 4 || depth == 0:
		return texts[random.IntN(len(texts))]
	case n == 4:
		list := []any{}
		for range random.IntN(4) {
			list = append(list, value(random, depth-1))
		}
		return list
	default:
		object := map[string]any{}
		for range random.IntN(5) {
			object[texts[random.IntN(len(texts))]] = value(random, depth-1)
		}
		return object
	}
}

// TestPruned compares random documents, cut into random pieces, with what encoding/json makes of them.
func TestPruned(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for range 20_000 {
		object := map[string]any{"usage": value(random, 3)}
		for range random.IntN(5) {
			object[fmt.Sprint(value(random, 0))] = value(random, 3)
		}
		text, err := json.Marshal(object)
		if random.IntN(2) == 0 {
			text, err = json.MarshalIndent(object, " ", "\t")
		}
		if err != nil {
			t.Fatal(err)
		}
		d := pruned{wanted: func(key []byte) bool { return sameKey(key, "usage") }}
		for left := text; len(left) > 0; {
			n := 1 + random.IntN(min(len(left), 40))
			if !d.add(left[:n], 1<<20) {
				t.Fatal("it is too long")
			}
			left = left[n:]
		}
		want := maps.Clone(object)
		for key := range want {
			if key != "usage" {
				want[key] = nil
			}
		}
		var got any
		if err := json.Unmarshal(d.kept, &got); err != nil {
			t.Fatalf("%s of %s: %v", d.kept, text, err)
		}
		had, _ := json.Marshal(want)
		has, _ := json.Marshal(got)
		if !bytes.Equal(had, has) {
			t.Fatalf("%s became %s", text, d.kept)
		}
	}
}

// FuzzPruned reads anything in two pieces, without a panic and within the bound.
func FuzzPruned(f *testing.F) {
	f.Add([]byte(`{"a" : [1], "usage":{"x":"\""}}`), 4)
	f.Add([]byte(`}}:::"`), 1)
	f.Add([]byte(`{:1,"":2}]]`), 2)
	f.Fuzz(func(t *testing.T, text []byte, at int) {
		d := pruned{wanted: func(key []byte) bool { return sameKey(key, "usage") }}
		at = max(0, min(at, len(text)))
		if d.add(text[:at], 50) {
			d.add(text[at:], 50)
		}
		if len(d.kept) > 60 {
			t.Errorf("%d bytes are kept", len(d.kept))
		}
	})
}
