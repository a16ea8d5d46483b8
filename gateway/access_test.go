package gateway_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/gateway/accesslog"
	"github.com/jeton-dev/jeton/gateway/denial"
)

const accessDocument = `
access_log: {path: "-", %s}
exempt: {networks: [192.0.2.77]}
routes:
- {name: shared, path: /shared, checks: [{key: ["user:{header.X-User}"], limits: [five]}, {key: ["ip:{ip}"], limits: [two]}]}
- {name: open, path: /open, checks: [{limits: [ten], on_unavailable: allow}]}
- {name: closed, path: /closed, checks: [{limits: [strict]}]}
`

// An accessLine is a line of the access log, as its readers see it.
type accessLine struct {
	Outcome, Method, Path, Route, Client, Denial, By, Error string
	RequestID                                               string `json:"request_id"`
	TraceID                                                 string `json:"trace_id"`
	UserAgent                                               string `json:"user_agent"`
	Status                                                  int
	Limits                                                  []struct {
		Limit, Key string
		Allowed    bool
		Remaining  int64
		RetryAfter float64 `json:"retry_after_ms"`
	}
}

// accessLines runs a gateway whose document says so of its access log, and returns the lines that it has written.
func accessLines(t *testing.T, says string, do func(*rig)) (lines []accessLine) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "access.log")
	l, err := accesslog.Open(accesslog.Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	r := newLoggingRig(t, fmt.Sprintf(accessDocument, says), l)
	do(r)
	if err := l.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if said := r.logs.String(); strings.Contains(said, "msg=decision") {
		t.Errorf("decisions are logged twice: %s", said)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(text) {
		var e accessLine
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		lines = append(lines, e)
	}
	return lines
}

// outcomes are those of lines.
func outcomes(lines []accessLine) string {
	all := make([]string, len(lines))
	for i := range lines {
		all[i] = lines[i].Outcome
	}
	return strings.Join(all, " ")
}

// drive sends requests of every kind: two that pass and one that is denied, one that is exempt, and two without a decision.
func drive(r *rig) {
	for range 3 {
		r.ask(request(r.T, http.MethodGet, "/shared?token=secret", "X-User: ann", "User-Agent: test", "X-Request-Id: id-1"))
	}
	r.ask(request(r.T, http.MethodGet, "/open", "From: 192.0.2.77:1"))
	r.breakDown(fmt.Errorf("%w: key %s of 192.0.2.1", limit.ErrUnavailable, limit.Quote("ip:192.0.2.1")))
	r.ask(request(r.T, http.MethodGet, "/open"))
	r.ask(request(r.T, http.MethodGet, "/closed"))
}

// The document says which requests have a line.
func TestAccessLogOf(t *testing.T) {
	for says, want := range map[string]string{
		"":                             "denied unavailable",
		"what: denied":                 "denied unavailable",
		"what: undecided":              "fail_open unavailable",
		"what: all":                    "admitted admitted denied exempt fail_open unavailable",
		"what: all, sample: 0":         "",
		"what: all, hash_keys: true":   "admitted admitted denied exempt fail_open unavailable",
		"what: undecided, query: true": "fail_open unavailable",
	} {
		if got := outcomes(accessLines(t, says, drive)); got != want {
			t.Errorf("%q: %q, want %q", says, got, want)
		}
	}
}

func TestAccessLine(t *testing.T) {
	lines := accessLines(t, "what: all", drive)
	l := lines[2]
	if l.Status != http.StatusTooManyRequests || l.Method != http.MethodGet || l.Path != "/shared" || l.Route != "shared" || l.Client != "192.0.2.1" ||
		l.RequestID != "id-1" || l.UserAgent != "test" || l.Denial == "" || l.By != "cluster" {
		t.Errorf("%+v", l)
	}
	if len(l.Limits) != 2 {
		t.Fatalf("%+v", l.Limits)
	}
	// A key that is made of a header is a secret.
	if of := l.Limits[0]; of.Limit != "five" || of.Key != denial.Hash("user:ann") || !of.Allowed || of.RetryAfter != 0 {
		t.Errorf("%+v", of)
	}
	if of := l.Limits[1]; of.Limit != "two" || of.Key != "ip:192.0.2.1" || of.Allowed || of.Remaining != 0 || of.RetryAfter == 0 {
		t.Errorf("%+v", of)
	}
	if passed := lines[0]; passed.Status != http.StatusNoContent || len(passed.Limits) != 2 {
		t.Errorf("%+v", passed)
	}
	if open := lines[4]; open.Error == "" || open.Status != http.StatusNoContent {
		t.Errorf("%+v", open)
	}
}

// With hash_keys no key and no address is in a line, not even in words of errors; and one with its query has it.
func TestAccessLogHashes(t *testing.T) {
	for i, l := range accessLines(t, "what: all, hash_keys: true, query: true", drive) {
		l.Denial = "" // is drawn, and may have any letters
		text, err := json.Marshal(l)
		if err != nil {
			t.Fatal(err)
		}
		for _, secret := range []string{"ip:192", "ann"} {
			if bytes.Contains(text, []byte(secret)) {
				t.Errorf("%s has %q", text, secret)
			}
		}
		if i < 3 && l.Path != "/shared?token=secret" {
			t.Errorf("the path is %q", l.Path)
		}
		if l.Client != "" && !strings.HasPrefix(l.Client, "sha256-") {
			t.Errorf("the client is %q", l.Client)
		}
	}
}

// Whatever clients send, every request has one line, and it can be read.
func TestAccessLogOfAnything(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		text := rapid.StringOfN(rapid.Rune(), 0, 300, -1)
		raw := rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 300), func(b []byte) string { return string(b) })
		some := rapid.OneOf(text, raw)
		n := rapid.IntRange(1, 4).Draw(rt, "requests")
		lines := accessLines(t, "what: all, query: true", func(r *rig) {
			for range n {
				q := request(t, http.MethodGet, "/shared")
				q.URL.Path, q.URL.RawQuery, q.Method = "/shared"+some.Draw(rt, "path"), some.Draw(rt, "query"), some.Draw(rt, "method")
				q.Header = http.Header{"X-User": {some.Draw(rt, "user")}, "User-Agent": {some.Draw(rt, "agent")}, "X-Request-Id": {some.Draw(rt, "id")}}
				r.ask(q)
			}
		})
		if len(lines) != n {
			rt.Fatalf("%d requests have %d lines", n, len(lines))
		}
	})
}
