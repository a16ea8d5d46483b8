// Package authority makes certificates for tests: an [Authority] issues pairs of a certificate and its key, which are valid,
// or expired, or too early, as the test likes. Start with [New].
package authority

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// An Authority issues certificates.
type Authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// New makes an authority of that name.
func New(tb testing.TB, name string) *Authority {
	tb.Helper()
	a := &Authority{key: newKey(tb)}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-48 * time.Hour), NotAfter: time.Now().Add(48 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, a.key.Public(), a.key)
	if err != nil {
		tb.Fatal(err)
	}
	if a.certificate, err = x509.ParseCertificate(der); err != nil {
		tb.Fatal(err)
	}
	return a
}

func newKey(tb testing.TB) *ecdsa.PrivateKey {
	tb.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	return key
}

// PEM is the authority's own certificate.
func (a *Authority) PEM() []byte { return encode("CERTIFICATE", a.certificate.Raw) }

// Pool trusts the authority.
func (a *Authority) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.certificate)
	return pool
}

// A Pair is a certificate and its key, in PEM.
type Pair struct{ Cert, Key []byte }

// Issue makes a certificate for servers and callers at 127.0.0.1 and localhost that has been valid for a day and is so for
// another one.
func (a *Authority) Issue(tb testing.TB, name string) Pair {
	tb.Helper()
	return a.IssueFor(tb, name, time.Now().Add(-24*time.Hour), time.Now().Add(24*time.Hour))
}

// IssueFor is Issue for another time.
func (a *Authority) IssueFor(tb testing.TB, name string, from, to time.Time) Pair {
	tb.Helper()
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		tb.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name}, NotBefore: from, NotAfter: to,
		DNSNames: []string{"localhost", "jeton"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	key := newKey(tb)
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		tb.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		tb.Fatal(err)
	}
	return Pair{Cert: encode("CERTIFICATE", der), Key: encode("PRIVATE KEY", secret)}
}

func encode(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

// TLS is the pair as crypto/tls has it.
func (p Pair) TLS(tb testing.TB) tls.Certificate {
	tb.Helper()
	c, err := tls.X509KeyPair(p.Cert, p.Key)
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

// Files are paths of a certificate, its key, and authorities, as [credentials.TLSFiles] has them.
type Files struct {
	Cert, Key, CA string
	Insecure      bool
}

// Write makes the three files in a directory, or replaces them one after the other.
func Write(tb testing.TB, dir string, p Pair, authorities ...*Authority) Files {
	tb.Helper()
	var trusted []byte
	for _, a := range authorities {
		trusted = append(trusted, a.PEM()...)
	}
	f := Files{Cert: filepath.Join(dir, "tls.crt"), Key: filepath.Join(dir, "tls.key"), CA: filepath.Join(dir, "ca.crt")}
	for path, text := range map[string][]byte{f.Cert: p.Cert, f.Key: p.Key, f.CA: trusted} {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			tb.Fatal(err)
		}
	}
	return f
}

// Args are the options of jeton that name the files.
func (f Files) Args() []string {
	return []string{"--tls-cert", f.Cert, "--tls-key", f.Key, "--tls-ca", f.CA}
}
