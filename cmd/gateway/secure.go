package gateway

import (
	"crypto/tls"
	"fmt"
)

// proxyTLS is what clients of the proxy are spoken to with, and doorsTLS what those of doors are.
func (e *Gateway) proxyTLS() *tls.Config {
	return showing("proxy.tls", func() *tls.Certificate { return e.now.Load().shown })
}

func (e *Gateway) doorsTLS() *tls.Config {
	return showing("doors.tls", func() *tls.Certificate { return e.now.Load().atDoors })
}

// showing shows clients the certificate of the document in force at each handshake, so that one can be exchanged while the gateway runs.
func showing(field string, certificate func() *tls.Certificate) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			if c := certificate(); c != nil {
				return c, nil
			}
			return nil, fmt.Errorf("the document in force has no %s", field) // which setup.follows refuses
		},
	}
}

// clusterTLS is what nodes of a cluster are spoken to with; nil for plain text. The certificate is that of the setup in force at each
// handshake. Nodes are known by the authority of the first one, r.
func clusterTLS(r *reach, now func() *reach) *tls.Config {
	if r.presented == nil {
		return nil
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		RootCAs:    r.authority,
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			return now().presented, nil
		},
	}
}
