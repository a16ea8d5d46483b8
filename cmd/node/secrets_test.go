package node_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cluster-tests/authority"
	"github.com/jeton-dev/jeton/cmd/node"
	"github.com/jeton-dev/jeton/ring/key"
	"github.com/jeton-dev/jeton/rpc/client"
	"github.com/jeton-dev/jeton/rpc/credentials"
)

const (
	secret    = "the secret of this cluster"
	fileToken = "a-token-of-operators"
)

// tokenOf is the token of a key file's text.
func tokenOf(t *testing.T, text string) string {
	t.Helper()
	k, err := key.New([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return k.Token()
}

// A reply is what a node has answered, and the certificate that it has shown, if any.
type reply struct {
	status int
	header http.Header
	shown  *x509.Certificate
}

// send sends one request to a node that listens on some address with that port, over loopback.
func send(t *testing.T, c *http.Client, scheme, method, address, path, token string) reply {
	t.Helper()
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	body := ""
	switch {
	case path == "/v1/check" || path == "/console/try":
		body = `{"key":"k","limits":["demo"]}`
	case path == "/v1/GetRateLimits":
		body = `{"requests": [{"name": "n", "uniqueKey": "k", "hits": 1, "limit": 10, "duration": 60000}]}`
	case path == "/v1/check-all":
		body = `{"checks":[{"key":"k","limits":["demo"]}]}`
	case path == "/v1/extend":
		body = `{"key":"k","receipt":{"limit":"demo","generation":"0","start_ns":"0","end_ns":"0","owner":"00000000000000000000000000000000","serial":"1"}}`
	case path == "/v1/hold":
		body = `{"key":"k","limits":["demo"],"for":"60s"}`
	case path == "/v1/settle":
		body = `{"hold":"` + limit.Hold{Key: "k", Limits: []limit.Held{{Limit: "demo", ID: 1}}}.String() + `","cost":0}`
	case path == "/v1/fill":
		body = `{"limit":"demo","key":"k"}`
	case path == "/v1/overrides" && method == http.MethodPut:
		body = `{"limit":"demo","key":"other","says":"deny","for":"10m"}`
	case path == "/v1/return":
		body = `{"key":"k","receipts":[]}`
	case method == http.MethodPut:
		body = "limits: {demo: {capacity: 1000, refill: 1/s}}"
	}
	r, err := http.NewRequestWithContext(t.Context(), method, scheme+"://127.0.0.1:"+port+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.Header.Get("Content-Type") == "text/event-stream" { // which has no end
		_, err = io.CopyN(io.Discard, res.Body, 1)
	} else {
		_, err = io.Copy(io.Discard, res.Body)
	}
	if err != nil {
		t.Fatal(err)
	}
	out := reply{status: res.StatusCode, header: res.Header}
	if res.TLS != nil {
		out.shown = res.TLS.PeerCertificates[0]
	}
	return out
}

// plainHTTP is a client that keeps no connections.
func plainHTTP() *http.Client {
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
}

// Wrong secrets are refused at the start, by the name of the option.
func TestOpenRefusesSecrets(t *testing.T) {
	ca := authority.New(t, "ours")
	files := authority.Write(t, t.TempDir(), ca.Issue(t, "node"), ca)
	keyFile := writeFile(t, "key", secret)
	old := authority.Write(t, t.TempDir(), ca.IssueFor(t, "node", time.Now().Add(-2*time.Hour), time.Now().Add(-time.Hour)), ca)
	member := func(cfg node.Config) node.Config {
		cfg.ListenGRPC, cfg.ListenGossip, cfg.ListenRaft = "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0"
		return cfg
	}
	for _, tt := range []struct {
		name string
		cfg  node.Config
		want string
	}{
		{"no key", node.Config{TLSCert: files.Cert, TLSCA: files.CA}, "tls-key: is missing: give all three"},
		{"no authority", node.Config{TLSCert: files.Cert, TLSKey: files.Key}, "tls-ca: is missing"},
		{"an authority alone", node.Config{TLSCA: files.CA}, "tls-cert: is missing"},
		{"expired", node.Config{TLSCert: old.Cert, TLSKey: old.Key, TLSCA: old.CA}, "tls-cert: " + old.Cert + ": expired at"},
		{"another key", node.Config{TLSCert: files.Cert, TLSKey: old.Key, TLSCA: files.CA}, "tls-key: "},
		{"no certificates", node.Config{TLSCert: files.Cert, TLSKey: files.Key, TLSCA: keyFile}, "tls-ca: " + keyFile + ": holds no certificate"},
		{"a member without a cluster key", member(node.Config{TLSCert: files.Cert, TLSKey: files.Key, TLSCA: files.CA}), "--cluster-key-file"},
		{"no tokens", node.Config{AdminTokenFile: filepath.Join(t.TempDir(), "none")}, "admin-token-file: "},
		{"a short token", node.Config{AdminTokenFile: writeFile(t, "tokens", "short\n")}, "line 1: a token needs at least 16"},
		{"tokens that every user may read", node.Config{AdminTokenFile: readable(t, "tokens", fileToken)}, "chmod g-w,o= "},
		{"a key that every user may read", node.Config{ClusterKeyFile: readable(t, "key", secret)}, "chmod g-w,o= "},
		{"a private key that every user may read", node.Config{TLSCert: files.Cert, TLSKey: readable(t, "key", "PEM"), TLSCA: files.CA}, "tls-key: "},
		{"HTTP beyond loopback", node.Config{ListenHTTP: "0.0.0.0:0"}, "listen-http: 0.0.0.0:0 can be reached from other machines"},
		{
			"HTTP beyond loopback with certificates alone",
			node.Config{ListenHTTP: "0.0.0.0:0", TLSCert: files.Cert, TLSKey: files.Key, TLSCA: files.CA},
			"give --admin-token-file",
		},
		{
			"gRPC beyond loopback with tokens alone",
			node.Config{ListenGRPC: "0.0.0.0:0", AdminTokenFile: writeFile(t, "tokens", fileToken)},
			"listen-grpc: 0.0.0.0:0 can be reached",
		},
		{
			"gossip beyond loopback with tokens alone", func() node.Config {
				cfg := member(node.Config{AdminTokenFile: writeFile(t, "tokens", fileToken)})
				cfg.ListenGossip = "0.0.0.0:0"
				return cfg
			}(), "listen-gossip: 0.0.0.0:0 can be reached",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cfg := tt.cfg
			cfg.Data = filepath.Join(t.TempDir(), "data")
			n, err := node.Open(cfg)
			if err == nil {
				n.Close(t.Context()) //nolint:errcheck // the test has failed
				t.Fatal("it opens")
			}
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %q", err, tt.want)
			}
			if _, err := os.Stat(cfg.Data); err == nil {
				t.Error("a data directory was made")
			}
		})
	}
}

// readable makes a file that every user of the machine may read.
func readable(t *testing.T, name, text string) string {
	t.Helper()
	path := writeFile(t, name, text)
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// A journal keeps what a node logs.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(line []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(line)
}

func (j *journal) count(s string) int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return strings.Count(j.text.String(), s)
}

