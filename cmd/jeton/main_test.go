package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cmd/internal/cli"
	"github.com/jeton-dev/jeton/cmd/node"
	"github.com/jeton-dev/jeton/ring/level"
	"github.com/jeton-dev/jeton/storage/datadir"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// jeton runs the program in this process.
func jeton(t *testing.T, env map[string]string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(t.Context(), make(chan os.Signal, 1), args, func(name string) (string, bool) {
		value, ok := env[name]
		if !ok && name == "JETON_TIMEOUT" {
			return "1m", true // on a slow machine an answer may take longer than commands wait for it
		}
		return value, ok
	}, &out, &errs)
	return out.String(), errs.String(), code
}

// opened is a node that listens on ports of its own, closed with the test.
func opened(t *testing.T, cfg node.Config) *node.Node {
	t.Helper()
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

// aNode is a node with the sample limits, for the verbs to ask.
func aNode(t *testing.T) *node.Node {
	t.Helper()
	n := opened(t, node.Config{})
	doc, err := limit.ParseDocument([]byte(sampleLimits))
	if err != nil {
		t.Fatal(err)
	}
	n.SetLimits(doc)
	return n
}

func TestCheckVerb(t *testing.T) {
	env := map[string]string{"JETON_SERVER": aNode(t).GRPCAddr()}
	for _, tt := range []struct {
		args string
		code int
		want string // in stdout, or in stderr if the code is 2
	}{
		{"check demo k --cost 9", 0, "allowed demo: 1 of 10 left; full again in"},
		{"check demo k --look", 0, "look    demo: 1 of 10 left"},
		{"check demo k --cost 0", 2, "--cost: 0: use 1 or more tokens, or --look to spend none"},
		{"check demo k --look --cost 2", 2, "--look spends nothing: leave --cost out"},
		{"check demo k", 0, "allowed demo: 0 of 10 left"},
		{"check demo k", 1, "denied  demo: 0 of 10 left; try again in"},
		{"check login,demo k", 1, "spared  login: 5 of 5 left"},
		{"check demo k --cost 11", 1, "can never pass"},
		{"check demo a/b//../c", 0, "allowed demo: 9 of 10 left"},
		{"check demo k --output json", 1, `"allowed":false`},
		{"check demo other --output json --receipt", 0, `"receipts":[{"limit":"demo"`},
		{"check nope k", 2, `unknown limit "nope": jeton limits get shows all limits`},
		{"check demmo k", 2, `unknown limit "demmo": did you mean "demo"? jeton limits get shows all limits`},
		{"check user:42 demo", 2, `"user:42" is not a valid name`},
		{"check user:42 demo", 2, "the limit comes first, then the key: jeton check demo user:42\n"},
		{"check demo,a:b k", 2, "start with a letter or digit\n"},
		{"check demo k --cost -1", 2, "cost"},
		{"check demo,demo k", 2, "named twice"},
		{"check demo " + strings.Repeat("k", 513), 2, "key: 513 bytes"},
		{"check demo k --output xml", 2, "text or json"},
		{"check demo k --cost many", 2, `--cost: "many" is not a whole number`},
		{"check demo k --timeout soon", 2, `--timeout: "soon" is not a duration, such as 500ms, 5s or 48h`},
		{"check demo k --receipt=perhaps", 2, `--receipt: "perhaps" is not true or false`},
		{"check demo k --nope", 2, "unknown option --nope: see jeton check --help"},
		{"check demo", 2, "KEY is missing: use jeton check LIMIT[,LIMIT…] KEY"},
		{"check demo ip:1 demo org:1", 0, "allowed demo of ip:1: 9 of 10 left"},
		{"check demo ip:1 demo k demo org:1", 1, "spared  demo of ip:1: nothing is taken\ndenied  demo of k: 0 of 10 left; try again"},
		{"check demo k demo org:1", 1, "skipped demo of org:1: not asked\n"},
		{"check demo ip:1 demo k demo org:1 --output json", 1, `{"allowed":false,"denied":{"check":1,"key":"k","limit":"demo"},"checks":[`},
		{"check demo ip:1 demo k --look", 0, "look    demo of ip:1: 9 of 10 left"},
		{"check demo ip:1 nope k", 2, `checks[1], "k": unknown limit "nope": jeton limits get shows all limits`},
		{"check demo ip:1 demo ip:1", 2, `checks[1].limits[0]: checks[0] has the limit "demo" of this key already`},
		{"check demo ip:1 demo", 2, `KEY after "demo" is missing: use jeton check LIMIT[,LIMIT…] KEY`},
		{"check demo ip:1 demo org:1 --request-id again", 2, "--request-id: a check of several keys has none"},
		{"check" + strings.Repeat(" demo k", 17), 2, "17 keys are too many: at most 16"},
		{"check demo k --server 127.0.0.1:1 --timeout 5s", 2, "node at 127.0.0.1:1: cannot connect: connection refused: is a node running there? --server names another one, and jeton dev starts some\n"},
		{"check demo k --server nonsense", 2, `--server: "nonsense" is no address of a node's gRPC port: write HOST:PORT, such as 127.0.0.1:7700`},
		{"check demo k --server http://localhost:7700", 2, `--server: "http://localhost:7700" is no address`},
		{"check demo k --server localhost:7700,", 2, `--server: "" is no address`},
		{"check demo k --timeout 0s", 2, "--timeout: 0s: give more than 0, such as 5s"},
		{"check demo k --token-file /does/not/exist", 2, "--token-file: open /does/not/exist"},
	} {
		stdout, stderr, code := jeton(t, env, strings.Fields(tt.args)...)
		said := stdout
		if tt.code == cli.ExitError {
			said = stderr
		}
		if code != tt.code || !strings.Contains(said, tt.want) {
			t.Errorf("jeton %s: exit code %d, %q, %q; want %d and %q", tt.args, code, stdout, stderr, tt.code, tt.want)
		}
	}
	for _, key := range []string{"", "\xff"} {
		if _, stderr, code := jeton(t, env, "check", "demo", key); code != cli.ExitError || !strings.Contains(stderr, "key: ") {
			t.Errorf("key %q: exit code %d: %s", key, code, stderr)
		}
	}
}

func TestBucketVerb(t *testing.T) {
	env := map[string]string{"JETON_SERVER": aNode(t).GRPCAddr()}
	jeton(t, env, "check", "demo", "a/b", "--cost", "4")
	stdout, stderr, code := jeton(t, env, "bucket", "demo", "a/b")
	if code != 0 || !strings.Contains(stdout, "6 of 10") || !strings.Contains(stdout, "cost 4  allowed") {
		t.Errorf("exit code %d: %s\n%s", code, stderr, stdout)
	}
	stdout, stderr, code = jeton(t, env, "bucket", "demo", "a/b", "--output", "json")
	var bucket struct {
		Key    string
		Tokens int64
	}
	if err := json.Unmarshal([]byte(stdout), &bucket); err != nil || code != 0 || bucket.Key != "a/b" || bucket.Tokens != 6 {
		t.Errorf("exit code %d, %v: %s\n%s", code, err, stderr, stdout)
	}
	if _, stderr, code := jeton(t, env, "bucket", "logn", "k"); code != cli.ExitError || !strings.Contains(stderr, `unknown limit "logn": did you mean "login"?`) {
		t.Errorf("unknown limit: exit code %d: %s", code, stderr)
	}
}

func TestLimitsVerb(t *testing.T) {
	n := aNode(t)
	for _, form := range []string{"yaml", "json"} {
		stdout, stderr, code := jeton(t, nil, "limits", "get", "--server", n.GRPCAddr(), "--output", form)
		doc, err := limit.ParseDocument([]byte(stdout))
		if err != nil || code != 0 {
			t.Fatalf("%s: exit code %d, %v: %s", form, code, err, stderr)
		}
		want, _ := n.Limits().YAML()
		if got, _ := doc.YAML(); !bytes.Equal(got, want) {
			t.Errorf("%s: read back as\n%s, want\n%s", form, got, want)
		}
	}
}

func TestVersionVerb(t *testing.T) {
	stdout, _, code := jeton(t, nil, "version", "--output", "json")
	var v version
	if err := json.Unmarshal([]byte(stdout), &v); err != nil || code != 0 || v.Go == "" || v.DiskFormat != datadir.NewestFormat || v.Levels != level.Known() {
		t.Errorf("exit code %d, %v: %s", code, err, stdout)
	}
}

// Everything that can be asked of the program explains itself with an example.
func TestEveryVerbHasHelpWithAnExample(t *testing.T) {
	for _, verb := range []string{
		"serve", "dev", "gateway", "gateway schema", "gateway digest", "explain", "check", "hold", "settle", "bucket", "limits", "limits get", "limits diff", "limits apply",
		"cluster", "cluster status", "cluster drain", "cluster remove", "cluster recover", "cluster token", "keys", "keys make", "keys list", "keys revoke", "version", "health", "man", "completion", "completion bash", "completion fish",
	} {
		stdout, _, code := jeton(t, nil, append(strings.Fields(verb), "--help")...)
		if code != 0 || !strings.Contains(stdout, "Examples:\n  jeton ") {
			t.Errorf("jeton %s --help: exit code %d:\n%s", verb, code, stdout)
		}
	}
}

func TestServeRefuses(t *testing.T) {
	dir := t.TempDir()
	for _, tt := range []struct{ args, want string }{
		{"--durability disk", "fsync or memory"},
		{"--listen-grpc 0.0.0.0:0", "--insecure"},
		{"--listen-http :0", "--insecure"},
		{"--listen-grpc nonsense", "listen-grpc"},
		{"--limits /does/not/exist", "/does/not/exist"},
		{"--config /does/not/exist", "/does/not/exist"},
		{"--inline-fill 0", "inline-fill: 0 is out of range"},
		{"--inline-fill 9d", `"9d" is not a duration, such as 500ms, 5s or 48h`},
		{"--inline-fill 1000000h", "inline-fill: 1000000h0m0s is out of range: give up to 640511h, such as 8784h"},
		{"--inline-registers 0", "inline-registers: 0 is out of range: give 1 or more"},
		{"--listen-memory 0", `--listen-memory: "0" is too little: at least 1MiB`},
		{"--listen-memory 64MB", `--listen-memory: "64MB" is not a number of bytes, such as 512MiB`},
		{"--listen-memory 2MiB --no-such-option", "no-such-option"},
		{"extra", `"extra": to name a file, say --config extra`},
	} {
		args := append([]string{"serve", "--data", filepath.Join(dir, "data"), "--listen-grpc", "127.0.0.1:0"}, strings.Fields(tt.args)...)
		if _, stderr, code := jeton(t, nil, args...); code != cli.ExitError || !strings.Contains(stderr, tt.want) {
			t.Errorf("jeton serve %s: exit code %d, %q, want %q", tt.args, code, stderr, tt.want)
		}
	}
}
