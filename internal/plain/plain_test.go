package plain_test

import (
	"math"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/jeton-dev/jeton/internal/plain"
)

// hostile is a text that clears the screen, sets the title, turns the direction of writing, and forges a line.
const hostile = "\x1b[2J\x1b]0;owned\x07\u009b31m\u202e\x9b1m\r\nallowed\tforged\x7f\u2028"

func TestPlain(t *testing.T) {
	for in, want := range map[string]string{
		"":                    "",
		"/v1/items?a=\"b c\"": "/v1/items?a=\"b c\"",
		"/ä/日本/😀":             "/ä/日本/😀",
		"\x1b[31m":            `"\x1b[31m"`,
		"a\nb":                `"a\nb"`,
		"a\tb":                `"a\tb"`,
		"\u009b31m":           `"\u009b31m"`,
		"\x9b31m":             `"\x9b31m"`,
		"\u202egnp":           `"\u202egnp"`,
		"\u2066a":             `"\u2066a"`,
		"a\u00a0b":            `"a\u00a0b"`,
		"\U000e0001":          `"\U000e0001"`,
		"\uFFFD":              "\uFFFD", // also in what was shown of something once before
		"\uFFFD\x9b":          `"�\x9b"`,
	} {
		if got := plain.Text(in); got != want {
			t.Errorf("%q is shown as %s, want %s", in, got, want)
		}
	}
}

func FuzzPlain(f *testing.F) {
	f.Add(hostile)
	f.Add("/v1/items")
	f.Add("\uFFFD")
	f.Fuzz(func(t *testing.T, s string) {
		got := plain.Text(s)
		if strings.ContainsFunc(got, func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Fatalf("%q is shown as %q", s, got)
		}
		if plain.Text(got) != got {
			t.Fatalf("%q is shown as %q, and that otherwise", s, got)
		}
	})
}

func TestDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0:                                "0s",
		1:                                "1ns",
		12345:                            "13µs",
		1234567:                          "1.235ms",
		12345678:                         "13ms",
		1500 * time.Millisecond:          "1.5s",
		10*time.Second + 1:               "11s",
		6 * time.Minute:                  "6m",
		time.Hour:                        "1h",
		time.Hour + time.Minute:          "1h1m",
		72*time.Hour + 59*time.Second:    "72h0m59s",
		4 * 24 * time.Hour:               "4d",
		4*24*time.Hour + time.Nanosecond: "4d1h",
		math.MaxInt64:                    "106751d23h",
		-5 * time.Second:                 "-5s",
	} {
		if got := plain.Duration(d); got != want {
			t.Errorf("%d ns: got %s, want %s", int64(d), got, want)
		}
	}
}

func TestFirst(t *testing.T) {
	for text, want := range map[string]string{"a": "a", "a\nb": "a, and 1 more", "a\nb\nc": "a, and 2 more", "a\x1b\nb": `"a\x1b", and 1 more`} {
		if got := plain.First(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestPlural(t *testing.T) {
	for n, want := range map[int]string{0: "nodes", 1: "node", 2: "nodes", -1: "nodes"} {
		if got := plain.Plural(n, "node", "nodes"); got != want {
			t.Errorf("%d %s, want %s", n, got, want)
		}
	}
}
