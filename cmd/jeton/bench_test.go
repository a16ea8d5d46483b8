package main

import (
	"strings"
	"testing"

	"github.com/jeton-dev/jeton/cmd/internal/cli"
)

// Without jeton-bench, the command says where it looked and how to build it. With it, cluster-tests measure.
func TestBenchIsNotThere(t *testing.T) {
	t.Setenv("PATH", "")
	stdout, stderr, code := jeton(t, nil, "bench", "--limit", "login")
	for _, want := range []string{"jeton-bench is neither at /", "PATH", "make build-bench"} {
		if code != cli.ExitError || stdout != "" || !strings.Contains(stderr, want) {
			t.Errorf("exit code %d, %q, %q; want %q", code, stdout, stderr, want)
		}
	}
	if stdout, _, code := jeton(t, nil, "bench", "--help"); code != cli.ExitOK || !strings.Contains(stdout, "Examples:\n  jeton ") {
		t.Errorf("help: exit code %d: %s", code, stdout)
	}
}
