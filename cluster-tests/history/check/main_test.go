package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/jeton-dev/jeton/cluster-tests/history"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const limit = `{"kind":"limit","limit":"api","capacity":2,"tokens":1,"per_ns":1000000000}` + "\n"

func check(key, span string) string {
	return `{"kind":"check","limit":"api","key":"` + key + `","cost":1,"start":1000000000,"end":1000000001,"outcome":"admitted",` +
		`"receipt":{"generation":"0",` + span + `,"owner":"o","serial":0}}` + "\n"
}

const (
	first  = `"start":1000000000,"end":2000000000`
	second = `"start":2000000000,"end":3000000000`
	twice  = `"start":1999999999,"end":2999999999`
)

// With a file and what stands after it, the command prints so and exits so.
func TestCommand(t *testing.T) {
	good := limit + check("a", first) + check("a", second)
	bad := good + check("b", first) + check("b", twice)
	for name, tt := range map[string]struct {
		file string
		args []string // FILE stands for the file
		code int
		out  []string
		errs string
	}{
		"all hold":        {good, []string{"FILE"}, held, []string{"2 calls of 1 limits, 0 faults", "disjoint", "windows", "2 spans", "holds"}, ""},
		"one does not":    {bad, []string{"FILE"}, violated, []string{"VIOLATED 1 times", "limit api, key b: spans overlap by 1 ns", "+0.000000000 s"}, ""},
		"another one":     {bad, []string{"FILE", "lengths", "windows"}, held, []string{"4 receipts"}, ""},
		"another key":     {bad, []string{"--key", "a", "FILE"}, held, []string{"2 spans"}, ""},
		"no key":          {bad, []string{"--key", "c", "FILE"}, unusable, nil, "no calls to check"},
		"no such checker": {good, []string{"FILE", "window"}, unusable, nil, `"window" is not a checker: there are disjoint, `},
		"flags come last": {good, []string{"FILE", "--key", "a"}, unusable, nil, "flags stand before the FILE"},
		"a bad flag":      {good, []string{"--output", "xml", "FILE"}, unusable, nil, `--output: "xml"`},
		"bad epsilon":     {good, []string{"--epsilon", "-1s", "FILE"}, unusable, nil, "--epsilon: -1s"},
		"an unknown flag": {good, []string{"--what", "FILE"}, unusable, nil, "-what"},
		"no file":         {good, nil, unusable, nil, "FILE"},
		"a missing file":  {good, []string{"FILE.not"}, unusable, nil, "no such file"},
		"a bad file":      {good + "{", []string{"FILE"}, unusable, nil, "line 4: ends in the middle"},
		"an empty file":   {"", []string{"FILE"}, unusable, nil, "no calls to check"},
		"help":            {good, []string{"--help"}, held, nil, "no line is spent twice"},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "history.jsonl")
			if err := os.WriteFile(file, []byte(tt.file), 0o600); err != nil {
				t.Fatal(err)
			}
			var args []string
			for _, a := range tt.args {
				args = append(args, strings.Replace(a, "FILE", file, 1))
			}
			var out, errs bytes.Buffer
			if code := run(args, nil, &out, &errs); code != tt.code {
				t.Errorf("exit code %d, want %d", code, tt.code)
			}
			for _, want := range tt.out {
				if !strings.Contains(out.String(), want) {
					t.Errorf("printed\n%s\nwant %q in it", out.String(), want)
				}
			}
			if !strings.Contains(errs.String(), tt.errs) || tt.errs == "" && errs.Len() > 0 {
				t.Errorf("complained %q, want %q", errs.String(), tt.errs)
			}
		})
	}
}

func TestJSON(t *testing.T) {
	in := strings.NewReader(limit + check("a", first) + check("a", twice))
	var out, errs bytes.Buffer
	if code := run([]string{"--output", "json", "-", "disjoint"}, in, &out, &errs); code != violated {
		t.Errorf("exit code %d: %s", code, errs.String())
	}
	var results []history.Result
	if err := json.Unmarshal(out.Bytes(), &results); err != nil {
		t.Fatal(err)
	}
	if len(results) != 1 || results[0].Found != 1 || results[0].Violations[0].Key != "a" || len(results[0].Violations[0].Shown) != 2 {
		t.Errorf("%s", out.String())
	}
}
