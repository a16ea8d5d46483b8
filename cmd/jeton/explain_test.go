package main

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cmd/internal/cli"
	"github.com/jeton-dev/jeton/gateway/denial"
)

// A refusal is explained by the gateway that made it, and every other answer says what to do.
func TestExplainVerb(t *testing.T) {
	proxy, admin := aGateway(t, aDocument(t, strings.Replace(goodDocument, "127.0.0.1:1", aCluster(t).GRPCAddr(), 1)))
	_, body := get(t, "http://"+proxy+"/v1/items?secret=1")
	var problem struct{ Instance string }
	if err := json.Unmarshal([]byte(body), &problem); err != nil || !strings.HasPrefix(problem.Instance, denialURN) {
		t.Fatalf("%v: %s", err, body)
	}
	id := strings.TrimPrefix(problem.Instance, denialURN)
	env := map[string]string{"JETON_GATEWAY": admin}
	other := strings.Replace(id, "edge-1-", "edge-2-", 1)
	stranger := httptest.NewServer(http.NotFoundHandler())
	defer stranger.Close()
	for _, tt := range []struct {
		args string
		code int
		want []string // in stdout, or in stderr if the code is 2
	}{
		{id, 0, []string{"denial    " + id, "GET /v1/items, route items", "403, on a deny list", " UTC, "}},
		{denialURN + id, 0, []string{id}},
		{id + " --gateway http://" + admin + "/", 0, []string{id}},
		{id + " --output json", 0, []string{`"id":"` + id + `"`, `"status":403`, `"path":"/v1/items"`}},
		{"edge-1-zz-aaaaaaaaaaaaaaaa", 2, []string{"gateway at " + admin + ": ", "no record of this denial"}},
		{other, 2, []string{"ask edge-2"}},
		{"nonsense", 2, []string{"not the id of a denial"}},
		{"502", 2, []string{`502 is a status, and no id: the id is the end of "instance" in the body of the answer`}},
		{id + " --timeout -1s", 2, []string{"--timeout: -1s: give more than 0"}},
		{id + " --gateway " + aNode(t).HTTPAddr(), 2, []string{"has no denials: is this the admin address of a gateway?"}},
		{id + " --gateway edge:port", 2, []string{`--gateway: "edge:port" is no address: write HOST:PORT, such as edge-1:7781`}},
		{id + " --gateway 127.0.0.1:1", 2, []string{"gateway at 127.0.0.1:1: ", "connection refused", "--gateway"}},
		{id + " --gateway " + strings.TrimPrefix(stranger.URL, "http://"), 2, []string{"404 Not Found", "is this the admin address"}},
		{id + " --gateway ::", 2, []string{"--gateway"}},
		{id + " --token-file /does/not/exist", 2, []string{"--token-file"}},
		{"", 2, []string{"use jeton explain ID"}},
	} {
		stdout, stderr, code := jeton(t, env, append([]string{"explain"}, strings.Fields(tt.args)...)...)
		said := stdout
		if tt.code == cli.ExitError {
			said = stderr
		}
		for _, want := range tt.want {
			if code != tt.code || !strings.Contains(said, want) {
				t.Errorf("jeton explain %s: exit code %d, %q %q; want %d and %q", tt.args, code, stdout, stderr, tt.code, want)
			}
		}
	}
}

