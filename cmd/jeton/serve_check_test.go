package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jeton-dev/jeton/cmd/internal/cli"
)

// --check says what the files of a node mean, and names what is wrong in them, and starts nothing.
func TestServeCheck(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	limits, wrong := write("limits.yaml", "limits: {a: {capacity: 1, refill: 1/s}}"), write("wrong.yaml", "limits: {a: {capacity: 0, refill: 1/s}}")
	good := filepath.Dir(write("good/d.yaml", "domain: d\ndescriptors:\n  - {key: user, rate_limit: {unit: hour, requests_per_unit: 2}}\n"))
	bad := filepath.Dir(write("bad/d.yaml", "domain: d\ndescriptors:\n  - {key: user, rate_limit: {unit: fortnight, requests_per_unit: 2}}\n"))
	list := write("list.yaml", "- {namespace: a, max_value: 1, seconds: 60, conditions: [], variables: [user_id]}\n")
	unreadable := write("unreadable.yaml", "- {namespace: a, max_value: 1, seconds: 60, conditions: ['x =='], variables: []}\n")
	both := write("both.yaml", "- {namespace: a, max_value: 1, seconds: 60, conditions: ['x =='], variables: []}\n- {namespace: a, max_valu: 1, seconds: 60, conditions: [], variables: []}\n")
	for _, c := range []struct {
		args string
		code int
		says []string
	}{
		{"--limits " + limits + " --rls-config " + good, 0, []string{"limits.yaml is good: limits: 1", "charge_always"}},
		{"--limits " + wrong, cli.ExitError, []string{"wrong.yaml", "capacity"}},
		{"--rls-config " + bad, cli.ExitError, []string{"d.yaml:3", "fortnight", "use second"}},
		{"--rls-config " + filepath.Join(dir, "none"), cli.ExitError, []string{"none"}},
		{"--kuadrant-config " + list, 0, []string{"Namespaces: 1. Limits: 1.", `list.yaml:1: [0].variables[0]: refers to "user_id"`, "Different from Limitador"}},
		{"--kuadrant-config " + unreadable, cli.ExitError, []string{"unreadable.yaml:1: [0].conditions[0]", "is no CEL"}},
		{"--kuadrant-config " + filepath.Join(dir, "none"), cli.ExitError, []string{"none"}},
		{"--kuadrant-config " + both, cli.ExitError, []string{"both.yaml:1: [0].conditions[0]", "Look at these lines", "both.yaml:2: [1].max_valu"}},
		{"--rls-config " + list, cli.ExitError, []string{"list.yaml is no directory: name the one with the files"}},
		{"--limits " + dir, cli.ExitError, []string{"--limits: ", "is a directory"}},
		{"", cli.ExitError, []string{"--check: there is nothing to check"}},
	} {
		stdout, stderr, code := jeton(t, nil, append([]string{"serve", "--check", "--data", filepath.Join(dir, "data")}, strings.Fields(c.args)...)...)
		for _, says := range c.says {
			if code != c.code || !strings.Contains(stdout+stderr, says) {
				t.Errorf("serve --check %s: exit code %d, %s%s, want %d and %q", c.args, code, stdout, stderr, c.code, says)
			}
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "data")); err == nil {
		t.Error("a directory for data was made")
	}
}
