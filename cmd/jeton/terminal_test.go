package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
	"time"
	"unicode"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/gateway/denial"
	"github.com/jeton-dev/jeton/rpc/client"
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
			if _, err := io.Copy(&terminal{to: &out}, struct{ io.Reader }{text}); err != nil || out.String() != want {
				t.Errorf("%q written %s is %q, want %q; %v", in, name, out.String(), want, err)
			}
		}
	}
	broken := errors.New("no space left")
	if _, err := (&terminal{to: failing{broken}}).Write([]byte("x")); !errors.Is(err, broken) {
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
		if _, err := (&terminal{to: &shown}).Write(exact); err != nil || steers(strings.ReplaceAll(shown.String(), "\uFFFD", "")) {
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

// What a client has put into a request that was refused does not reach the terminal of whoever asks why; programs get it as
// it was.
func TestExplainIsPlain(t *testing.T) {
	const id = "edge-1-1-aaaaaaaaaaaaaaaa"
	text := strings.ReplaceAll(hostile, "\x9b1m", "") // which JSON cannot carry
	record := &denial.Record{
		ID: id, At: time.Now(), Route: text, Method: text, Path: "/" + text, Key: text, Status: 429, Reason: text, Node: text, Source: text,
		Limits: []denial.Limit{{Outcome: limit.Outcome{Name: text, Limit: 1}, Rule: &limit.Limit{Name: text, Capacity: 1, Refill: limit.Refill{Tokens: 1, Per: time.Second}}}},
	}
	status := http.StatusOK
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		if status != http.StatusOK {
			_ = json.NewEncoder(w).Encode(map[string]string{"detail": text})
			return
		}
		_ = json.NewEncoder(w).Encode(record)
	}))
	t.Cleanup(s.Close)
	stdout, stderr, code := jeton(t, nil, "explain", id, "--gateway", s.URL)
	if code != exitOK || steers(stdout+stderr) || strings.Contains(stdout, "\nallowed") || !strings.Contains(stdout, `"/\x1b[2J`) {
		t.Errorf("exit code %d:\n%q\n%q", code, stdout, stderr)
	}
	stdout, _, _ = jeton(t, nil, "explain", id, "--gateway", s.URL, "--output", "json")
	var got denial.Record
	if err := json.Unmarshal([]byte(stdout), &got); err != nil || got.Path != record.Path || got.Key != text || steers(stdout) {
		t.Errorf("%v: %q", err, stdout)
	}
	status = http.StatusNotFound
	if _, stderr, code = jeton(t, nil, "explain", id, "--gateway", s.URL); code != exitError || steers(stderr) || !strings.Contains(stderr, `\u001b[2J`) {
		t.Errorf("exit code %d: %q", code, stderr)
	}
}

// The same of what nodes answer.
func TestAnswersArePlain(t *testing.T) {
	for name, write := range map[string]func(io.Writer, string) error{
		"check": func(w io.Writer, text string) error {
			return printDecision(w, limit.Decision{Limits: []limit.Outcome{{Name: text}, {Name: text, Allowed: true}}}, false)
		},
		"limits diff": func(w io.Writer, text string) error {
			return printChange(w, client.Applied{Changes: limit.Changes{Added: []string{text}, Changed: []string{text}, Removed: []string{text}}})
		},
	} {
		var out bytes.Buffer
		if err := write(&out, hostile); err != nil || steers(out.String()) || strings.Contains(out.String(), "\nallowed\t") {
			t.Errorf("%s: %v, %q", name, err, out.String())
		}
	}
}

// Logs of nodes and gateways have what clients send in some of their values.
func TestLogsArePlain(t *testing.T) {
	var out bytes.Buffer
	newLogger(&out, "info").Info(hostile, "method", hostile, hostile, "x", "error", errors.New(hostile)) //nolint:sloglint // a hostile key
	if steers(out.String()) || strings.Count(out.String(), "\n") != 1 {
		t.Errorf("%q", out.String())
	}
}