// A gateway beyond loopback wants a token.
func TestExplainWithAToken(t *testing.T) {
	text := strings.Replace(goodDocument, `admin: {listen: "127.0.0.1:0"}`, `admin: {listen: "127.0.0.1:0", token_file: secret}`, 1)
	document := aDocument(t, strings.Replace(text, "127.0.0.1:1", aCluster(t).GRPCAddr(), 1))
	_, admin := aGateway(t, document)
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, []byte("\n \n"), 0o600); err != nil {
		t.Fatal(err)
	}
	wrong, open := filepath.Join(t.TempDir(), "wrong"), filepath.Join(t.TempDir(), "open")
	if err := errors.Join(os.WriteFile(wrong, []byte("# mine\na-token-of-somebody\n"), 0o600), os.WriteFile(open, []byte("a-token-of-somebody"), 0o600), os.Chmod(open, 0o644)); err != nil {
		t.Fatal(err)
	}
	const id = "edge-1-1-aaaaaaaaaaaaaaaa"
	for args, want := range map[string]string{
		"--token-file " + wrong:           "does not know the token in " + wrong + ": give one of its admin.token_file",
		"--token-file " + open:            "has mode 0644",
		"--insecure --token-file " + open: "does not know the token",
		"":                                "asks for a token of an operator: give --token-file",
		"--token-file " + filepath.Join(filepath.Dir(document), "secret"): "no record of this denial",
		"--token-file " + empty: "holds no token",
	} {
		_, stderr, code := jeton(t, nil, append([]string{"explain", id, "--gateway", admin}, strings.Fields(args)...)...)
		if code != cli.ExitError || !strings.Contains(stderr, want) {
			t.Errorf("%s: exit code %d: %s, want %q", args, code, stderr, want)
		}
	}
}

