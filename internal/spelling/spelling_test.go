package spelling

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestNearest(t *testing.T) {
	for _, c := range []struct {
		name  string
		known []string
		want  string
	}{
		{"plna", []string{"label", "owner", "plan"}, "plan"},
		{"Plan", []string{"planet", "plan"}, "plan"},
		{"pla", []string{"plan", "play"}, "plan"},
		{"tier", []string{"plan"}, "plan"},
		{"", []string{"owner", "plan"}, "plan"},
		{"plan", nil, ""},
	} {
		if got := Nearest(c.name, c.known); got != c.want {
			t.Errorf("nearest to %q of %q is %q, want %q", c.name, c.known, got, c.want)
		}
	}
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"a", "", 1}, {"", "abc", 3}, {"plan", "plan", 0}, {"kitten", "sitting", 3}, {"plna", "plan", 2}, {"flaw", "lawn", 2}} {
		if got := distance(c.a, c.b); got != c.want {
			t.Errorf("from %q to %q it takes %d changes, want %d", c.a, c.b, got, c.want)
		}
	}
}

// What looks only at near places finds the same distance as what looks at all of them.
func TestWithin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		letters := rapid.StringOfN(rapid.RuneFrom([]rune("ab")), 0, 9, -1)
		a, b, slips := letters.Draw(t, "a"), letters.Draw(t, "b"), rapid.IntRange(1, maxSlips).Draw(t, "slips")
		if got, want := within(a, b, slips), min(distance(a, b), slips+1); got != want {
			t.Errorf("from %q to %q it takes %d changes, of at most %d, want %d", a, b, got, slips, want)
		}
	})
}

// Whoever asks for an unknown name must not cost more than whoever asks for a known one.
func BenchmarkNear(b *testing.B) {
	const length = 60
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // any names do
	names := make([]string, 256)
	for i := range names {
		letters := make([]byte, length)
		for j := range letters {
			letters[j] = byte('a' + random.IntN(26))
		}
		names[i] = string(letters)
	}
	typed := strings.Repeat("a", length)
	b.ReportAllocs()
	for b.Loop() {
		Near(typed, names)
	}
}

// A name is near if it begins with what was typed or is a slip or two away, and nothing is near to a single letter.
func TestNear(t *testing.T) {
	names := []string{"list", "make", "revoke"}
	for typed, want := range map[string]string{
		"": "", "l": "", "li": "list", "lsit": "list", "maek": "make", "revok": "revoke", "reboke": "revoke", "revokes": "revoke",
		"ma": "make", "xx": "", "remove": "revoke", "delete": "", "ls": "",
	} {
		if got := Near(typed, names); got != want {
			t.Errorf("%q: %q, want %q", typed, got, want)
		}
	}
	if got := Near("mak", []string{"marked", "mike", "take"}); got != "mike" {
		t.Errorf("the first of the nearest is %q", got)
	}
	if got := Near("make", slices.Concat(names, []string{"maker", "makes"})); got != "make" {
		t.Errorf("the name itself is %q", got)
	}
}

// Anybody may have a long name looked up: it is compared with none that is shorter by more than two letters.
func TestLongNamesAreNotCompared(t *testing.T) {
	known, typed := []string{"list", "make", "revoke"}, strings.Repeat("x", 100)
	if n := testing.AllocsPerRun(10, func() { Near(typed, known) }); n != 0 {
		t.Errorf("%v allocations: one for each comparison", n)
	}
}
