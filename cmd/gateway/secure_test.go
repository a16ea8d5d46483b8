package gateway

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/internal/metrics/metricstest"
)

// secured is a document whose proxy speaks TLS with the files cert and key beside it.
func secured(upstream string) string {
	return strings.Replace(aDocument(upstream), "  upstreams:", "  tls: {cert: cert, key: key}\n  upstreams:", 1)
}

// A certificate is exchanged while the gateway runs, and never for one that does not fit its key.
func TestTheProxysCertificateIsExchanged(t *testing.T) {
	a := newAuthority(t)
	roots := x509.NewCertPool()
	roots.AddCert(a.cert)
	dir := t.TempDir()
	put := func(cert, key string) {
		t.Helper()
		write(t, filepath.Join(dir, "cert"), cert)
		write(t, filepath.Join(dir, "key"), key)
	}
	oneCert, oneKey := a.issue(t, "one")
	twoCert, twoKey := a.issue(t, "two")
	put(oneCert, oneKey)
	path := filepath.Join(dir, "gateway.yaml")
	write(t, path, secured(anUpstream(t).URL))
	e := openAt(t, path, Config{})
	shows := func(want string) {
		t.Helper()
		transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}, ForceAttemptHTTP2: true}
		defer transport.CloseIdleConnections()
		q, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+e.ProxyAddr()+"/open", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		res, err := (&http.Client{Transport: transport}).Do(q)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if got := res.TLS.PeerCertificates[0].Subject.CommonName; got != want || res.ProtoMajor != 2 || res.StatusCode != http.StatusOK {
			t.Errorf("%s shows %s by HTTP/%d, want %s by HTTP/2", res.Status, got, res.ProtoMajor, want)
		}
	}
	shows("one")
	put(twoCert, oneKey)
	if err := e.Reload(); err == nil || !strings.Contains(err.Error(), "proxy.tls") {
		t.Errorf("a certificate without its key: %v", err)
	}
	shows("one")
	put(twoCert, twoKey)
	if err := e.Reload(); err != nil {
		t.Fatal(err)
	}
	shows("two")
	write(t, path, aDocument("http://127.0.0.1:9"))
	if err := e.Reload(); err == nil || !strings.Contains(err.Error(), "proxy.tls: it cannot change while the gateway runs") {
		t.Errorf("a document without TLS: %v", err)
	}
	shows("two")
}