func TestDenialsInWords(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 678e6, time.UTC)
	refill, err := limit.ParseRefill("5/1m")
	if err != nil {
		t.Fatal(err)
	}
	login := denial.Limit{
		Rule:    &limit.Limit{Name: "login", Capacity: 5, Refill: refill},
		Outcome: limit.Outcome{Name: "login", Limit: 5, RetryAfter: 12 * time.Second},
	}
	api := denial.Limit{Outcome: limit.Outcome{Name: "api", Allowed: true, Limit: 100, Remaining: 42}}
	pro := denial.Limit{Outcome: limit.Outcome{Name: "api", Plan: "pro", Limit: 1000}}
	blocked := denial.Limit{Outcome: limit.Outcome{Name: "api", Override: `deny for "user:7"`, Limit: 5}}
	never := denial.Limit{Outcome: limit.Outcome{Name: "api", Never: true, Limit: 100, Remaining: 100}}
	record := func(reason, source string, limits ...denial.Limit) *denial.Record {
		r := &denial.Record{
			At: at, Route: "login", Method: "POST", Path: "/login", Status: 429, Reason: reason, Key: "sha256-12", Cost: 1,
			Source: source, Limits: limits,
		}
		denial.NewMemory("edge-1", 1).Remember(r)
		return r
	}
	decided := record("denied", "cluster", login, api)
	decided.Node, decided.APIKey = "10.0.0.1:7700", "ci"
	waited := record("denied", "cluster", login)
	waited.Wait = 2 * time.Second
	undecided := record("unavailable", "deny")
	undecided.Why = `limit demo: unknown limit "demo"`
	earlier, inPart, later := api, api, api
	earlier.Earlier, earlier.Outcome.Remaining = true, 0
	inPart.Counts, inPart.Outcome.Remaining = "tokens", 8
	later.Outcome.Remaining = 0
	budget := denial.Limit{Counts: "money", Outcome: limit.Outcome{Name: "budget", Limit: 2_000_000, Remaining: 12, RetryAfter: 3 * time.Hour}}
	money := record("denied", "cluster", earlier, inPart, budget)
	money.Cost, money.Counts, money.Exchange = 5060, "money", &denial.ModelRequest{}
	waits := record("denied", "cluster", later, login)
	waits.Wait = 2 * time.Second
	for _, tt := range []struct {
		record *denial.Record
		later  time.Duration
		want   []string
	}{
		{decided, 2 * time.Second, []string{
			"when        2026-01-02 03:04:05.678 UTC, 2s ago", "request     POST /login, route login", "answered    429, denied by a limit",
			"who         sha256-12", "API key     ci", "cost        1", "limit       login (capacity 5, refill 5/m): denied, 0 of 5 left; try again in 12s",
			"limit       api (capacity 100): would have allowed it, 42 of 100 left", "decided by  the cluster, node 10.0.0.1:7700",
			"passes      in 10s, unless others spend meanwhile",
		}},
		{waited, 2 * time.Second, []string{
			"waits       up to 2s for tokens\n", "passes      in 10s, and is then held for up to 2s, unless others spend meanwhile\n",
		}},
		{waited, 13 * time.Second, []string{"passes      now, since 1s ago, and is then held for up to 2s, unless others have spent meanwhile\n"}},
		{decided, 13 * time.Second, []string{"passes      now, since 1s ago"}},
		{decided, 12 * time.Second, []string{"passes      now, since just now"}},
		{decided, -time.Second, []string{"UTC, just now"}},
		{record("denied", "cluster", never), 0, []string{"the cost is above the capacity and can never pass", "passes      never: lower the cost", "the cluster\n"}},
		{record("denied", "cluster", pro, blocked), 0, []string{
			"limit       api (plan pro, capacity 1000): denied", `limit       api (override: deny for "user:7", capacity 5): denied`,
		}},
		{money, 0, []string{
			"cost        5060 millionths of the unit of the prices\n", "limit       api (capacity 100): allowed it, 0 of 100 left then; what it took was given back\n",
			"limit       api (capacity 100): would have allowed a part, 8 of 100 tokens left\n",
			"limit       budget (capacity 2000000): denied, 12 of 2000000 millionths left; try again in 3h\n",
		}},
		{waits, 0, []string{"limit       api (capacity 100): would have allowed it after a wait, 0 of 100 left\n"}},
		{record("denied", "cluster", denial.Limit{Outcome: limit.Outcome{Name: "api", Limit: 100, Leased: 40}}), 0, []string{
			"gateways and clients held at most 40 more, as the page of the bucket shows\n",
		}},
		{record("denied", "edge", login), 0, []string{"decided by  the gateway itself, by what it holds or has heard of these limits\n"}},
		{record("denied", "local", login), 0, []string{"decided by  the gateway's own bucket"}},
		{undecided, 0, []string{"there was no decision", "decided by  the gateway: neither the cluster nor a local bucket decided", "because     limit demo: unknown limit \"demo\""}},
		{&denial.Record{ID: "x", At: at, Status: 401, Reason: "bad_credentials", Flaw: &denial.Flaw{Credential: "API key", Check: "expired"}}, 0, []string{
			"answered  401, the token or API key is invalid\n", "shown     the API key has expired\n",
		}},
		{&denial.Record{ID: "x", At: at, Reason: "denied", Flaw: &denial.Flaw{Credential: "token", Check: "bad_signature"}}, 0, []string{
			"shown     the token has a wrong signature: the request went on as if it showed none\n",
		}},
		{&denial.Record{ID: "x", At: at, Status: 502, Reason: "upstream_failed", Key: "ip:192.0.2.1", Upstream: "web", Why: "connection refused"}, 0, []string{
			"answered  502, it passed, and the upstream cannot be reached or its answer not be read\n", "who       ip:192.0.2.1\n", "upstream  web\n", "because   connection refused\n",
		}},
		{&denial.Record{ID: "x", At: at, Status: 504, Reason: "upstream_timeout", Upstream: "web"}, 0, []string{"answered  504, it passed, and the upstream did not answer in time\n"}},
		{&denial.Record{ID: "x", At: at, Reason: "unidentified"}, 0, []string{"no credentials identify the client", "route none"}},
	} {
		var out strings.Builder
		if err := printDenial(&out, tt.record, at.Add(tt.later)); err != nil {
			t.Error(err)
		}
		for _, want := range tt.want {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%q is not in\n%s", want, out.String())
			}
		}
	}
}

// TestExplainAtAWrongPort: a node's gRPC is not the admin listener of a gateway.
func TestExplainAtAWrongPort(t *testing.T) {
	n := aCluster(t)
	_, stderr, code := jeton(t, nil, "explain", "edge-1-4f-k7wq2m5ttzrcx3ha", "--gateway", n.GRPCAddr())
	want := "jeton: " + n.GRPCAddr() + " does not speak HTTP, as the gRPC of a node does not: give the admin address of a gateway with --gateway, such as edge-1:7781\n"
	if code != cli.ExitError || stderr != want {
		t.Errorf("exit code %d: %q, want %q", code, stderr, want)
	}
}
