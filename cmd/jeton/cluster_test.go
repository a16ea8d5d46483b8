package main

import (
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/jeton-dev/jeton/cmd/internal/cli"
	"github.com/jeton-dev/jeton/cmd/node"
	"github.com/jeton-dev/jeton/ring"
)

// aFounder is a node that waits for two others before it founds a cluster with them: it decides nothing.
func aFounder(t *testing.T) *node.Node {
	t.Helper()
	return opened(t, node.Config{
		Expect: 3, Join: []string{"127.0.0.1:1"}, Advertise: "127.0.0.1", Logger: slog.New(slog.DiscardHandler),
		ListenGossip: "127.0.0.1:0", ListenRaft: "127.0.0.1:0",
	})
}

// A script asks whether the cluster works: the exit code answers as /readyz does, and what is shown is shown all the same.
func TestClusterStatusExitsAsReadyzAnswers(t *testing.T) {
	well, waiting := aCluster(t).GRPCAddr(), aFounder(t).GRPCAddr()
	for _, tt := range []struct {
		server, args string
		code         int
		want         string
	}{
		{well, "", 0, "every key can be decided, as test sees it\n"},
		{well, "--strict", 0, "every key can be decided, as test sees it\n"},
		{well, "--output json", 0, `"decides":"all"`},
		{waiting, "", 1, "test belongs to no cluster yet"},
		{waiting, "--strict", 1, "test belongs to no cluster yet"},
		{waiting, "--output json", 1, `"decides":"none"`},
	} {
		stdout, stderr, code := jeton(t, nil, append([]string{"cluster", "status", "--server", tt.server}, strings.Fields(tt.args)...)...)
		if code != tt.code || !strings.Contains(stdout, tt.want) || stderr != "" {
			t.Errorf("jeton cluster status %s: exit code %d, %q, %q; want %d and %q", tt.args, code, stdout, stderr, tt.code, tt.want)
		}
	}
	if _, stderr, code := jeton(t, nil, "cluster", "status", "--server", "127.0.0.1:1"); code != cli.ExitError || stderr == "" {
		t.Errorf("no node at the address: exit code %d, %q", code, stderr)
	}
}

// A drain that is not answered in time may have begun: the error says that it goes on, and how to look at it.
func TestDrainThatIsNotAnswered(t *testing.T) {
	waiting := aFounder(t).GRPCAddr()
	_, stderr, code := jeton(t, nil, "cluster", "drain", "b", "--server", waiting, "--timeout", "300ms")
	if code != cli.ExitError || !strings.Contains(stderr, "goes on: jeton cluster status shows it, jeton cluster drain b waits for it") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	_, stderr, code = jeton(t, nil, "cluster", "drain", "b", "--server", aCluster(t).GRPCAddr())
	if code != cli.ExitError || strings.Contains(stderr, "goes on") {
		t.Errorf("a node that is no member: exit code %d: %s", code, stderr)
	}
	for _, address := range []string{"127.0.0.1:1", "127.0.0.1:1,127.0.0.2:1", aNode(t).HTTPAddr(), frozen(t)} { // which no request reaches
		_, stderr, code = jeton(t, nil, "cluster", "drain", "b", "--server", address, "--timeout", "2s")
		if code != cli.ExitError || stderr == "" || strings.Contains(stderr, "goes on") {
			t.Errorf("%s: exit code %d: %s", address, code, stderr)
		}
	}
}

// Where some keys can be decided, only a strict question is answered no.
func TestVerdictOfStatus(t *testing.T) {
	for verdict, want := range map[ring.Verdict][2]error{
		ring.DecidesAll: {nil, nil}, ring.DecidesSome: {nil, cli.ErrNo}, ring.DecidesNone: {cli.ErrNo, cli.ErrNo},
	} {
		for i, strict := range []bool{false, true} {
			if got := verdictOf(ring.Deciding{Verdict: verdict}, strict); !errors.Is(got, want[i]) {
				t.Errorf("decides %s, strict %v: %v, want %v", verdict, strict, got, want[i])
			}
		}
	}
}