// What is presented to nodes is exchanged likewise; whom nodes must be from is not.
func TestTheCertificateForNodesIsExchanged(t *testing.T) {
	a := newAuthority(t)
	dir := t.TempDir()
	name := func(file string) string { return filepath.Join(dir, file) }
	put := func(subject string) {
		t.Helper()
		cert, key := a.issue(t, subject)
		write(t, name("cert"), cert)
		write(t, name("key"), key)
	}
	put("gateway one")
	write(t, name("ca"), a.pem)
	r := open(t, Config{TLSCert: name("cert"), TLSKey: name("key"), TLSCA: name("ca")}, aDocument(anUpstream(t).URL))
	if ends := metricstest.Gather(t, r.metrics, "jeton_gateway_certificate_expiry_timestamp_seconds"); len(ends) != 1 ||
		ends[0].GetLabel()[0].GetValue() != "cluster.tls" || ends[0].GetGauge().GetValue() < float64(time.Now().Unix()) {
		t.Errorf("the metrics say that certificates end: %v", ends)
	}

	nodeCert, nodeKey := a.issue(t, "node")
	pair, err := tls.X509KeyPair([]byte(nodeCert), []byte(nodeKey))
	if err != nil {
		t.Fatal(err)
	}
	clients := x509.NewCertPool()
	clients.AddCert(a.cert)
	server := &tls.Config{
		MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: clients,
	}
	l, err := tls.Listen("tcp", "127.0.0.1:0", server)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() //nolint:errcheck // nothing was written
	presents := func(want string) {
		t.Helper()
		seen := make(chan string, 1)
		go func() {
			c, err := l.Accept()
			if err != nil {
				seen <- err.Error()
				return
			}
			defer c.Close() //nolint:errcheck // only the handshake counts
			s := c.(*tls.Conn)
			if err := s.HandshakeContext(t.Context()); err != nil {
				seen <- err.Error()
				return
			}
			seen <- s.ConnectionState().PeerCertificates[0].Subject.CommonName
		}()
		c, err := (&tls.Dialer{Config: clusterTLS(&r.now.Load().reaches[0], func() *reach { return &r.now.Load().reaches[0] })}).DialContext(t.Context(), "tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close() //nolint:errcheck // only the handshake counts
		if got := <-seen; got != want {
			t.Errorf("the node sees %q, want %q", got, want)
		}
	}
	presents("gateway one")
	put("gateway two")
	if err := r.Reload(); err != nil {
		t.Fatal(err)
	}
	presents("gateway two")
	write(t, name("ca"), newAuthority(t).pem)
	if err := r.Reload(); err == nil || !strings.Contains(err.Error(), "cluster.tls.ca: it cannot change while the gateway runs: restart") {
		t.Errorf("another authority: %v", err)
	}
	write(t, name("ca"), "nothing")
	if err := r.Reload(); err == nil || !strings.Contains(err.Error(), "cluster.tls.ca") {
		t.Errorf("no authority: %v", err)
	}
}

// Strangers that try TLS on a port are no news.
func TestHandshakesOfStrangersAreQuiet(t *testing.T) {
	a := newAuthority(t)
	cert, key := a.issue(t, "one")
	dir := t.TempDir()
	write(t, filepath.Join(dir, "cert"), cert)
	write(t, filepath.Join(dir, "key"), key)
	document := strings.ReplaceAll(secured("http://127.0.0.1:9"), "cert: cert, key: key",
		fmt.Sprintf("cert: %q, key: %q", filepath.Join(dir, "cert"), filepath.Join(dir, "key")))
	r := open(t, Config{}, document)
	c, err := (&tls.Dialer{Config: &tls.Config{MinVersion: tls.VersionTLS12}}).DialContext(t.Context(), "tcp", r.ProxyAddr())
	if err == nil {
		t.Fatal("an unknown authority is trusted", c.Close())
	}
	if a := r.get(t, r.ProxyAddr(), "/open"); a.status != http.StatusBadRequest { // plain HTTP on a TLS port
		t.Errorf("plain HTTP: %+v", a)
	}
	if err := r.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if n := r.log.count("handshake"); n != 0 {
		t.Errorf("%d lines about handshakes", n)
	}
}

// What others on the machine may read is refused, in the document as on the command line, unless somebody allows it.
func TestExposedFilesOfAGateway(t *testing.T) {
	cert, key := newAuthority(t).issue(t, "one")
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	write(t, at("cert"), cert)
	write(t, at("key"), key)
	write(t, at("gateway.yaml"), aDocument(anUpstream(t).URL))
	write(t, at("secured.yaml"), secured(anUpstream(t).URL))
	for _, mode := range []os.FileMode{0o600, 0o644} {
		if err := os.Chmod(at("key"), mode); err != nil {
			t.Fatal(err)
		}
		for _, cfg := range []Config{
			{Path: at("secured.yaml")},
			{Path: at("secured.yaml"), Insecure: true},
			{Path: at("gateway.yaml"), TLSCert: at("cert"), TLSKey: at("key"), TLSCA: at("cert")},
			{Path: at("gateway.yaml"), TLSCert: at("cert"), TLSKey: at("key"), TLSCA: at("cert"), Insecure: true},
		} {
			_, err := Try(cfg)
			switch refused := mode == 0o644 && !cfg.Insecure; {
			case refused && (err == nil || !strings.Contains(err.Error(), "chmod g-w,o= "+at("key"))):
				t.Errorf("%+v with mode %04o: %v", cfg, mode, err)
			case !refused && err != nil:
				t.Errorf("%+v with mode %04o: %v", cfg, mode, err)
			}
		}
	}
}
