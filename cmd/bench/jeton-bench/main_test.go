package main

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/jeton-dev/jeton/cluster-tests/authority"
	"github.com/jeton-dev/jeton/cmd/internal/cli"
	"github.com/jeton-dev/jeton/cmd/node"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// benchmark runs the program in this process.
func benchmark(t *testing.T, env map[string]string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(t.Context(), args, func(name string) (string, bool) {
		value, ok := env[name]
		return value, ok
	}, &out, &errs)
	return out.String(), errs.String(), code
}

// opened is a node with the limit api that listens on ports of its own, closed with the test.
func opened(t *testing.T, cfg node.Config) *node.Node {
	t.Helper()
	cfg.Limits = filepath.Join(t.TempDir(), "limits.yaml")
	if err := os.WriteFile(cfg.Limits, []byte("limits: {api: {capacity: 100, refill: 50/s}}"), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg.Data, cfg.Name, cfg.ListenGRPC, cfg.ListenHTTP = t.TempDir(), "test", "127.0.0.1:0", "127.0.0.1:0"
	n, err := node.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return n
}

// aNode is a node without secrets.
func aNode(t *testing.T) *node.Node {
	t.Helper()
	return opened(t, node.Config{})
}

// Everything that can be measured explains itself with an example.
func TestEveryVerbHasHelpWithAnExample(t *testing.T) {
	for _, verb := range []string{"", "table", "stages", "stages capture", "http", "flood"} {
		stdout, _, code := benchmark(t, nil, append(strings.Fields(verb), "--help")...)
		if code != 0 || !strings.Contains(stdout, "Examples:\n  jeton bench") || !strings.Contains(stdout, "Usage:\n  jeton bench") {
			t.Errorf("jeton bench %s --help: exit code %d:\n%s", verb, code, stdout)
		}
	}
}

// Without a jeton binary, what starts nodes names the option.
func TestWithoutJeton(t *testing.T) {
	t.Setenv("PATH", "")
	_, stderr, code := benchmark(t, nil, strings.Fields("--compare 1 --nodes 3 --temp "+t.TempDir())...)
	if code != cli.ExitError || !strings.Contains(stderr, "--jeton: the program jeton is neither beside jeton-bench nor in PATH") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}

func TestBenchWithCertificates(t *testing.T) {
	ca := authority.New(t, "ours")
	keyFile := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(keyFile, []byte("the secret of this cluster"), 0o600); err != nil {
		t.Fatal(err)
	}
	own := authority.Write(t, t.TempDir(), ca.Issue(t, "node"), ca)
	n := opened(t, node.Config{
		ListenGossip: "127.0.0.1:0", ListenRaft: "127.0.0.1:0", Logger: slog.New(slog.DiscardHandler),
		ClusterKeyFile: keyFile, TLSCert: own.Cert, TLSKey: own.Key, TLSCA: own.CA,
	})
	files := authority.Write(t, t.TempDir(), ca.Issue(t, "caller"), ca)
	load := append(strings.Fields("--limit api"+briefly), "--server", n.GRPCAddr())
	if stdout, stderr, code := benchmark(t, nil, append(load, files.Args()...)...); code != cli.ExitOK || !strings.Contains(stdout, "checks/s") {
		t.Errorf("exit code %d: %s%s", code, stdout, stderr)
	}
	if _, stderr, code := benchmark(t, nil, load...); code != cli.ExitError || !strings.Contains(stderr, "requires TLS") {
		t.Errorf("plain: exit code %d: %s", code, stderr)
	}
	for _, args := range []string{"--compare noop --tls-ca ca.crt", "--limit api --tls-ca ca.crt"} {
		if _, stderr, code := benchmark(t, nil, strings.Fields(args)...); code != cli.ExitError || !strings.Contains(stderr, "tls-c") {
			t.Errorf("jeton bench %s: exit code %d: %s", args, code, stderr)
		}
	}
}
