package gateway

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jeton-dev/jeton/gateway/config"
	"github.com/jeton-dev/jeton/gateway/identity"
	"github.com/jeton-dev/jeton/internal/bearer"
)

// A setup is a document and what is made of its files. It never changes: another document is another setup.
type setup struct {
	doc     *config.Document
	text    []byte // that the document was read from
	digest  [32]byte
	reaches []reach // of the clusters, in the order of the document's Asked

	shown   *tls.Certificate // to clients of the proxy; nil for plain HTTP
	atDoors *tls.Certificate // shown to those of doors; nil for plain text
	tokens  *bearer.Set      // of operators; nil if none is asked for
	redis   *bearer.Set      // of clients that speak Redis' protocol; nil if none is asked for

	proxies, askers, callers *identity.Networks // trusted ones in front of the proxy, those that may ask, and those that may call the doors
}

// newSetup makes what a gateway runs on. The error is everything that is wrong, each with the field that it is about.
func newSetup(doc *config.Document, digest [32]byte) (*setup, error) {
	s := &setup{
		doc: doc, digest: digest,
		proxies: identity.NewNetworks(doc.Identity.TrustedProxies), askers: identity.NewNetworks(nil), callers: identity.NewNetworks(nil),
	}
	if doc.ForwardAuth != nil {
		s.askers = identity.NewNetworks(doc.ForwardAuth.Networks())
	}
	if doc.Doors != nil {
		s.callers = identity.NewNetworks(doc.Doors.Networks())
	}
	var errs []error
	note := func(field string, err error) {
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", field, err))
		}
	}
	if err := doc.Unreachable(); err != nil {
		errs = append(errs, err)
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
	if doc.Doors != nil && doc.Doors.TLS != nil {
		var err error
		s.atDoors, err = pair(doc.Doors.TLS.Cert, doc.Doors.TLS.Key)
		note("doors.tls", err)
	}
	for _, name := range doc.Asked() {
		s.reaches = append(s.reaches, newReach(doc, name, note))
	}
	if doc.Admin.TokenFile.Given() {
		tokens, err := bearer.Parse(doc.Admin.TokenFile.Bytes())
		note("admin.token_file", err)
		s.tokens = bearer.NewSet(tokens...)
	}
	if doc.Doors != nil && doc.Doors.RedisTokenFile.Given() {
		tokens, err := bearer.Parse(doc.Doors.RedisTokenFile.Bytes())
		note("doors.redis_token_file", err)
		s.redis = bearer.NewSet(tokens...)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return s, nil
}

// reach is how the cluster of a name is reached. All setups that are in force one after another have the same names.
func (s *setup) reach(name string) *reach {
	for i := range s.reaches {
		if s.reaches[i].name == name {
			return &s.reaches[i]
		}
	}
	return &reach{name: name}
}

// A setting is something of a document that a gateway takes once, when it starts.
type setting struct{ field, value string }

// settings are those of a document.
func (s *setup) settings() []setting {
	d := s.doc
	all := []setting{
		{"name", d.GatewayName()},
		{"clusters", strings.Join(slices.Sorted(maps.Keys(d.Clusters)), ", ")},
		{"admin.listen", d.Admin.Address()},
		{"access_log.path", d.AccessLog.Path},
		{"tracing.endpoint", d.Tracing.Endpoint},
		{"tracing.insecure", fmt.Sprint(d.Tracing.Insecure)},
		{"tracing.share", fmt.Sprint(d.Tracing.SampleShare())},
	}
	for _, name := range d.Asked() {
		c, field := d.ClusterOf(name), config.ClusterField(name)
		ca := ""
		if c.TLS != nil {
			ca = string(c.TLS.CA.Bytes())
		}
		all = append(all, setting{field + ".servers", fmt.Sprint(c.Addresses())}, setting{field + ".tls", presence(c.TLS != nil)}, setting{field + caField, ca})
	}
	proxy, forwardAuth := "none", "none"
	if d.ForwardAuth != nil {
		forwardAuth = d.ForwardAuth.Address()
	}
	var p config.Proxy
	if d.Proxy != nil {
		p, proxy = *d.Proxy, d.Proxy.Address()
	}
	var o config.Doors
	if d.Doors != nil {
		o = *d.Doors
	}
	return append(all,
		setting{"doors.grpc", strings.Join(o.GRPC, ", ")},
		setting{"doors.listen", o.Address()},
		setting{"doors.tls", presence(o.TLS != nil)},
		setting{"doors.rls_config", o.RLSConfig.At},
		setting{"doors.rls_headers", fmt.Sprint(o.RLSHeaders)},
		setting{"doors.rls_metadata", fmt.Sprint(o.RLSMetadata)},
		setting{"doors.kuadrant_config", o.KuadrantConfig.At},
		setting{"doors.redis", o.Redis},
		setting{"doors.redis_token_file", presence(o.RedisTokenFile.Given())},
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

// caField ends the path of a setting that is a file, and a long one.
const caField = ".tls.ca"

func presence(given bool) string {
	if given {
		return "given"
	}
	return "not given"
}

// follows says whether a running gateway can load s after before; the error names the fields that need a restart.
func (s *setup) follows(before *setup) error {
	was, is := before.settings(), s.settings()
	fields := make([]string, 0, len(is))
	now, then := map[string]string{}, map[string]string{}
	for _, a := range is {
		fields, now[a.field] = append(fields, a.field), a.value
	}
	for _, a := range was {
		if _, there := now[a.field]; !there {
			fields = append(fields, a.field)
		}
		then[a.field] = a.value
	}
	var errs []error
	for _, field := range fields {
		if now[field] == then[field] {
			continue
		}
		from := fmt.Sprintf(" (from %s to %s)", cmp.Or(then[field], "none"), cmp.Or(now[field], "none"))
		if strings.HasSuffix(field, caField) {
			from = ""
		}
		errs = append(errs, fmt.Errorf("%s: it cannot change while the gateway runs%s: restart the gateway", field, from))
	}
	return errors.Join(errs...)
}
