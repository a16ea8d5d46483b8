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

// serverName is asked for and certified, whatever the address: names of nodes stay off the wire. No host can have this name,
// so that a node which also shows other certificates can tell from a client's hello that the cluster key is meant.
const serverName = "cluster-key.jeton.invalid"

// ErrOtherKey is the other end of a connection having another cluster key, or none.
var ErrOtherKey = errors.New("the other end does not have this cluster key: compare the cluster key files")

// TLS is the configuration for both ends of a connection between holders of the key: TLS 1.3, and each end proves with a
// certificate that it has the key. The key pair is derived, so that every holder has the same; a certificate with
// any other is refused, whoever signed it and whatever it says. Names and times in certificates do not count.
//
// In TLS 1.3 a client has ended its handshake before the server has seen its certificate: a client that is refused learns
// it when it reads. Each call makes a new configuration, which the caller may change. Its ServerName is always the same,
// and the name of no host: whoever asks for it in a hello means the cluster key.
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
		// Chains say nothing here: only the public key does, and TLS has the other end prove that it has the private one.
		InsecureSkipVerify:     true,
		VerifyConnection:       func(state tls.ConnectionState) error { return sameKey(state, public) },
		SessionTicketsDisabled: true, // each connection proves it anew
	}, nil
}

// sameKey says whether the other end has shown a certificate for that very public key. It is asked at every connection,
// resumed ones included.
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
