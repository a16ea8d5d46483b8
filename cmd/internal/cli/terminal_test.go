package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"unicode"
)

// hostile is a text that clears the screen, sets the title, turns the direction of writing, and forges a line.
const hostile = "\x1b[2J\x1b]0;owned\x07\u009b31m\u202e\x9b1m\r\nallowed\tforged\x7f\u2028\U000e0041"

// steers says whether a text has something that a terminal acts upon.
func steers(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool {
		return r != '\n' && r != '\t' && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) || r == '\uFFFD'
	})
}

func TestTerminal(t *testing.T) {
	for in, want := range map[string]string{
		"plain\ttext, ä 日本 😀\n": "plain\ttext, ä 日本 😀\n",
		"\x1b[31m\r":            `\u001b[31m\u000d`,
		"\u009b\x9b\x7f":        `\u009b\ufffd\u007f`,
		"\u202ea\u2066":         `\u202ea\u2066`,
		"\U000e0041":            `\udb40\udc41`,
	} {
		for name, text := range map[string]io.Reader{"whole": strings.NewReader(in), "by byte": iotest.OneByteReader(strings.NewReader(in))} {
			var out bytes.Buffer
			if _, err := io.Copy(&Terminal{To: &out}, struct{ io.Reader }{text}); err != nil || out.String() != want {
				t.Errorf("%q written %s is %q, want %q; %v", in, name, out.String(), want, err)
			}
		}
	}
	broken := errors.New("no space left")
	if _, err := (&Terminal{To: failing{broken}}).Write([]byte("x")); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}

type failing struct{ error }

func (f failing) Write([]byte) (int, error) { return 0, f.error }

// To programs, JSON is the same with and without a terminal between.
func FuzzTerminalKeepsJSON(f *testing.F) {
	f.Add(hostile)
	f.Fuzz(func(t *testing.T, text string) {
		exact, err := json.Marshal(map[string]string{text: text})
		if err != nil {
			t.Fatal(err)
		}
		var shown bytes.Buffer
		if _, err := (&Terminal{To: &shown}).Write(exact); err != nil || steers(strings.ReplaceAll(shown.String(), "\uFFFD", "")) {
			t.Fatalf("%q: %v", shown.String(), err)
		}
		var want, got map[string]string
		if json.Unmarshal(exact, &want) != nil || json.Unmarshal(shown.Bytes(), &got) != nil {
			t.Fatalf("%q is no JSON, %q was", shown.String(), exact)
		}
		for k, v := range want {
			if got[k] != v {
				t.Fatalf("%q became %q", want, got)
			}
		}
	})
}

// Logs of nodes and gateways have what clients send in some of their values.
func TestLogsArePlain(t *testing.T) {
	var out bytes.Buffer
	NewLogger(&out, "info").Info(hostile, "method", hostile, hostile, "x", "error", errors.New(hostile)) //nolint:sloglint // a hostile key
	if steers(out.String()) || strings.Count(out.String(), "\n") != 1 {
		t.Errorf("%q", out.String())
	}
}
