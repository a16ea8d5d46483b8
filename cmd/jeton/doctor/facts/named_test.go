package facts

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/cmd/node"
)

// certificate writes a certificate that ends then, and its key.
func certificate(t *testing.T, dir string, end time.Time) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: end.Add(-240 * time.Hour), NotAfter: end, DNSNames: []string{"localhost"}, IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	cert = written(t, dir, "tls.crt", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), 0o600)
	return cert, written(t, dir, "tls.key", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})), 0o600)
}

func written(t *testing.T, dir, name, text string, mode os.FileMode) (path string) {
	t.Helper()
	path = filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil { // whatever the umask is
		t.Fatal(err)
	}
	return path
}

// TestNamed reads files as a node does: each is good once, and wrong once.
func TestNamed(t *testing.T) {
	now := time.Now()
	read := func(c node.Config) map[string]Named {
		found := map[string]Named{}
		for _, n := range namedBy(&c, owner{}) {
			found[n.Option] = n
		}
		return found
	}
	dir := t.TempDir()
	cert, key := certificate(t, dir, now.Add(72*time.Hour))
	good := read(node.Config{
		ClusterKeyFile: written(t, dir, "key", "a secret of the cluster", 0o400), AdminTokenFile: written(t, dir, "tokens", "# name: ann\n0123456789abcdef\n", 0o440),
		Limits: written(t, dir, "limits.yaml", "limits: {a: {capacity: 1, refill: 1/s}}", 0o644), TLSCert: cert, TLSKey: key, TLSCA: cert,
	})
	for option, n := range good {
		if n.Wrong != "" {
			t.Errorf("%s: %s", option, n.Wrong)
		}
	}
	if n := good["tls-cert"]; len(good) != 6 || n.Ends == nil || n.Ends.Sub(now).Round(time.Minute) != 72*time.Hour {
		t.Errorf("got %+v", good)
	}

	dir = t.TempDir()
	cert, key = certificate(t, dir, now.Add(-time.Hour))
	wrong := read(node.Config{
		ClusterKeyFile: written(t, dir, "key", "a secret of the cluster", 0o644), AdminTokenFile: written(t, dir, "tokens", "short\n", 0o600), RedisTokenFile: filepath.Join(dir, "none"),
		Limits: written(t, dir, "limits.yaml", "limits: {a: {capacity: 0, refill: 1/s}}", 0o644), TLSCert: cert, TLSKey: key, TLSCA: cert, RLSConfig: filepath.Join(dir, "none"), KuadrantConfig: filepath.Join(dir, "none"),
	})
	for option, want := range map[string]string{
		"cluster-key-file": "0644", "admin-token-file": "at least 16 bytes", "redis-token-file": "no such file", "limits": "capacity", "tls-cert": "expired at", "rls-config": "none", "kuadrant-config": "none",
	} {
		if n := wrong[option]; !strings.Contains(n.Wrong, want) {
			t.Errorf("%s: %+v, want %q", option, n, want)
		}
	}
}

// TestMayRead goes by the mode of a file, as the kernel does for users that are not root.
func TestMayRead(t *testing.T) {
	info, err := os.Stat(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	own := ownerOf(info)
	if !own.known {
		t.Skip("files have no owners here")
	}
	other := owner{uid: own.uid + 4321, gid: own.gid + 4321, known: true}
	for mode, want := range map[os.FileMode][2]bool{0o400: {true, false}, 0o004: {false, true}, 0o040: {false, false}, 0o444: {true, true}} {
		path := written(t, t.TempDir(), "file", "x", mode)
		if got := [2]bool{own.mayRead(path), other.mayRead(path)}; got != want {
			t.Errorf("%04o: %v, want %v", mode, got, want)
		}
	}
	if group := (owner{uid: other.uid, gid: own.gid, known: true}); !group.mayRead(written(t, t.TempDir(), "file", "x", 0o040)) {
		t.Error("the group may not read what is for it")
	}
	if other.name() == "" {
		t.Error("no name")
	}
}

// TestReach sees certificates, that there are none, and that nothing listens.
func TestReach(t *testing.T) {
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	defer secure.Close()
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	found := reach(t.Context(), named([]string{secure.Listener.Addr().String(), plain.Listener.Addr().String(), "127.0.0.1:1", "nonsense"}))
	if f := found[0]; f.Error != "" || f.Ends == nil || !f.Ends.Equal(secure.Certificate().NotAfter) {
		t.Errorf("TLS: %+v", f)
	}
	if f := found[1]; f.Error != "" || f.Ends != nil {
		t.Errorf("plain text: %+v", f)
	}
	for _, f := range found[2:] {
		if f.Error == "" {
			t.Errorf("got %+v", f)
		}
	}
}
