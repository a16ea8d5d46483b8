package main

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jeton-dev/jeton/cmd/node"
)

// A node that is alone is ready when it serves; one that waits for others to found a cluster with is live, and not ready.
func TestHealthOfANode(t *testing.T) {
	alone := aNode(t)
	waiting := opened(t, node.Config{ListenGossip: "127.0.0.1:0", ListenRaft: "127.0.0.1:0", Expect: 3, Join: []string{"127.0.0.1:1"}, Insecure: true})
	for _, tt := range []struct {
		address, more string
		code          int
		want          string
	}{
		{alone.GRPCAddr(), "", 0, "ready\n"},
		{alone.GRPCAddr(), "--live", 0, "live\n"},
		{waiting.GRPCAddr(), "--live", 0, "live\n"},
		{waiting.GRPCAddr(), "", 1, "no key can be decided"},
		{"127.0.0.1:1", "", 1, "node at 127.0.0.1:1: cannot connect: connection refused\n"},
		{"127.0.0.1:1", "--live", 1, "connection refused"},
		{alone.HTTPAddr(), "", 1, alone.HTTPAddr() + " speaks HTTP, not gRPC: nodes take checks at --listen-grpc"},
		{frozen(t), "--timeout 100ms", 1, " takes connections and says nothing: its process may be frozen"},
	} {
		args := append([]string{"health", "--server", tt.address}, strings.Fields(tt.more)...)
		if stdout, stderr, code := jeton(t, nil, args...); code != tt.code || !strings.Contains(stdout, tt.want) {
			t.Errorf("%q: exit code %d, %q, %q; want %d, %q", args, code, stdout, stderr, tt.code, tt.want)
		}
	}
}

// frozen is an address that takes connections and says nothing.
func frozen(t *testing.T) string {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() }) // the kernel takes connections before anybody accepts them
	return l.Addr().String()
}

func TestHealthOfAGateway(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("/livez", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("/readyz", func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "not ready: \x1b[2J\nmore", http.StatusServiceUnavailable)
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	if stdout, stderr, code := jeton(t, nil, "health", "--live", "--gateway", s.URL); code != 0 || stdout != "live\n" {
		t.Errorf("live: %d, %q, %q", code, stdout, stderr)
	}
	if stdout, _, code := jeton(t, nil, "health", "--gateway", "127.0.0.1:1"); code != 1 || !strings.HasPrefix(stdout, "gateway at 127.0.0.1:1: ") {
		t.Errorf("nothing listens: %d, %q", code, stdout)
	}
	for address, want := range map[string]string{
		aNode(t).GRPCAddr(): "speaks gRPC, not HTTP, as the port of a node does: --gateway names",
		frozen(t):           "takes connections and says nothing: its process may be frozen",
	} {
		if stdout, _, code := jeton(t, nil, "health", "--gateway", address, "--timeout", "300ms"); code != 1 || !strings.Contains(stdout, address+" "+want) {
			t.Errorf("%d, %q; want %q", code, stdout, want)
		}
	}
	host := strings.TrimPrefix(s.URL, "http://")
	stdout, _, code := jeton(t, map[string]string{"JETON_GATEWAY": host}, "health")
	if code != 1 || !strings.Contains(stdout, "503 Service Unavailable: not ready: ") || strings.Contains(stdout, "\x1b") || strings.Contains(stdout, "more") {
		t.Errorf("not ready: %d, %q", code, stdout)
	}
}

// A gateway says in its own words that it is well, and why it is degraded; another web server that answers with 200 is none, nor is a node.
func TestHealthOfAnotherWebServer(t *testing.T) {
	const none, node = "not as a gateway of jeton does", "as the HTTP port of a node of jeton does"
	for text, want := range map[string]struct {
		code int
		says string
	}{
		"ready\nconfiguration: 1 route\n":                          {0, "ready\n"},
		"degraded: cluster: no \x1b key\nconfiguration: 1 route\n": {0, "degraded: cluster: no "},
		"ready\n": {1, node}, "degraded: partitions 1 (1 of 2) cannot be decided\n": {1, node},
		"": {1, none}, "<!doctype html>\n": {1, none}, "readying\n": {1, none}, "every key can be decided\n": {1, none},
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, text) }))
		stdout, _, got := jeton(t, nil, "health", "--gateway", s.URL)
		s.Close()
		if got != want.code || !strings.Contains(stdout, want.says) || strings.Contains(stdout, "\x1b") || strings.Count(stdout, "\n") != 1 {
			t.Errorf("%q: exit code %d, %q; want %d, %q", text, got, stdout, want.code, want.says)
		}
	}
	for _, address := range []string{aNode(t).HTTPAddr(), aFounder(t).HTTPAddr()} { // of which one is not ready
		if stdout, _, code := jeton(t, nil, "health", "--gateway", address); code != 1 || !strings.Contains(stdout, node) {
			t.Errorf("a node: exit code %d, %q", code, stdout)
		}
	}
}

func TestHealthRefuses(t *testing.T) {
	for args, want := range map[string]string{
		"--server nowhere": "no address of a node's gRPC port", "--server a:1,b:2": "name one node", "--timeout 0s": "--timeout: 0s",
		"--gateway nowhere": "no address: write HOST:PORT", "--gateway http://%zz:1": "no address", "--cluster-key-file /does/not/exist": "/does/not/exist", "x": "one argument too many",
	} {
		if _, stderr, code := jeton(t, nil, append([]string{"health"}, strings.Fields(args)...)...); code != 2 || !strings.Contains(stderr, want) {
			t.Errorf("health %s: exit code %d, %q, want %q", args, code, stderr, want)
		}
	}
}

func TestManVerb(t *testing.T) {
	into := filepath.Join(t.TempDir(), "new", "man1")
	if _, stderr, code := jeton(t, nil, "man", "--into", into); code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	for _, name := range []string{"jeton.1", "jeton-cluster-status.1", "jeton-health.1", "jeton-completion-bash.1"} {
		if text, err := os.ReadFile(filepath.Join(into, name)); err != nil || !strings.Contains(string(text), ".SH EXAMPLES\n") && name != "jeton.1" {
			t.Errorf("%s: %v\n%s", name, err, text)
		}
	}
	if _, stderr, code := jeton(t, nil, "man"); code != 2 || !strings.Contains(stderr, "--into") {
		t.Errorf("no directory: exit code %d, %q", code, stderr)
	}
}

// What shells are told: the script, and the values that an option has.
func TestCompletion(t *testing.T) {
	for shell, want := range map[string]string{"bash": "__start_jeton", "zsh": "#compdef jeton", "fish": "complete -c jeton", "powershell": "Register-ArgumentCompleter"} {
		if stdout, stderr, code := jeton(t, nil, "completion", shell); code != 0 || !strings.Contains(stdout, want) || strings.Contains(stdout, `\u00`) {
			t.Errorf("%s: exit code %d, %q", shell, code, stderr)
		}
	}
	for args, want := range map[string]string{
		"version --output ": "text\njson\n:4\n", "clu": "cluster\t", "cluster drain ": ":4\n", "serve --log-level ": "info\ndebug\nwarn\nerror\n:4\n",
	} {
		words := strings.Split(args, " ")
		if stdout, _, code := jeton(t, nil, append([]string{"__complete"}, words...)...); code != 0 || !strings.HasPrefix(stdout, want) {
			t.Errorf("%q: exit code %d, %q, want %q", args, code, stdout, want)
		}
	}
}
