package key

import (
	"crypto/ed25519"
	"crypto/subtle"
	"crypto/tls"
	"errors"
)

// ErrOtherKey means that the other end of a connection has another cluster key, or none.
var ErrOtherKey = errors.New("the other end does not have this cluster key: compare the cluster key files")

// TLS is the configuration for both ends of a connection between holders of the key: mutual TLS 1.3. The key pair is derived
// from a secret, so all its holders have the same one; a certificate with any other than those of the secrets in force is refused,
// whatever signed it. Names and times in certificates are ignored. Each handshake shows the secret that is the first one then.
//
// In TLS 1.3 a client completes its handshake before the server has checked its certificate: a client that is refused gets
// the error at its first read. Each call makes a new configuration, which the caller may change. Its ServerName is always the
// same, and no host's: a client with that name in its hello uses the cluster key.
func (k *Key) TLS() *tls.Config {
	return &tls.Config{
		MinVersion:           tls.VersionTLS13,
		GetCertificate:       func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &k.all()[0].certificate, nil },
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &k.all()[0].certificate, nil },
		ClientAuth:           tls.RequireAnyClientCert,
		ServerName:           serverName,
		NextProtos:           []string{"h2"},
		// Only the public key counts, not the chain; TLS proves that the other end has the private key.
		InsecureSkipVerify:     true,
		VerifyConnection:       k.verify,
		SessionTicketsDisabled: true, // each connection authenticates itself
	}
}

// verify checks that the other end's certificate has the public key of a secret in force. TLS calls it for every connection, also a
// resumed one, and before the other end has proved to have the private key: anybody can have copied the certificate.
func (k *Key) verify(state tls.ConnectionState) error {
	if !k.Proves(state) {
		return ErrOtherKey
	}
	return nil
}

// Proves says whether the other end of a connection whose handshake is complete has proved to have a secret that is in force now.
func (k *Key) Proves(state tls.ConnectionState) bool { return shownBy(state, k.all()) != nil }

// shownBy is the one of the secrets that the other end of a connection has shown; nil for another one, or none.
func shownBy(state tls.ConnectionState, all []*one) (shown *one) {
	if len(state.PeerCertificates) == 0 {
		return nil
	}
	theirs, ok := state.PeerCertificates[0].PublicKey.(ed25519.PublicKey)
	if !ok {
		return nil
	}
	for _, o := range all {
		if subtle.ConstantTimeCompare(theirs, o.public) == 1 {
			shown = o
		}
	}
	return shown
}
