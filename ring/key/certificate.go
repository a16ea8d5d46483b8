package key

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"time"
)

// serverName is the server name in every hello and certificate, whatever the address: so no node's name is visible on the
// network. No host can have this name, so that a node that has other certificates too recognizes a client with the cluster
// key by its hello.
const serverName = "cluster-key.jeton.invalid"

// certificateOf makes the certificate of a key pair, for both ends.
func certificateOf(private ed25519.PrivateKey, public ed25519.PublicKey) (tls.Certificate, error) {
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		Subject:      pkix.Name{CommonName: serverName},
		DNSNames:     []string{serverName},
		NotBefore:    time.Unix(0, 0),
		NotAfter:     time.Date(9999, time.December, 31, 23, 59, 59, 0, time.UTC), // no date, as RFC 5280 writes it
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, public, private)
	return tls.Certificate{Certificate: [][]byte{certificate}, PrivateKey: private}, err
}
