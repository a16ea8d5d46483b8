package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cmd/gateway"
	"github.com/jeton-dev/jeton/cmd/internal/cli"
	"github.com/jeton-dev/jeton/gateway/config"
	"github.com/jeton-dev/jeton/gateway/identity"
)

func TestDevRefuses(t *testing.T) {
	for _, tt := range []struct{ args, want string }{
		{"--nodes 0", "--nodes 0: give 1 to 9"},
		{"--nodes 10", "--nodes 10: give 1 to 9"},
		{"--port -1", "--port -1"},
		{"--port 65500", "--port 65500"},
		{"--gateway-port -1", "--gateway-port -1: give one with room for three more"},
		{"--gateway-port 65534", "--gateway-port 65534"},
		{"--gateways 0", "--gateways 0: give 1 to 9"},
		{"--gateways 10", "--gateways 10: give 1 to 9"},
		{"--gateways 3 --gateway-port 65530", "--gateway-port 65530: give one with room"},
		{"--port 27700 --gateway-port 27702 --nodes 1", "--gateway-port: 127.0.0.1:27702 is for node-1"},
		{"--port 0 --nodes 1 --limits /does/not/exist", "--limits: open /does/not/exist"},
	} {
		args := append([]string{"dev", "--data", t.TempDir()}, strings.Fields(tt.args)...)
		if _, stderr, code := jeton(t, nil, args...); code != cli.ExitError || !strings.Contains(stderr, tt.want) {
			t.Errorf("jeton dev %s: exit code %d, %q, want %q", tt.args, code, stderr, tt.want)
		}
	}
}

// The gateway's port is that of the documentation, as long as no node has it.
func TestTheGatewaysPortInDev(t *testing.T) {
	for _, tt := range []struct{ port, nodes, want int }{
		{7700, 1, 7780}, {7700, 3, 7780}, {7700, 8, 7780}, {7700, 9, 7790}, {7780, 3, 7810}, {7782, 1, 7792}, {7784, 3, 7780}, {7900, 9, 7780}, {0, 3, 0},
	} {
		if got := (devConfig{port: tt.port, nodes: tt.nodes, gateways: 1}).freeGatewayPort(); got != tt.want {
			t.Errorf("%d nodes from port %d: the gateway's port is %d, want %d", tt.nodes, tt.port, got, tt.want)
		}
	}
}

