package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jeton-dev/jeton/cmd/internal/cli"
)

// What keeps a key from being decided is said first, with what to do, however much was met on the way.
func TestTooFewReplicas(t *testing.T) {
	err := errors.New("node at a:7700: no decision available: too few replicas can answer: 1 of 3 (n2 and n3 do not); node at c:7700: the node does not answer; " +
		"node at b:7700: the node does not answer; context deadline exceeded")
	const want = "too few replicas can answer: 1 of 3 (n2 and n3 do not): jeton cluster status shows which nodes answer; in full: node at a:7700: "
	r := remote{server: "a:7700"}
	for _, err := range []error{err, fmt.Errorf("%w; %w", err, context.DeadlineExceeded)} {
		if said := r.explain(t.Context(), err).Error(); !strings.HasPrefix(said, want) {
			t.Errorf("it is said: %s", said)
		}
	}
}

// Only a request that reached no node has begun nothing.
func TestWhatHasReachedANode(t *testing.T) {
	r := remote{server: "a:7700"}
	for said, want := range map[string]bool{
		"node at a:7700: cannot connect: connection refused":                                                              true,
		"node at a:7700: cannot connect: the other end does not have this cluster key":                                    true,
		"node at a:7700: cannot connect: connection refused; node at b:7700: cannot connect: connection refused":          true,
		"node at a:7700: cannot connect: connection refused; node at b:7700: the node does not answer":                    false,
		"node at a:7700: no decision available: the connection broke; node at a:7700: cannot connect: connection refused": false,
		"context deadline exceeded": false,
	} {
		if got := r.unsent(errors.New(said)); got != want {
			t.Errorf("%s: %t", said, got)
		}
	}
}

// A verb that is interrupted does not say that a context was canceled.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := remote{server: "a:7700"}
	err := r.explain(ctx, fmt.Errorf("%w; node at a:7700: %w", context.Canceled, context.Canceled))
	if want := "a:7700: interrupted before an answer came"; !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "context") {
		t.Errorf("it is said: %v", err)
	}
}

// Only who has named an address where nothing runs is asked whether a node runs there.
func TestWhoRefusedTheConnection(t *testing.T) {
	const hint = "is a node running there?"
	for _, tt := range []struct {
		server, err string
		hint        bool
	}{
		{"a:7700", "node at a:7700: cannot connect: connection refused", true},
		{"a:7700,b:7700", "node at b:7700: cannot connect: connection refused; node at a:7700: cannot connect: connection refused", true},
		{"a:7700", "node at a:7700: no decision available: too few replicas can answer: 1 of 3 (n2 and n3 do not); " +
			"node at c:7700: cannot connect: connection refused; node at b:7700: cannot connect: connection refused", false},
		{"a:7700,b:7700", "node at a:7700: no decision available: too few replicas can answer: 1 of 2 (n2 does not); " +
			"node at b:7700: cannot connect: connection refused", false},
		{"a:7700", "node at a:7700: cannot connect: the other end does not have this cluster key: compare the cluster key files", false},
	} {
		r := remote{server: tt.server}
		if said := r.explain(t.Context(), errors.New(tt.err)).Error(); !strings.Contains(said, tt.err) || strings.Contains(said, hint) != tt.hint {
			t.Errorf("with --server %s it is said: %s", tt.server, said)
		}
	}
	env := map[string]string{"JETON_SERVER": "127.0.0.1:1,127.0.0.2:1"}
	if _, stderr, code := jeton(t, env, "check", "demo", "k"); code != cli.ExitError || !strings.Contains(stderr, hint) {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}

// Who names a node that there is none of is told where to see the names, not those of limits.
func TestNodesThatThereAreNone(t *testing.T) {
	env := map[string]string{"JETON_SERVER": aCluster(t).GRPCAddr()}
	for _, args := range []string{"drain nobody", "drain nobody --undo", "remove nobody", "recover --lost nobody --yes"} {
		_, stderr, code := jeton(t, env, append([]string{"cluster"}, strings.Fields(args)...)...)
		if code != cli.ExitError || !strings.Contains(stderr, `"nobody"`) || !strings.Contains(stderr, "jeton cluster status shows those that there are") ||
			strings.Contains(stderr, "limits") {
			t.Errorf("cluster %s: exit code %d: %s", args, code, stderr)
		}
	}
}
