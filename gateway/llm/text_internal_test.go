package llm

import (
	"encoding/json"
	"math/rand/v2"
	"testing"
)

func TestTextIn(t *testing.T) {
	for value, want := range map[string]int64{
		`"abc"`:                3,
		`""`:                   0,
		`"größe 日本"`:           14,
		`"\u65e5\u672c\n\"\\"`: 9,
		`"\ud83d\ude00"`:       4,
		`null`:                 0,
		`12`:                   0,
		`[]`:                   0,
		`["a",["bc"]]`:         3,
		`{"text" : "abc"}`:     3,
		`[{"index":0,"id":"call_123","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}}]`: 8,
		`{"id":"audio_1","data":"AAAA","transcript":"hi"}`:                                                2,
		`{"\u0069d":"x","a:":"b"}`: 1,
	} {
		text := []byte(`{"x":` + value + `,"y":"beyond"}`)
		if got := textIn(text, locate(text, root(text), path{"x"}).span); got != want {
			t.Errorf("%s has %d bytes of text, want %d", value, got, want)
		}
	}
	if got := textIn(nil, span{}); got != 0 {
		t.Errorf("nothing has %d bytes of text", got)
	}
}

// TestTextInAsDecoded compares with what encoding/json makes of texts, which it has escaped in its own way.
func TestTextInAsDecoded(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for range 5000 {
		letters := make([]rune, random.IntN(12))
		for i := range letters {
			letters[i] = []rune{'a', '"', '\\', '\n', '<', '\u2028', 'ü', '日', '😀', rune(random.IntN(0xD800))}[random.IntN(10)]
		}
		text, err := json.Marshal([]string{string(letters), "ab"})
		if err != nil {
			t.Fatal(err)
		}
		if got, want := textIn(text, span{0, len(text)}), int64(len(string(letters))+2); got != want {
			t.Errorf("%s has %d bytes of text, want %d", text, got, want)
		}
	}
}
