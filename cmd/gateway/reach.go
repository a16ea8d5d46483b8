package gateway

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"

	"github.com/jeton-dev/jeton/gateway/config"
	"github.com/jeton-dev/jeton/internal/bearer"
)

// A reach is how a cluster is reached.
type reach struct {
	name      string
	servers   []string         // gRPC addresses of nodes
	presented *tls.Certificate // to nodes; nil for plain text
	authority *x509.CertPool   // that nodes' certificates are from; nil with presented
	token     string           // shown to nodes in operators' name; empty for none
}

// newReach makes that of the cluster of a name. Note gets what is wrong, with the field that it is about.
func newReach(doc *config.Document, name string, note func(field string, err error)) reach {
	c, field := doc.ClusterOf(name), config.ClusterField(name)
	r := reach{name: name, servers: c.Addresses()}
	if t := c.TLS; t != nil {
		var err error
		r.presented, err = pair(t.Cert, t.Key)
		note(field+".tls", err)
		r.authority = x509.NewCertPool()
		if !r.authority.AppendCertsFromPEM(t.CA.Bytes()) {
			note(field+".tls.ca", errors.New("holds no certificate in PEM"))
		}
	}
	if c.TokenFile.Given() {
		tokens, err := bearer.Parse(c.TokenFile.Bytes())
		note(field+".token_file", err)
		if err == nil {
			r.token = tokens[0]
		}
	}
	return r
}

// pair is a certificate with its key.
func pair(cert, key config.File) (*tls.Certificate, error) {
	c, err := tls.X509KeyPair(cert.Bytes(), key.Bytes())
	if err != nil {
		return nil, fmt.Errorf("certificate and key: %w", err)
	}
	return &c, nil
}
