package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/cmd/internal/cli"
	"github.com/jeton-dev/jeton/cmd/node"
	"github.com/jeton-dev/jeton/gateway/identity"
)

// goodDocument is a gateway on free ports whose limits are those of dev, and one more.
const goodDocument = `
name: edge-1
cluster: {servers: ["127.0.0.1:1"]}
proxy:
  listen: 127.0.0.1:0
  upstreams: {api: {urls: ["http://127.0.0.1:9"]}}
forward_auth: {listen: "127.0.0.1:0"}
admin: {listen: "127.0.0.1:0"}
identity: {api_key: {secret_file: secret, known: [{digest: 0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f}]}}
deny: {networks: [127.0.0.0/8]}
routes:
- {name: login, path: /login, methods: [POST], hosts: [example.com], checks: [{limits: [login]}]}
- {name: items, path: /v1/items, checks: [{limits: [items, nope], key: ["key:{api_key}", "ip:{ip}"]}, {limits: [demo], shadow: true}]}
- {name: rest, path: /}
`

// theSecret is that of goodDocument.
const theSecret = "a-secret-of-digests-of-keys"

// aDocument writes a document and its secret, and returns its path.
func aDocument(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"gateway.yaml": text, "secret": theSecret + "\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "gateway.yaml")
}

func TestGatewayCheck(t *testing.T) {
	stdout, stderr, code := jeton(t, nil, "gateway", "--check", "--config", aDocument(t, goodDocument))
	if code != cli.ExitOK || !strings.Contains(stderr, "warning: whether the cluster has these limits is not known: ") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	if want := `gateway       edge-1
cluster       127.0.0.1:1, decides within 50ms
proxy         http://127.0.0.1:0
forward-auth  http://127.0.0.1:0/auth
admin         http://127.0.0.1:0
upstream api  http://127.0.0.1:9
route login   POST /login at example.com → api
                login by ip:{ip}
route items   /v1/items → api
                items, nope by key:{api_key}, else ip:{ip}
                demo by ip:{ip}, only counted
route rest    / → api
                no limit
the document is good
`; stdout != want {
		t.Errorf("it prints\n%s\nwant\n%s", stdout, want)
	}
}

