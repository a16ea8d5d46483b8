package gateway

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"

	"github.com/jeton-dev/jeton/gateway/config"
	"github.com/jeton-dev/jeton/gateway/identity"
	"github.com/jeton-dev/jeton/internal/bearer"
)

// A setup is a document and what is made of its files. It never changes: another document is another setup.
type setup struct {
	doc     *config.Document
	text    []byte // that the document was read from
	digest  [32]byte
	servers []string // gRPC addresses of nodes

	shown     *tls.Certificate // to clients of the proxy; nil for plain HTTP
	presented *tls.Certificate // to nodes; nil for plain text
	authority *x509.CertPool   // that nodes' certificates are from; nil with presented
	tokens    *bearer.Set      // of operators; nil if none is asked for
	token     string           // shown to nodes in operators' name; empty for none

	proxies, askers *identity.Networks // trusted ones in front of the proxy, and those that may ask
}

// newSetup makes what a gateway runs on. The error is everything that is wrong, each with the field that it is about.
func newSetup(doc *config.Document, digest [32]byte) (*setup, error) {
	s := &setup{
		doc: doc, digest: digest, servers: doc.Cluster.Addresses(),
		proxies: identity.NewNetworks(doc.Identity.TrustedProxies), askers: identity.NewNetworks(nil),
	}
	if doc.ForwardAuth != nil {
		s.askers = identity.NewNetworks(doc.ForwardAuth.Networks())
	}
	var errs []error
	note := func(field string, err error) {
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", field, err))
		}
	}
	if doc.Proxy == nil {
		if err := doc.ChargingUnseen(); err != nil {
			errs = append(errs, err)
		}
	}
	if doc.Proxy != nil && doc.Proxy.TLS != nil {
		var err error
		s.shown, err = pair(doc.Proxy.TLS.Cert, doc.Proxy.TLS.Key)
		note("proxy.tls", err)
	}
	if t := doc.Cluster.TLS; t != nil {
		var err error
		s.presented, err = pair(t.Cert, t.Key)
		note("cluster.tls", err)
		s.authority = x509.NewCertPool()
		if !s.authority.AppendCertsFromPEM(t.CA.Bytes()) {
			note("cluster.tls.ca", errors.New("holds no certificate in PEM"))
		}
	}
	if doc.Cluster.TokenFile.Given() {
		tokens, err := bearer.Parse(doc.Cluster.TokenFile.Bytes())
		note("cluster.token_file", err)
		if err == nil {
			s.token = tokens[0]
		}
	}
	if doc.Admin.TokenFile.Given() {
		tokens, err := bearer.Parse(doc.Admin.TokenFile.Bytes())
		note("admin.token_file", err)
		s.tokens = bearer.NewSet(tokens...)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return s, nil
}

// pair is a certificate with its key.
func pair(cert, key config.File) (*tls.Certificate, error) {
	c, err := tls.X509KeyPair(cert.Bytes(), key.Bytes())
	if err != nil {
		return nil, fmt.Errorf("certificate and key: %w", err)
	}
	return &c, nil
}

// A setting is something of a document that a gateway takes once, when it starts.
type setting struct{ field, value string }

// settings are those of a document.
func (s *setup) settings() []setting {
	d := s.doc
	all := []setting{
		{"name", d.GatewayName()},
		{"cluster.servers", fmt.Sprint(s.servers)},
		{"cluster.tls", presence(d.Cluster.TLS != nil)},
		{"cluster.tls.ca", ""},
		{"admin.listen", d.Admin.Address()},
		{"tracing.endpoint", d.Tracing.Endpoint},
		{"tracing.insecure", fmt.Sprint(d.Tracing.Insecure)},
		{"tracing.share", fmt.Sprint(d.Tracing.SampleShare())},
	}
	if d.Cluster.TLS != nil {
		all[3].value = string(d.Cluster.TLS.CA.Bytes())
	}
	proxy, forwardAuth := "none", "none"
	if d.ForwardAuth != nil {
		forwardAuth = d.ForwardAuth.Address()
	}
	var p config.Proxy
	if d.Proxy != nil {
		p, proxy = *d.Proxy, d.Proxy.Address()
	}
	return append(all,
		setting{"proxy.listen", proxy},
		setting{"proxy.tls", presence(p.TLS != nil)},
		setting{"proxy.max_header", fmt.Sprint(p.MaxHeaderBytes())},
		setting{"proxy.header_within", p.HeaderTimeout().String()},
		setting{"proxy.idle_within", p.IdleTimeout().String()},
		setting{"proxy.answer_pause", p.UnreadTimeout().String()},
		setting{"proxy.max_connections", fmt.Sprint(p.MaxConnections)},
		setting{"proxy.max_connections_per_client", fmt.Sprint(p.MaxConnectionsPerClient)},
		setting{"forward_auth.listen", forwardAuth},
	)
}

func presence(given bool) string {
	if given {
		return "given"
	}
	return "not given"
}

// follows says whether a running gateway can load s after before; the error names the fields that need a restart.
func (s *setup) follows(before *setup) error {
	var errs []error
	was := before.settings()
	for i, now := range s.settings() {
		if now == was[i] {
			continue
		}
		from := fmt.Sprintf(" (from %s to %s)", cmp.Or(was[i].value, "none"), cmp.Or(now.value, "none"))
		if now.field == "cluster.tls.ca" {
			from = "" // a file, and a long one
		}
		errs = append(errs, fmt.Errorf("%s: it cannot change while the gateway runs%s: restart the gateway", now.field, from))
	}
	return errors.Join(errs...)
}
