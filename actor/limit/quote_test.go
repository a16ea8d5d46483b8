package limit_test

import (
	"encoding/json"
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

// However much of what was sent is wrong, an error repeats little of it, and nothing that a terminal would obey.
func TestErrorsRepeatLittle(t *testing.T) {
	long := strings.Repeat("x\x1b[31m\u202e", 5000)
	var errs []error
	for _, text := range []string{
		"limits: {a: {capacity: " + strconv.Quote(long) + ", refill: 1/s}}", "limits: {a: {capacity: 1, refill: " + strconv.Quote(long) + "}}",
		strconv.Quote(long) + ": 1", "limits: {" + strconv.Quote(long) + ": {capacity: 1, refill: 1/s}}", "limits: {a: {" + strconv.Quote(long) + ": 1}}",
		"limits: {a: {algorithm: " + strconv.Quote(long) + ", capacity: 1, refill: 1/s}}",
	} {
		_, err := limit.ParseDocument([]byte(text))
		errs = append(errs, err)
	}
	doc, err := limit.ParseDocument([]byte("limits: {}"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = doc.Resolve(limit.Named(long))
	errs = append(errs, err, limit.Request{Key: "k", Limits: []limit.Ref{limit.Named(long)}}.Validate())
	quoted, err := json.Marshal(long)
	if err != nil {
		t.Fatal(err)
	}
	for _, body := range []string{`{"key":"k","limits":["a"],` + string(quoted) + `:1}`, `{"limits":[{"name":"a","refill":` + string(quoted) + `}]}`, string(quoted)} {
		var r limit.Request
		errs = append(errs, limit.DecodeJSON([]byte(body), &r))
	}
	for i, err := range errs {
		if err == nil {
			t.Fatalf("number %d is right", i)
		}
		if text := err.Error(); len(text) > 500 || strings.ContainsFunc(text, func(c rune) bool { return !unicode.IsPrint(c) }) {
			t.Errorf("number %d: %d bytes: %.300q", i, len(text), text)
		}
	}
}