// What --check prints of the example for language models says what is counted, and how.
func TestGatewayCheckShowsModels(t *testing.T) {
	example, err := os.ReadFile(filepath.Join("..", "..", "deploy", "gateway", "llm.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	// Where the example has its cluster, one may run that has other limits. And the secret is not in a file of that name here.
	text := strings.NewReplacer("127.0.0.1:7700", "127.0.0.1:1", "api-key.secret", "secret").Replace(string(example))
	stdout, stderr, code := jeton(t, nil, "gateway", "--check", "--config", aDocument(t, text))
	for _, want := range []string{
		"\nroute chat      /v1/chat/completions → model, openai-chat\n", "\nroute messages  /v1/messages → model, anthropic-messages\n",
		"  requests by user:{api_key.owner}\n", "  streams by user:{api_key.owner}, counts streams\n", "  budget by team:{api_key.team}, counts money\n",
	} {
		if code != cli.ExitOK || !strings.Contains(stdout, want) {
			t.Errorf("exit code %d: %s%s, want %s", code, stdout, stderr, want)
		}
	}
}

// What --check prints says where upstreams are, and how they are known.
func TestGatewayCheckShowsUpstreams(t *testing.T) {
	document := aDocument(t, `
proxy:
  upstreams:
    web: {urls: ["http://10.0.0.1:80", "http://10.0.0.2:80"]}
    calls: {urls: ["h2c://10.0.0.3:50051"]}
    orders: {urls: ["https://10.0.1.7:8443"], tls: {ca: ca.pem, cert: gw.pem, key: gw.key, server_name: orders.internal}}
    public: {urls: ["https://api.example"]}
`)
	for name, from := range map[string]string{"ca.pem": "cert.pem", "gw.pem": "cert.pem", "gw.key": "key.pem"} {
		text, err := os.ReadFile(filepath.Join("..", "..", "gateway", "config", "testdata", "files", from))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(filepath.Dir(document), name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	stdout, stderr, code := jeton(t, nil, "gateway", "--check", "--config", document)
	for _, want := range []string{
		"\nupstream calls   h2c://10.0.0.3:50051\n",
		"\nupstream orders  https://10.0.1.7:8443, known by ca.pem as orders.internal, shown gw.pem\n",
		"\nupstream public  https://api.example, known by the authorities of the system\n",
		"\nupstream web     http://10.0.0.1:80, http://10.0.0.2:80\n",
	} {
		if code != cli.ExitOK || !strings.Contains(stdout, want) {
			t.Errorf("exit code %d: %s%s, want %s", code, stdout, stderr, want)
		}
	}
}

// What a client may decide by itself is warned of, and no error.
func TestGatewayCheckWarns(t *testing.T) {
	document := aDocument(t, strings.Replace(goodDocument, "checks: [{limits: [login]}]", `checks: [{limits: [login], key: ["user:{header.X-User}"]}]`, 1))
	stdout, stderr, code := jeton(t, nil, "gateway", "--check", "--config", document)
	if want := "warning: " + document + ":12: routes[0].checks[0].key[0]: {header.X-User} is set by the client"; code != cli.ExitOK || !strings.Contains(stderr, want) {
		t.Errorf("exit code %d: %s, want %s", code, stderr, want)
	}
	if !strings.HasSuffix(stdout, "the document is good\n") {
		t.Errorf("it prints %s", stdout)
	}
	if _, stderr, _ := jeton(t, nil, "gateway", "--check", "--config", aDocument(t, goodDocument)); strings.Contains(stderr, "set by the client") {
		t.Errorf("a document in which clients decide nothing: %s", stderr)
	}
}

// aCluster is a cluster of one with the sample limits: unlike a node that is alone, it tells its clients of them.
func aCluster(t *testing.T) *node.Node {
	t.Helper()
	return aClusterIn(t, t.TempDir())
}

// aClusterIn is aCluster with its data there.
func aClusterIn(t *testing.T, data string) *node.Node {
	t.Helper()
	limits := filepath.Join(t.TempDir(), "limits.yaml")
	if err := os.WriteFile(limits, []byte(sampleLimits), 0o600); err != nil {
		t.Fatal(err)
	}
	n, err := node.Open(node.Config{
		Data: data, Limits: limits, Name: "test", Logger: slog.New(slog.DiscardHandler),
		ListenGRPC: "127.0.0.1:0", ListenHTTP: "127.0.0.1:0", ListenGossip: "127.0.0.1:0", ListenRaft: "127.0.0.1:0",
	})
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

func TestGatewayCheckAsksTheCluster(t *testing.T) {
	n := aCluster(t)
	stdout, stderr, code := jeton(t, map[string]string{"JETON_SERVER": n.GRPCAddr()}, "gateway", "--check", "--config", aDocument(t, goodDocument))
	want := "jeton: route items: unknown limit \"nope\": the cluster does not have it; jeton limits get shows those that it has\n"
	if code != cli.ExitError || stderr != want || strings.Contains(stdout, "the document is good") {
		t.Errorf("exit code %d: %q, want %q", code, stderr, want)
	}
	known := strings.ReplaceAll(goodDocument, ", nope", "")
	for _, args := range [][]string{nil, {"--strict"}} {
		_, stderr, code := jeton(t, map[string]string{"JETON_SERVER": n.GRPCAddr()}, append([]string{"gateway", "--check", "--config", aDocument(t, known)}, args...)...)
		if code != cli.ExitOK || stderr != "" {
			t.Errorf("with limits that are known, %v: exit code %d: %q", args, code, stderr)
		}
	}
}

// A cost that no bucket holds is an error, one that some requests may have a warning.
func TestGatewayCheckComparesCosts(t *testing.T) {
	environment := map[string]string{"JETON_SERVER": aCluster(t).GRPCAddr()}
	document := strings.ReplaceAll(goodDocument, ", nope", "")
	dear := aDocument(t, strings.Replace(document, "{limits: [login]}", "{limits: [login], cost: 1000}", 1))
	stdout, stderr, code := jeton(t, environment, "gateway", "--check", "--config", dear)
	if want := "jeton: route login: checks[0].cost: every request costs 1000, and limit \"login\" has a capacity of 5: all are denied: raise the capacity, or write a cost of at most 5\n"; code != cli.ExitError || stderr != want || strings.Contains(stdout, "is good") {
		t.Errorf("exit code %d: %q, want %q", code, stderr, want)
	}
	long := aDocument(t, strings.Replace(document, "{limits: [login]}", "{limits: [login], cost: {bytes_per_token: 1024}}", 1))
	for args, want := range map[string]int{"": cli.ExitOK, "--strict": cli.ExitError} {
		_, stderr, code := jeton(t, environment, append([]string{"gateway", "--check", "--config", long}, strings.Fields(args)...)...)
		if code != want || !strings.HasPrefix(stderr, "warning: route login: checks[0].cost.bytes_per_token: a long body") {
			t.Errorf("%s: exit code %d: %q", args, code, stderr)
		}
	}
}

// TestGatewayCheckStrict: where no cluster can be asked, that is a warning, and with --strict an error.
func TestGatewayCheckStrict(t *testing.T) {
	const warning = "warning: whether the cluster has these limits is not known: "
	stdout, stderr, code := jeton(t, nil, "gateway", "--check", "--config", aDocument(t, goodDocument))
	if code != cli.ExitOK || !strings.HasPrefix(stderr, warning) || !strings.Contains(stdout, "the document is good") {
		t.Errorf("without a cluster: exit code %d: %q", code, stderr)
	}
	stdout, stderr, code = jeton(t, nil, "gateway", "--check", "--strict", "--config", aDocument(t, goodDocument))
	if code != cli.ExitError || !strings.HasPrefix(stderr, warning) || !strings.HasSuffix(stderr, "jeton: --strict: warnings above that count as errors: 1\n") ||
		strings.Contains(stdout, "the document is good") {
		t.Errorf("strictly: exit code %d: %q", code, stderr)
	}
	written := aDocument(t, goodDocument+"- {name: costly, path: /costly, checks: [{limits: [demo], cost: {header: X-Units}}]}\n")
	stdout, stderr, code = jeton(t, nil, "gateway", "--check", "--strict", "--config", written)
	if code != cli.ExitError || !strings.Contains(stderr, "checks[0].cost.header: X-Units is set by the client") ||
		!strings.HasSuffix(stderr, "count as errors: 2\n") || strings.Contains(stdout, "the document is good") {
		t.Errorf("a cost that the client writes, strictly: exit code %d: %q", code, stderr)
	}
	if _, stderr, code := jeton(t, nil, "gateway", "--strict", "--config", aDocument(t, goodDocument)); code != cli.ExitError || !strings.Contains(stderr, "--strict: it goes with --check") {
		t.Errorf("without --check: exit code %d: %q", code, stderr)
	}
}

func TestGatewayRefuses(t *testing.T) {
	noKeys := filepath.Join(t.TempDir(), "keys.jsonl")
	if err := os.WriteFile(noKeys, []byte("# none yet\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	bad := aDocument(t, "nonsense: 1\nadmin: {listen: nowhere}\nroutes: [{name: r, path: x}]\n")
	good := aDocument(t, goodDocument)
	for _, tt := range []struct {
		args string
		want []string
	}{
		{"gateway", []string{"--config: name the document"}},
		{"gateway --config /does/not/exist", []string{"/does/not/exist"}},
		{"gateway --check --config " + bad, []string{bad + ":1: nonsense", bad + ":2: admin.listen", bad + ":3: routes[0].path"}},
		{"gateway --config " + bad, []string{bad + ":1: nonsense", bad + ":2: admin.listen", bad + ":3: routes[0].path"}},
		{"gateway --config " + good + " --tls-cert x", []string{"tls-cert, tls-key, tls-ca: give all three"}},
		{"gateway --config " + good + " --server nonsense", []string{"nonsense"}},
		{"gateway --config " + good + " --log-level loud", []string{"info or debug"}},
		{"gateway extra", []string{"unknown command"}},
		{"gateway digest", []string{"--config, --secret-file: give one of the two"}},
		{"gateway digest --config " + good + " --secret-file x", []string{"give one of the two"}},
		{"gateway digest --secret-file /does/not/exist", []string{"--secret-file", "/does/not/exist"}},
		{"gateway digest --config " + aDocument(t, "forward_auth: {}"), []string{"identity.api_key"}},
		{"gateway digest --config " + aDocument(t, "identity: {api_key: {keys_file: "+noKeys+"}}"), []string{"identity.api_key.secret_file: is not there", "jeton keys make"}},
	} {
		_, stderr, code := jeton(t, nil, strings.Fields(tt.args)...)
		for _, want := range tt.want {
			if code != cli.ExitError || !strings.Contains(stderr, want) {
				t.Errorf("jeton %s: exit code %d, %q, want %q", tt.args, code, stderr, want)
			}
		}
	}
}

func TestGatewaySchema(t *testing.T) {
	stdout, stderr, code := jeton(t, nil, "gateway", "schema")
	var schema map[string]any
	if err := json.Unmarshal([]byte(stdout), &schema); err != nil || code != cli.ExitOK || schema["$schema"] == nil {
		t.Errorf("exit code %d, %v: %s", code, err, stderr)
	}
}

func TestGatewayDigest(t *testing.T) {
	document := aDocument(t, goodDocument)
	want := identity.Digest([]byte(theSecret), "key 1") + "\n"
	for _, tt := range []struct{ args, input, want, wrong string }{
		{"--config " + document, "key 1\nkey 2\n", want, ""},
		{"--config " + document, "key 1\r\n", want, ""},
		{"--secret-file " + filepath.Join(filepath.Dir(document), "secret"), "key 1", want, ""},
		{"--config " + document, "\n", "", "standard input: holds no API key"},
		{"--config " + document, "", "", "standard input: holds no API key"},
	} {
		verb := gatewayDigestVerb()
		var out bytes.Buffer
		verb.SetIn(strings.NewReader(tt.input))
		verb.SetOut(&out)
		verb.SetErr(io.Discard)
		verb.SetArgs(strings.Fields(tt.args))
		err := verb.ExecuteContext(t.Context())
		if tt.wrong == "" && (err != nil || out.String() != tt.want) {
			t.Errorf("%s with %q: %q, %v, want %q", tt.args, tt.input, out.String(), err, tt.want)
		}
		if tt.wrong != "" && (err == nil || !strings.Contains(err.Error(), tt.wrong)) {
			t.Errorf("%s with %q: %v, want %q", tt.args, tt.input, err, tt.wrong)
		}
	}
}

// A shout is the output of a verb that runs, for a test that waits for it.
type shout struct {
	mu   sync.Mutex
	text string
	more chan struct{} // closed with the next words
	over chan struct{} // closed at the end
}

func newShout() *shout { return &shout{more: make(chan struct{}), over: make(chan struct{})} }

func (s *shout) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text += string(p)
	close(s.more)
	s.more = make(chan struct{})
	return len(p), nil
}

// wait is what matches a pattern, once it was said.
func (s *shout) wait(t *testing.T, pattern string) []string {
	t.Helper()
	late := time.After(time.Minute)
	for {
		s.mu.Lock()
		text, more := s.text, s.more
		s.mu.Unlock()
		if found := regexp.MustCompile(pattern).FindStringSubmatch(text); found != nil {
			return found
		}
		select {
		case <-more:
		case <-s.over:
			t.Fatalf("it has ended without saying %s:\n%s", pattern, text)
		case <-late:
			t.Fatalf("it has not said %s:\n%s", pattern, text)
		}
	}
}

// aGateway runs the verb on a document until the test ends, and returns the addresses of its proxy and its admin listener.
func aGateway(t *testing.T, document string) (proxy, admin string) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	said, ended := newShout(), make(chan int, 1)
	nothing := func(string) (string, bool) { return "", false }
	go func() {
		ended <- run(ctx, make(chan os.Signal, 1), []string{"gateway", "--config", document}, nothing, io.Discard, said)
		close(said.over)
	}()
	t.Cleanup(func() {
		stop()
		if code := <-ended; code != cli.ExitOK {
			t.Errorf("the gateway ends with %d:\n%s", code, said.text)
		}
	})
	found := said.wait(t, `msg=serving proxy=(\S+) forward_auth=\S+ admin=(\S+)`)
	return found[1], found[2]
}

// get answers a GET with its status and body.
func get(t *testing.T, url string) (int, string) {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	a, err := (&http.Client{Transport: transport}).Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	body, err := io.ReadAll(a.Body)
	if err != nil {
		t.Fatal(err)
	}
	return a.StatusCode, string(body)
}

// The verb serves, follows its document, and ends well.
func TestGatewayVerb(t *testing.T) {
	document := aDocument(t, strings.Replace(goodDocument, "127.0.0.1:1", aCluster(t).GRPCAddr(), 1))
	proxy, admin := aGateway(t, document)
	if status, body := get(t, "http://"+admin+"/livez"); status != http.StatusOK {
		t.Errorf("/livez: %d %s", status, body)
	}
	if status, body := get(t, "http://"+proxy+"/"); status != http.StatusForbidden {
		t.Errorf("a client on the deny list: %d %s", status, body)
	}
}