// A cluster begins with the sample limits. Later it has limits of its own, and a file that somebody names is compared with them.
func TestTheLimitsOfDev(t *testing.T) {
	cfg := devConfig{nodes: 3, data: t.TempDir()}
	cfg.complete()
	named := func(cfg devConfig) bool {
		s, err := newSwarm(cfg, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		return slices.Contains(s.nodes[0].args, "--limits")
	}
	if err := cfg.seed(); err != nil || !named(cfg) {
		t.Errorf("a new cluster gets no limits, or %v", err)
	}
	if err := os.Mkdir(filepath.Join(cfg.data, "node-1"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(cfg.limits, []byte("limits: {}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := cfg.seed(); err != nil || named(cfg) {
		t.Errorf("a cluster that is there gets the sample limits, or %v", err)
	}
	if text, err := os.ReadFile(cfg.limits); string(text) != "limits: {}" {
		t.Errorf("the file of the sample is written again: %q, %v", text, err)
	}
	if cfg.limits = filepath.Join(t.TempDir(), "mine.yaml"); !named(cfg) {
		t.Error("the nodes do not get a file that was given")
	}
}

// What follows a name begins in one column, however many gateways there are.
func TestTheColumnsOfDev(t *testing.T) {
	for _, gateways := range []int{1, 2} {
		cfg := devConfig{nodes: 3, gateways: gateways, data: t.TempDir()}
		s, err := newSwarm(cfg, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range slices.Concat(s.nodes, s.gateways) {
			c.cmd = &exec.Cmd{Process: &os.Process{Pid: 1}}
		}
		var said strings.Builder
		if err := welcome(&said, s, new(limit.Document), cfg.data, false); err != nil {
			t.Fatal(err)
		}
		columns := map[int][]string{}
		for line := range strings.Lines(said.String()) {
			if strings.HasPrefix(line, "  ") && (strings.Contains(line, "process 1") || strings.Contains(line, "console") || strings.Contains(line, "admin http")) {
				rest := strings.TrimLeft(line, " ")
				if !strings.HasPrefix(rest, "admin") {
					_, rest, _ = strings.Cut(rest, " ")
				}
				at := len(line) - len(strings.TrimLeft(rest, " "))
				columns[at] = append(columns[at], line)
			}
		}
		if len(columns) != 1 {
			t.Errorf("%d gateways: %v", gateways, columns)
		}
	}
}

// What dev writes for its gateway is a good document, whichever limits are in force, and its secret stays.
func TestTheDocumentOfDev(t *testing.T) {
	cfg := devConfig{nodes: 3, gateways: 3, data: t.TempDir()}
	s, err := newSwarm(cfg, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	var secrets []string
	for _, tt := range []struct {
		limits string
		want   []string // limits of the routes
	}{
		{sampleLimits, []string{"items", "login", "search", "streams", "tokens", "budget", "streams", "tokens", "budget"}},
		{"limits: {login: {capacity: 1, refill: 1/s}}", []string{"login"}},
		// Limits of these names that take no holds, or give no permits, are not for language models.
		{"limits: {tokens: {capacity: 1, refill: 1/s}, budget: {capacity: 1, refill: 1/s, hold: 1m}, streams: {algorithm: concurrency, limit: 1, lease: 1m}}", nil},
		{"limits: {tokens: {capacity: 1, refill: 1/s, hold: 1m}, budget: {capacity: 1, refill: 1/s, hold: 59s}, streams: {algorithm: concurrency, limit: 1, lease: 1m}}", nil},
		{"limits: {tokens: {capacity: 1, refill: 1/s, hold: 1m}, budget: {capacity: 1, refill: 1/s, hold: 1m}, streams: {capacity: 1, refill: 1/s}}", nil},
		{"limits: {}", nil},
	} {
		known, err := limit.ParseDocument([]byte(tt.limits))
		if err != nil {
			t.Fatal(err)
		}
		if err := cfg.writeDocuments(s, "http://127.0.0.1:9", known); err != nil {
			t.Fatal(err)
		}
		doc, err := gateway.Try(gateway.Config{Path: cfg.document(0)})
		if err != nil {
			t.Fatalf("with the limits %q: %v", tt.limits, err)
		}
		var got []string
		for _, r := range doc.Routes {
			got = append(got, gateway.Limits(r)...)
		}
		if !slices.Equal(got, tt.want) || len(gateway.Problems(doc, "", known)) > 0 || len(doc.Routes) < 3 {
			t.Errorf("with the limits %q, those of the routes are %q, want %q", tt.limits, got, tt.want)
		}
		checkDocumentOfDev(t, doc, s)
		secrets = append(secrets, string(doc.Identity.APIKey.SecretFile.Bytes()))
	}
	if len(strings.TrimSpace(secrets[0])) < 32 || secrets[0] != secrets[1] {
		t.Errorf("the secret is %d bytes long, and stays: %v", len(secrets[0]), secrets[0] == secrets[1])
	}
	if info, err := os.Stat(filepath.Join(cfg.data, secretFile)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file of the secret: %v, %v", info, err)
	}
}

func checkDocumentOfDev(t *testing.T, doc *config.Document, s *swarm) {
	t.Helper()
	key := doc.Identity.APIKey
	if len(key.Known) != 1 || key.Known[0].Digest != identity.Digest(key.SecretFile.Bytes(), testKey) || key.Known[0].Attributes["plan"] != "free" {
		t.Errorf("the known keys are %+v", key.Known)
	}
	if len(doc.Cluster.Servers) != 3 || doc.Proxy.Listen != s.gateways[0].at("proxy") || doc.Admin.Listen != s.gateways[0].at("admin") {
		t.Errorf("the addresses are %q %q %q", doc.Cluster.Servers, doc.Proxy.Listen, doc.Admin.Listen)
	}
}

func TestTheSampleIsHonest(t *testing.T) {
	for _, tt := range []struct {
		method, path string
		status       int
		want         string
	}{
		{http.MethodGet, "/v1/items", http.StatusOK, `"name":"abacus"`},
		{http.MethodPost, "/login", http.StatusUnauthorized, `"path":"/login"`},
		{http.MethodGet, "/v1/messages", http.StatusOK, `"method":"GET","path":"/v1/messages"`},
		{http.MethodDelete, "/any/thing", http.StatusOK, `"method":"DELETE","path":"/any/thing"`},
	} {
		w := httptest.NewRecorder()
		sampleHandler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), tt.method, tt.path, http.NoBody))
		var body struct{ Note string }
		if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil || body.Note != sampleNote || w.Code != tt.status || !strings.Contains(w.Body.String(), tt.want) {
			t.Errorf("%s %s: %v, %d %s", tt.method, tt.path, err, w.Code, w.Body)
		}
	}
}

func TestTheGatewayOfDevGetsNoOptions(t *testing.T) {
	if got := withoutOptions([]string{"HOME=/", "JETON_SERVER=x", "MY_JETON_=y", "JETON_TLS_CERT=z"}); !slices.Equal(got, []string{"HOME=/", "MY_JETON_=y"}) {
		t.Errorf("it gets %q", got)
	}
}

// TestTheSampleIsAModel asks it in the way of each API, for two tokens.
func TestTheSampleIsAModel(t *testing.T) {
	for path, usage := range map[string]string{
		"/v1/chat/completions": `"completion_tokens":2`,
		"/v1/responses":        `"output_tokens":2`,
		"/v1/messages":         `"output_tokens":2`,
	} {
		synctest.Test(t, func(t *testing.T) {
			w := httptest.NewRecorder()
			sampleHandler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, path,
				strings.NewReader(`{"model":"sample","stream":true,"stream_options":{"include_usage":true},"max_tokens":2,"messages":[],"input":""}`)))
			if got := w.Body.String(); w.Code != http.StatusOK || !strings.Contains(got, usage) {
				t.Errorf("%s: %d %s, want %s", path, w.Code, got, usage)
			}
		})
	}
}
