package key_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"math/big"
	"net"
	"sync"
	"testing"

	"github.com/jeton-dev/jeton/ring/key"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A wire remembers what went over it.
type wire struct {
	net.Conn
	mu   sync.Mutex
	sent bytes.Buffer
}

func (w *wire) Write(data []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sent.Write(data)
	return w.Conn.Write(data)
}

// An outcome is what became of a conversation, as its two ends saw it.
type outcome struct {
	server, client error
	heard          string // by the server
	answered       string // to the client
	wire           []byte
}

// talk lets a client say hello to a server, which answers. The client talks plainly when it has no configuration.
func talk(t *testing.T, server, client *tls.Config) *outcome {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close() //nolint:errcheck // nothing was written
	o := new(outcome)
	done := make(chan struct{})
	tapped := new(wire)
	go func() {
		defer close(done)
		tapped.Conn, o.server = listener.Accept()
		if o.server != nil {
			return
		}
		conn := tls.Server(tapped, server)
		defer conn.Close() //nolint:errcheck // the client says what it got
		heard := make([]byte, len("hello"))
		if _, o.server = io.ReadFull(conn, heard); o.server == nil {
			o.heard = string(heard)
			_, o.server = conn.Write([]byte("welcome"))
		}
	}()

	plain, err := new(net.Dialer).DialContext(t.Context(), "tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	sent := &wire{Conn: plain}
	conn := net.Conn(sent)
	if client != nil {
		conn = tls.Client(sent, client)
	}
	if _, o.client = conn.Write([]byte("hello")); o.client == nil {
		var answer []byte
		answer, o.client = io.ReadAll(conn)
		if client != nil || bytes.Contains(answer, []byte("welcome")) { // to plain text, alerts are noise
			o.answered = string(answer)
		}
	}
	_ = plain.Close()
	<-done
	o.wire = append(sent.sent.Bytes(), tapped.sent.Bytes()...)
	return o
}

func config(t *testing.T, secret string) *tls.Config {
	t.Helper()
	return newKey(t, secret).TLS()
}

// shownBy is the certificate that a configuration shows now.
func shownBy(t *testing.T, config *tls.Config) tls.Certificate {
	t.Helper()
	certificate, err := config.GetCertificate(nil)
	if err != nil {
		t.Fatal(err)
	}
	return *certificate
}

func TestHoldersOfTheKeyTalk(t *testing.T) {
	o := talk(t, config(t, secret), config(t, secret))
	if o.server != nil || o.client != nil || o.heard != "hello" || o.answered != "welcome" {
		t.Errorf("they do not understand each other: %+v", o)
	}
	for _, word := range []string{"hello", "welcome", "127.0.0.1"} {
		if bytes.Contains(o.wire, []byte(word)) {
			t.Errorf("%q can be read on the wire", word)
		}
	}
}

// stranger is a certificate with a key pair of its own. It copies all names from the cluster's.
func stranger(t *testing.T, weak bool) tls.Certificate {
	t.Helper()
	original, err := x509.ParseCertificate(shownBy(t, config(t, secret)).Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: original.Subject, DNSNames: original.DNSNames,
		NotBefore: original.NotBefore, NotAfter: original.NotAfter,
	}
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	var shown, secret any = public, private
	if weak {
		other, err := rsa.GenerateKey(rand.Reader, 2048)
		if err != nil {
			t.Fatal(err)
		}
		shown, secret = &other.PublicKey, other
	}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, shown, secret)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{certificate}, PrivateKey: secret}
}

func TestAServerRefusesAllOthers(t *testing.T) {
	credulous := func(change func(*tls.Config)) *tls.Config { // trusts any server, to get as far as it can
		c := &tls.Config{InsecureSkipVerify: true}
		change(c)
		return c
	}
	genuine := shownBy(t, config(t, secret))
	for what, test := range map[string]struct {
		client *tls.Config
		other  bool // refused because of its key
	}{
		"another key": {credulous(func(c *tls.Config) {
			c.Certificates = []tls.Certificate{shownBy(t, config(t, "another cluster's secret"))}
		}), true},
		"a stranger": {credulous(func(c *tls.Config) { c.Certificates = []tls.Certificate{stranger(t, false)} }), true},
		"an RSA key": {credulous(func(c *tls.Config) { c.Certificates = []tls.Certificate{stranger(t, true)} }), true},
		"a second certificate that is the cluster's": {credulous(func(c *tls.Config) {
			own := stranger(t, false)
			own.Certificate = append(own.Certificate, genuine.Certificate...)
			c.Certificates = []tls.Certificate{own}
		}), true},
		"the cluster's certificate without its key": {credulous(func(c *tls.Config) {
			own := stranger(t, false)
			c.Certificates = []tls.Certificate{{Certificate: genuine.Certificate, PrivateKey: own.PrivateKey}}
		}), false},
		"no certificate": {credulous(func(*tls.Config) {}), false},
		"TLS 1.2":        {credulous(func(c *tls.Config) { c.MaxVersion, c.Certificates = tls.VersionTLS12, []tls.Certificate{genuine} }), false},
		"plain text":     {nil, false},
	} {
		t.Run(what, func(t *testing.T) {
			o := talk(t, config(t, secret), test.client)
			if o.server == nil || o.heard != "" || o.answered != "" {
				t.Errorf("it got in: %+v", o)
			}
			if o.client == nil && test.client != nil {
				t.Error("the client was not told")
			}
			if errors.Is(o.server, key.ErrOtherKey) != test.other {
				t.Errorf("the server says %v", o.server)
			}
		})
	}
}

func TestAClientRefusesAllOthers(t *testing.T) {
	for what, certificate := range map[string]tls.Certificate{
		"another key": shownBy(t, config(t, "another cluster's secret")),
		"a stranger":  stranger(t, false),
		"an RSA key":  stranger(t, true),
	} {
		t.Run(what, func(t *testing.T) {
			o := talk(t, &tls.Config{Certificates: []tls.Certificate{certificate}}, config(t, secret))
			if !errors.Is(o.client, key.ErrOtherKey) || o.server == nil || o.heard != "" {
				t.Errorf("the client talks to it: %+v", o)
			}
		})
	}
}

// TestNothingIsResumed checks that even a client that keeps sessions proves itself each time.
func TestNothingIsResumed(t *testing.T) {
	server := config(t, secret)
	client := config(t, secret)
	client.ClientSessionCache = tls.NewLRUClientSessionCache(8)
	for range 3 {
		client.VerifyConnection = func(state tls.ConnectionState) error {
			if state.DidResume {
				t.Error("a session was resumed")
			}
			return nil
		}
		if o := talk(t, server, client); o.answered != "welcome" {
			t.Fatalf("%+v", o)
		}
	}
}

// TestResumedSessionsAreVerified checks that a ticket, if there were any, would not stand for the key.
func TestResumedSessionsAreVerified(t *testing.T) {
	config := config(t, secret)
	if err := config.VerifyConnection(tls.ConnectionState{DidResume: true}); !errors.Is(err, key.ErrOtherKey) {
		t.Errorf("a resumed session without a certificate: %v", err)
	}
	other, err := x509.ParseCertificate(stranger(t, false).Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	state := tls.ConnectionState{DidResume: true, PeerCertificates: []*x509.Certificate{other}}
	if err := config.VerifyConnection(state); !errors.Is(err, key.ErrOtherKey) {
		t.Errorf("a resumed session of a stranger: %v", err)
	}
}
