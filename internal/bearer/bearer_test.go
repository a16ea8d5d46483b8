package bearer_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/jeton-dev/jeton/internal/bearer"
)

func TestCut(t *testing.T) {
	for value, want := range map[string]string{
		"Bearer abc":         "abc",
		"bEARER abc":         "abc",
		"Bearer \t abc \t":   "abc",
		"Bearer\tabc":        "abc",
		"Bearer two words":   "two words", // judged by whoever looks for the token
		"Bearer ":            "",
		"Bearer Bearer abc ": "Bearer abc",
	} {
		if got, ok := bearer.Cut(value); got != want || !ok {
			t.Errorf("%q: %q, %t; want %q", value, got, ok, want)
		}
	}
	for _, value := range []string{"", "Bearer", "Bearerabc", "Bearer\nabc", "Basic abc", " Bearer abc", "abc", "Beare abc"} {
		if got, ok := bearer.Cut(value); got != "" || ok {
			t.Errorf("%q: %q, %t; want none", value, got, ok)
		}
	}
}

const (
	oneToken     = "0123456789abcdef"
	anotherToken = "another-token-of-operators"
)

func TestParse(t *testing.T) {
	longest := strings.Repeat("x", bearer.MaxLength)
	for text, want := range map[string][]string{
		oneToken: {oneToken},
		"# of Ann\n" + oneToken + "\r\n\n  " + anotherToken + "  \n": {oneToken, anotherToken},
		longest + "\n": {longest},
		strings.Repeat(oneToken+"\n", bearer.MaxTokens): slices.Repeat([]string{oneToken}, bearer.MaxTokens),
	} {
		if got, err := bearer.Parse([]byte(text)); err != nil || !slices.Equal(got, want) {
			t.Errorf("%.64q: %.64q, %v; want %.64q", text, got, err, want)
		}
	}
	for text, says := range map[string]string{
		"":                              "holds no token",
		" \n\t":                         "holds no token",
		"\n# only a comment\n":          "holds no token",
		oneToken + "\nshort-secret\n":   "line 2: a token needs at least 16 bytes, this one has 12",
		"\n\n" + longest + "x":          "line 3: a token has at most 4096 bytes, this one has 4097",
		"two tokens in a single line\n": "line 1: a token is printable ASCII without spaces",
		oneToken + "\ntökentökentöken":  "line 2: a token is printable ASCII",
		oneToken + "\x00":               "line 1: a token is printable ASCII",
		strings.Repeat(oneToken+"\n", bearer.MaxTokens+1): "holds 1001 tokens; the maximum is 1000",
	} {
		_, err := bearer.Parse([]byte(text))
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%.64q: %v, want %q", text, err, says)
		}
		if err != nil && (strings.Contains(err.Error(), oneToken) || strings.Contains(err.Error(), "short-secret")) {
			t.Errorf("%v shows a token", err)
		}
	}
}

func TestNames(t *testing.T) {
	got := bearer.Names([]byte("# tokens of operators\n" + oneToken + "\n# name:  ann \r\n" + anotherToken + "\r\n#name: nobody\n\nthe-third-of-the-tokens\n" +
		"# name: " + strings.Repeat("ü", 40) + "\nthe-fourth-of-the-tokens\n# name: other\n" + anotherToken + "\n"))
	want := map[string]string{anotherToken: "ann", "the-fourth-of-the-tokens": strings.Repeat("ü", 32)}
	if !maps.Equal(got, want) {
		t.Errorf("the names are %q, want %q", got, want)
	}
}

func TestSet(t *testing.T) {
	set := bearer.NewSet(oneToken, anotherToken, oneToken)
	for token, want := range map[string]bool{
		oneToken: true, anotherToken: true, oneToken + "0": false, oneToken[1:]: false, "": false, " " + oneToken: false,
		strings.Repeat("x", bearer.MaxLength+1): false,
	} {
		if got := set.Has(token); got != want {
			t.Errorf("Has(%.20q) = %t, want %t", token, got, want)
		}
	}
	if bearer.NewSet("").Has("") {
		t.Error("no token is one")
	}
	var none *bearer.Set
	if none.Has(oneToken) || bearer.NewSet().Has(oneToken) {
		t.Error("a set of none has a token")
	}
}
