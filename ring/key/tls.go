package key

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"math/big"
	"time"
)

// serverName is the server name in every hello and certificate, whatever the address: so no node's name is visible on the
// network. No host can have this name, so that a node that has other certificates too recognizes a client with the cluster
// key by its hello.
const serverName = "cluster-key.jeton.invalid"

// ErrOtherKey means that the other end of a connection has another cluster key, or none.
var ErrOtherKey = errors.New("the other end does not have this cluster key: compare the cluster key files")

// TLS is the configuration for both ends of a connection between holders of the key: mutual TLS 1.3. The key pair is derived
// from the key, so all holders have the same one; a certificate with any other is refused, whatever signed it. Names and times
// in certificates are ignored.
//
// In TLS 1.3 a client completes its handshake before the server has checked its certificate: a client that is refused gets
// the error at its first read. Each call makes a new configuration, which the caller may change. Its ServerName is always the
// same, and no host's: a client with that name in its hello uses the cluster key.
func (k *Key) TLS() (*tls.Config, error) {
	private := ed25519.NewKeyFromSeed(k.derive("tls", seedSize))
	public, ok := private.Public().(ed25519.PublicKey)
	if !ok {
		return nil, errors.New("cluster key: an ed25519 key has a public key of another kind")
	}
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
	if err != nil {
		return nil, fmt.Errorf("cluster key: its certificate: %w", err)
	}
	return &tls.Config{
		MinVersion:   tls.VersionTLS13,
		Certificates: []tls.Certificate{{Certificate: [][]byte{certificate}, PrivateKey: private}},
		ClientAuth:   tls.RequireAnyClientCert,
		ServerName:   serverName,
		NextProtos:   []string{"h2"},
		// Only the public key counts, not the chain; TLS proves that the other end has the private key.
		InsecureSkipVerify:     true,
		VerifyConnection:       func(state tls.ConnectionState) error { return sameKey(state, public) },
		SessionTicketsDisabled: true, // each connection authenticates itself
	}, nil
}

// sameKey checks that the other end's certificate has this public key. TLS calls it for every connection, also a resumed
// one.
func sameKey(state tls.ConnectionState, public ed25519.PublicKey) error {
	if len(state.PeerCertificates) == 0 {
		return ErrOtherKey
	}
	theirs, ok := state.PeerCertificates[0].PublicKey.(ed25519.PublicKey)
	if !ok || subtle.ConstantTimeCompare(theirs, public) != 1 {
		return ErrOtherKey
	}
	return nil
}