// A node that is alone serves callers with certificates, beyond loopback and without a key, and goes on with another
// certificate when it is told to look.
func TestCertificatesOfANode(t *testing.T) {
	ca, dir := authority.New(t, "ours"), t.TempDir()
	first := ca.Issue(t, "node")
	files := authority.Write(t, dir, first, ca)
	tokens := writeFile(t, "tokens", fileToken)
	log := new(journal)
	n := open(t, node.Config{
		Data: t.TempDir(), ListenGRPC: "0.0.0.0:0", ListenHTTP: "0.0.0.0:0", Advertise: "127.0.0.1",
		TLSCert: files.Cert, TLSKey: files.Key, TLSCA: files.CA, AdminTokenFile: tokens,
		Limits: writeFile(t, "limits.yaml", "limits: {demo: {capacity: 1000, refill: 1/s}}"), Logger: slog.New(slog.NewTextHandler(log, nil)),
	})
	secure, err := credentials.CallerTLS(credentials.TLSFiles(authority.Write(t, t.TempDir(), ca.Issue(t, "caller"), ca)))
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(n.GRPCAddr())
	checkOver(t, "127.0.0.1:"+port, secure, true)
	checkOver(t, "127.0.0.1:"+port, nil, false)

	shows := func(p authority.Pair) bool {
		t.Helper()
		transport := &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: ca.Pool(), MinVersion: tls.VersionTLS13}}
		res := send(t, &http.Client{Transport: transport}, "https", http.MethodGet, n.HTTPAddr(), "/debug/", fileToken)
		if res.status != http.StatusOK {
			t.Errorf("/debug/ over HTTPS: %d", res.status)
		}
		return p.TLS(t).Leaf.Equal(res.shown)
	}
	if !shows(first) {
		t.Error("HTTPS shows another certificate")
	}
	if res := send(t, plainHTTP(), "http", http.MethodGet, n.HTTPAddr(), "/livez", ""); res.status != http.StatusBadRequest {
		t.Errorf("plain HTTP: %d", res.status)
	}
	authority.Write(t, dir, first) // no authority any more
	for range 2 {
		if err := n.Reload(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if log.count("tls-ca: ") < 2 { // an operator who asks is always answered
		t.Errorf("the log does not say what is wrong:\n%s", &log.text)
	}
	checkOver(t, "127.0.0.1:"+port, secure, true)
	second := ca.Issue(t, "node")
	authority.Write(t, dir, second, ca)
	if err := n.Reload(t.Context()); err != nil || !shows(second) {
		t.Errorf("HTTPS shows the old certificate; %v", err)
	}
	checkOver(t, "127.0.0.1:"+port, secure, true)
}

// checkOver checks once over a connection of its own.
func checkOver(t *testing.T, server string, secure *tls.Config, may bool) {
	t.Helper()
	c, err := client.New(client.Config{Server: server, TLS: secure, Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close() //nolint:errcheck // it has been answered
	d, err := c.Check(context.WithoutCancel(t.Context()), limit.Request{Key: "k", Limits: []limit.Ref{limit.Named("demo")}, Cost: 1})
	if may != (err == nil && d.Allowed) {
		t.Errorf("%+v, %v; it may check: %v", d, err, may)
	}
	if !may && !strings.Contains(err.Error(), "requires TLS") {
		t.Errorf("it is told %v", err)
	}
}
