package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cmd/internal/cli"
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

// What a client has put into a request that was refused does not reach the operator's terminal unescaped; programs get it as
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
	if code != cli.ExitOK || steers(stdout+stderr) || strings.Contains(stdout, "\nallowed") || !strings.Contains(stdout, `"/\x1b[2J`) {
		t.Errorf("exit code %d:\n%q\n%q", code, stdout, stderr)
	}
	stdout, _, _ = jeton(t, nil, "explain", id, "--gateway", s.URL, "--output", "json")
	var got denial.Record
	if err := json.Unmarshal([]byte(stdout), &got); err != nil || got.Path != record.Path || got.Key != text || steers(stdout) {
		t.Errorf("%v: %q", err, stdout)
	}
	status = http.StatusNotFound
	if _, stderr, code = jeton(t, nil, "explain", id, "--gateway", s.URL); code != cli.ExitError || steers(stderr) || !strings.Contains(stderr, `\u001b[2J`) {
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
