package limit_test

import (
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/jeton-dev/jeton/actor/limit"
)

func TestQuote(t *testing.T) {
	for in, want := range map[string]string{
		"":                            `""`,
		"user:42":                     `"user:42"`,
		"a\nb\x1b[2J\u202e\xff":       `"a\nb\x1b[2J\u202e\xff"`,
		strings.Repeat("a", 64):       `"` + strings.Repeat("a", 64) + `"`,
		strings.Repeat("a", 65):       `"` + strings.Repeat("a", 64) + `"…`,
		strings.Repeat("é", 40) + "x": `"` + strings.Repeat("é", 32) + `"…`,
		"a" + strings.Repeat("é", 40): `"a` + strings.Repeat("é", 31) + `"…`,
		strings.Repeat("\x80", 70):    `"` + strings.Repeat(`\x80`, 60) + `"…`,
	} {
		if got := limit.Quote(in); got != want {
			t.Errorf("%q is quoted as %s, want %s", in, got, want)
		}
	}
}

func FuzzQuote(f *testing.F) {
	f.Add("key\x00\xf0\x9f")
	f.Fuzz(func(t *testing.T, s string) {
		quoted := limit.Quote(s)
		if !utf8.ValidString(quoted) || strings.ContainsFunc(quoted, func(c rune) bool { return !unicode.IsPrint(c) }) {
			t.Fatalf("%q is not printable", quoted)
		}
		was, err := strconv.Unquote(strings.TrimSuffix(quoted, "…"))
		if err != nil || !strings.HasPrefix(s, was) || len(was) > limit.MaxQuoted || len(was) < min(len(s), limit.MaxQuoted-utf8.UTFMax) {
			t.Fatalf("%q is quoted as %s: %v", s, quoted, err)
		}
	})
}
