package gateway_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"

	"github.com/jeton-dev/jeton/gateway/config"
)

// An authority issues certificates that no system knows.
type authority struct {
	testing.TB
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  []byte
}

func newAuthority(tb testing.TB) *authority {
	tb.Helper()
	a := &authority{TB: tb}
	var pair tls.Certificate
	a.pem, _, pair = a.issue("authority")
	a.cert, a.key = pair.Leaf, pair.PrivateKey.(*ecdsa.PrivateKey)
	return a
}

// issue makes a certificate of a name, for clients and servers; the first one is the authority's own.
func (a *authority) issue(name string) (cert, key []byte, pair tls.Certificate) {
	a.Helper()
	own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, BasicConstraintsValid: true, IsCA: a.cert == nil,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	parent, signer := template, own
	if a.cert != nil {
		parent, signer = a.cert, a.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &own.PublicKey, signer)
	if err != nil {
		a.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(own)
	if err != nil {
		a.Fatal(err)
	}
	cert = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	key = pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})
	if pair, err = tls.X509KeyPair(cert, key); err != nil {
		a.Fatal(err)
	}
	return cert, key, pair
}

// server is what a server with a certificate of that name is configured by, which asks clients for one of the authority.
func (a *authority) server(name string) *tls.Config {
	a.Helper()
	_, _, own := a.issue(name)
	clients := x509.NewCertPool()
	clients.AddCert(a.cert)
	return &tls.Config{
		MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{own}, ClientCAs: clients, ClientAuth: tls.RequireAndVerifyClientCert,
	}
}

// A service of gRPC with a certificate of a private authority, which wants to see one, is reached over TLS.
func TestCallsOverMutualTLS(t *testing.T) {
	a := newAuthority(t)
	cert, key, _ := a.issue("gateway")
	dir := secrets(t, map[string]string{"ca.pem": string(a.pem), "cert.pem": string(cert), "key.pem": string(key)})
	c := &caller{}
	address := c.start(t, grpc.Creds(credentials.NewTLS(a.server("api.internal"))))
	const files = "ca: %[1]s/ca.pem, cert: %[1]s/cert.pem, key: %[1]s/key.pem"
	for tls, want := range map[string]codes.Code{
		files + ", server_name: api.internal": codes.OK,
		files + ", server_name: other":        codes.Unavailable,
		files:                                 codes.Unavailable, // 127.0.0.1 is not in the certificate
		"cert: %[1]s/cert.pem, key: %[1]s/key.pem, server_name: api.internal": codes.Unavailable, // nor the authority in the system
		"ca: %[1]s/ca.pem, server_name: api.internal":                         codes.Unavailable, // nor any certificate shown
	} {
		c.serve(t, true, fmt.Sprintf("proxy: {upstreams: {app: {urls: [https://%s], tls: {%s}}}}\nroutes: [{name: all, path: /}]", address, fmt.Sprintf(tls, dir)))
		if err := c.check(t.Context(), ""); status.Code(err) != want {
			t.Errorf("with %s: %v, want %v", tls, err, want)
		}
		if want == codes.OK {
			s := c.talk(t.Context())
			c.say(s, "hello")
			_ = s.CloseSend()
		}
	}
}

// Another certificate for the upstream is shown by the next connection; an instance may choose HTTP/1 or HTTP/2.
func TestUpstreamCertificateIsExchanged(t *testing.T) {
	a := newAuthority(t)
	for _, major := range []int{1, 2} {
		app := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprint(w, r.TLS.PeerCertificates[0].Subject.CommonName, " ", r.Proto)
		}))
		app.TLS, app.EnableHTTP2 = a.server("api.internal"), major == 2
		app.Config.ErrorLog = log.New(io.Discard, "", 0)
		app.StartTLS()
		t.Cleanup(app.Close)
		document := func(name string) *config.Document {
			cert, key, _ := a.issue(name)
			return &config.Document{
				Proxy: &config.Proxy{Upstreams: map[string]config.Upstream{"app": {URLs: []string{app.URL}, TLS: &config.UpstreamTLS{
					CA: config.FileOf(a.pem), Cert: config.FileOf(cert), Key: config.FileOf(key), ServerName: "api.internal",
				}}}},
				Routes: []config.Route{{Name: "all", Path: "/"}},
			}
		}
		r := newRig(t, "{}")
		s := httptest.NewServer(r.gateway.Proxy())
		t.Cleanup(s.Close)
		for _, name := range []string{"one", "other"} {
			if err := r.gateway.Load(document(name)); err != nil {
				t.Fatal(err)
			}
			if answer, text := fetch(t, http.MethodGet, s.URL, ""); !strings.HasPrefix(text, fmt.Sprintf("%s HTTP/%d", name, major)) {
				t.Errorf("with the certificate of %s: %s, %q", name, answer.Status, text)
			}
		}
	}
}

// A WebSocket goes through to an instance that would speak HTTP/2 with everybody else.
func TestWebSocketBesideHTTP2(t *testing.T) {
	chat := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Upgrade") == "" {
			fmt.Fprint(w, r.Proto)
			return
		}
		c, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		_ = c.Write(r.Context(), websocket.MessageText, []byte("welcome"))
		_ = c.Close(websocket.StatusNormalClosure, "")
	})
	secure, plain := httptest.NewUnstartedServer(chat), httptest.NewUnstartedServer(chat)
	secure.EnableHTTP2 = true
	secure.StartTLS()
	t.Cleanup(secure.Close)
	plain.Config.Protocols = new(http.Protocols)
	plain.Config.Protocols.SetHTTP1(true)
	plain.Config.Protocols.SetUnencryptedHTTP2(true)
	plain.Start()
	t.Cleanup(plain.Close)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw})
	for _, url := range []string{secure.URL, "h2c" + strings.TrimPrefix(plain.URL, "http")} {
		r := newRig(t, "{}")
		if err := r.gateway.Load(&config.Document{
			Proxy:  &config.Proxy{Upstreams: map[string]config.Upstream{"app": {URLs: []string{url, secure.URL}, TLS: &config.UpstreamTLS{CA: config.FileOf(ca)}}}},
			Routes: []config.Route{{Name: "all", Path: "/"}},
		}); err != nil {
			t.Fatal(err)
		}
		s := httptest.NewServer(r.gateway.Proxy())
		t.Cleanup(s.Close)
		if _, text := fetch(t, http.MethodGet, s.URL, ""); text != "HTTP/2.0" {
			t.Errorf("%s speaks %q", url, text)
		}
		for range 2 { // to both instances
			c, _, err := websocket.Dial(t.Context(), "ws"+strings.TrimPrefix(s.URL, "http"), nil) //nolint:bodyclose // the connection is what it holds
			if err != nil {
				t.Fatalf("%s: %v\n%s", url, err, r.logs)
			}
			if _, text, err := c.Read(t.Context()); err != nil || string(text) != "welcome" {
				t.Errorf("%q, %v", text, err)
			}
			_ = c.CloseNow()
		}
	}
}
