package gateway

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"go.uber.org/goleak"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cmd/node"
)

// aNode is the gRPC address of a cluster of one with the limits of twoLimit, for all tests.
var aNode string

func TestMain(m *testing.M) {
	code, err := withCluster(m.Run)
	if err == nil {
		err = goleak.Find()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// withCluster runs the tests while there is a cluster.
func withCluster(run func() int) (code int, err error) {
	dir, err := os.MkdirTemp("", "gateway-")
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	limits := filepath.Join(dir, "limits.yaml")
	if err := os.WriteFile(limits, []byte(twoLimit), 0o600); err != nil {
		return 1, err
	}
	n, err := node.Open(node.Config{
		Data: filepath.Join(dir, "data"), Limits: limits, Name: "test", Logger: slog.New(slog.DiscardHandler),
		ListenGRPC: "127.0.0.1:0", ListenGossip: "127.0.0.1:0", ListenRaft: "127.0.0.1:0",
	})
	if err != nil {
		return 1, err
	}
	aNode = n.GRPCAddr()
	code = run()
	return code, n.Close(context.Background())
}

// patience only ends tests that hang.
const patience = time.Minute

// aText is a document, on free ports, without the addresses of the cluster and of an upstream.
const aText = `
name: test
cluster: {servers: [%q], decide_within: 5s}
proxy:
  listen: 127.0.0.1:0
  upstreams: {api: {urls: [%q]}}
forward_auth: {listen: "127.0.0.1:0"}
admin: {listen: "127.0.0.1:0"}
deny: {keys: ["ip:192.0.2.1"]}
routes:
- {name: open, path: /open}
- {name: items, path: /items, checks: [{limits: [two]}]}
`

// twoLimit is a limit that lets two requests an hour pass.
const twoLimit = "limits: {two: {capacity: 2, refill: 1/h}, four: {capacity: 4, refill: 1/h}, held: {capacity: 1, refill: 1/5s, wait: 30s}, late: {capacity: 1, refill: 1/20s, wait: 30s}}"

// aDocument is one of a gateway in front of an upstream.
func aDocument(upstream string) string { return fmt.Sprintf(aText, aNode, upstream) }

// anUpstream says which path it was asked for.
func anUpstream(t *testing.T) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "upstream ", r.URL.Path)
	}))
	t.Cleanup(s.Close)
	return s
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// A rig is a gateway and what is around it.
type rig struct {
	*Gateway
	path string // of its document
	log  *journal
	http *http.Client
}

// open starts a gateway that ends with the test.
func open(t *testing.T, cfg Config, document string) *rig {
	t.Helper()
	path := filepath.Join(t.TempDir(), "gateway.yaml")
	write(t, path, document)
	return openAt(t, path, cfg)
}

// openAt starts one with the document at path.
func openAt(t *testing.T, path string, cfg Config) *rig {
	t.Helper()
	r := &rig{path: path, log: &journal{}, http: &http.Client{Transport: &http.Transport{}}}
	cfg.Path, cfg.Logger = r.path, slog.New(slog.NewTextHandler(r.log, nil))
	e, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	r.Gateway = e
	t.Cleanup(func() {
		r.http.CloseIdleConnections()
		select {
		case <-e.stopping: // the test has closed it
			return
		default:
		}
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := e.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return r
}

// heard waits until the gateway has heard of the limits.
func (r *rig) heard(t *testing.T) {
	t.Helper()
	select {
	case <-r.clusters[0].client.Heard():
	case <-time.After(patience):
		t.Fatal("the gateway has not heard of the limits")
	}
}

// An answer is one of HTTP.
type answer struct {
	status int
	header http.Header
	body   string
}

// send sends a request with a header, "name: value" each.
func (r *rig) send(t *testing.T, method, url, body string, header ...string) answer {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range header {
		name, value, _ := strings.Cut(h, ": ")
		q.Header.Set(name, value)
	}
	a, err := r.http.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	if a.Header.Get("Content-Type") == "text/event-stream" { // which has no end
		return answer{a.StatusCode, a.Header, ""}
	}
	text, err := io.ReadAll(a.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{a.StatusCode, a.Header, string(text)}
}

func (r *rig) get(t *testing.T, address, path string, header ...string) answer {
	t.Helper()
	return r.send(t, http.MethodGet, "http://"+address+path, "", header...)
}

// A journal is what was logged.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

// count is how many lines have that text.
func (j *journal) count(text string) (n int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for line := range strings.Lines(j.text.String()) {
		if strings.Contains(line, text) {
			n++
		}
	}
	return n
}

// An authority signs certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  string
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{}
	a.cert, a.key, a.pem, _ = issue(t, nil, "authority")
	return a
}

// issue makes the certificate and the key of a name, in PEM.
func (a *authority) issue(t *testing.T, name string) (cert, key string) {
	t.Helper()
	_, _, cert, key = issue(t, a, name)
	return cert, key
}

func issue(t *testing.T, by *authority, name string) (*x509.Certificate, *ecdsa.PrivateKey, string, string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, BasicConstraintsValid: true, IsCA: by == nil,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		DNSNames:    []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	parent, signer := template, key
	if by != nil {
		parent, signer = by.cert, by.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	block := func(kind string, bytes []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: bytes}))
	}
	return cert, key, block("CERTIFICATE", der), block("PRIVATE KEY", secret)
}

// known are limits as a cluster has them.
func known(t *testing.T, text string) *limit.Document {
	t.Helper()
	doc, err := limit.ParseDocument([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// valueOf is what a counter or a gauge says.
func valueOf(m prometheus.Metric) float64 {
	var out dto.Metric
	if err := m.Write(&out); err != nil {
		panic(err)
	}
	return out.GetCounter().GetValue() + out.GetGauge().GetValue()
}
