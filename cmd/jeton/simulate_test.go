package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jeton-dev/jeton/cmd/internal/cli"
)

// within writes files into a new directory and returns their paths.
func within(t *testing.T, files map[string]string) map[string]string {
	t.Helper()
	dir, paths := t.TempDir(), map[string]string{}
	for name, text := range files {
		paths[name] = filepath.Join(dir, name)
		if err := os.WriteFile(paths[name], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return paths
}

func TestSimulateVerb(t *testing.T) {
	p := within(t, map[string]string{
		"limits.yaml": "limits:\n  a: {capacity: 2, refill: 1/s}\n  b: {capacity: 1, refill: 1/m}\n  try-2: {capacity: 1, refill: 1/s}\n",
		"wrong.yaml":  "limits:\n  a: {capacity: 0, refill: 1/s}\n",
		"log":         strings.Repeat(`{"time":1790000000,"key":"u\u001b[2J","user":"x"}`+"\n", 3) + `{"time":1790000001,"key":"v"}` + "\n",
		"empty":       "",
	})
	for _, tt := range []struct {
		args string
		code int
		says []string
	}{
		{"-f LIMITS LOG", cli.ExitOK, []string{"4 checks of 2 keys, from 2026-09-21 14:13:20", "a: capacity 2, refill 1/s", `"u\x1b[2J"`, "# admitted"}},
		{"-f LIMITS --limit b --try capacity=2,refill=1/s LOG --width 40", cli.ExitOK, []string{"\nb: capacity 1", "\ntry-1: capacity 2"}},
		{"--try {\"capacity\":2,\"refill\":\"1/s\"} LOG LOG --key {user}", cli.ExitOK, []string{"6 checks of one key, x", "left out of 8 lines: 2 have no key"}},
		{"--try capacity:2,refill:1/s LOG --cost 5", cli.ExitOK, []string{"that cost 20 tokens", "can never pass"}},
		{"-f LIMITS", cli.ExitError, []string{"LOG is missing: use jeton simulate LOG", "as in jeton simulate -f limits.yaml access.log"}},
		{"LOG", cli.ExitError, []string{"there are no limits to try: name a document with -f, or a limit with --try"}},
		{"-f LIMITS nowhere.log", cli.ExitError, []string{"open nowhere.log: no such file"}},
		{"-f LIMITS " + filepath.Dir(p["log"]), cli.ExitError, []string{"is a directory"}},
		{"-f nowhere.yaml LOG", cli.ExitError, []string{"-f: open nowhere.yaml"}},
		{"-f WRONG LOG", cli.ExitError, []string{"wrong.yaml: line 2: limits.a.capacity", "use at least 1 token"}},
		{"-f LIMITS EMPTY", cli.ExitError, []string{"the log cannot be used: it has no lines"}},
		{"-f LIMITS LIMITS", cli.ExitError, []string{"4 of 4 lines are left out, more than a tenth", "limits.yaml:1: is neither a JSON object nor a line of an access log"}},
		{"-f LIMITS --limit c LOG", cli.ExitError, []string{`--limit: the document has no limit "c"`}},
		{"--try capacity:2 LOG", cli.ExitError, []string{`--try "capacity:2": refill: is missing`}},
		{"--try capacity:2,refil:1/s LOG", cli.ExitError, []string{`--try "capacity:2,refil:1/s"`, "refil", `did you mean "refill"?`}},
		{"--try [ LOG", cli.ExitError, []string{`--try "[": "[" is no field of a limit: write 'capacity: 10, refill: 1/s'`}},
		{"-f LIMITS --try capacity:2,refill:1/s --try capacity:2,refill:1/s LOG", cli.ExitError, []string{"--try: the document has a limit try-2 already"}},
		{"-f LIMITS --key {user LOG", cli.ExitError, []string{`--key: "{user": a { has no name and }`}},
		{"-f LIMITS --key {nobody} LOG", cli.ExitError, []string{"no line has a key", "has no nobody for the key: --key names the fields, such as --key '{user}'"}},
		{"-f LIMITS --time when LOG", cli.ExitError, []string{"has no field when", "--time names the field with the time"}},
		{"-f LIMITS --cost 0 LOG", cli.ExitError, []string{"--cost: 0: use 1 or more tokens"}},
		{"-f LIMITS --cost key LOG", cli.ExitError, []string{"4 of 4 lines are left out", "is no cost"}},
		{"-f LIMITS --width 3 LOG", cli.ExitError, []string{"--width: 3: use 32 to 1000 columns, or 0"}},
		{"-f LIMITS --top -1 LOG", cli.ExitError, []string{"--top: -1: use 0 or more"}},
		{"-f - -", cli.ExitError, []string{"standard input: line 1: limits: is empty"}},
		{"-f LIMITS - -", cli.ExitError, []string{"standard input can be read once"}},
		{"-f LIMITS --output yaml LOG", cli.ExitError, []string{`--output: "yaml" is not known: use text or json`}},
	} {
		args := []string{"simulate"}
		for arg := range strings.FieldsSeq(tt.args) {
			for name, path := range map[string]string{"LIMITS": p["limits.yaml"], "WRONG": p["wrong.yaml"], "LOG": p["log"], "EMPTY": p["empty"]} {
				if arg == name {
					arg = path
				}
			}
			args = append(args, arg)
		}
		stdout, stderr, code := jeton(t, nil, args...)
		for _, want := range tt.says {
			if code != tt.code || !strings.Contains(stdout+stderr, want) || strings.Contains(stdout+stderr, "\x1b") {
				t.Errorf("%s: exit code %d, want %d and %q:\n%s%s", tt.args, code, tt.code, want, stdout, stderr)
			}
		}
	}
	stdout, stderr, code := jeton(t, nil, "simulate", "-f", p["limits.yaml"], "--output", "json", p["log"])
	var got struct {
		Candidates []struct {
			Name             string
			Admitted, Denied int
		}
	}
	if err := json.Unmarshal([]byte(stdout), &got); err != nil || code != cli.ExitOK || len(got.Candidates) != 3 || got.Candidates[0].Denied != 1 || got.Candidates[1].Denied != 2 {
		t.Errorf("JSON: %+v, %v: %s%s", got, err, stdout, stderr)
	}
}
