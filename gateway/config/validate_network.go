package config

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jeton-dev/jeton/internal/bearer"
	"github.com/jeton-dev/jeton/internal/strictyaml"
)

// cluster checks the description of one at a path.
func (f *findings) cluster(path string, c Cluster) {
	for i, server := range c.Servers {
		f.check(strictyaml.Item(path+".servers", i), checkServer(server))
	}
	f.different(path+".servers", c.Servers)
	if c.TLS != nil {
		f.pair(path+".tls", c.TLS.Cert, c.TLS.Key)
		if !c.TLS.CA.Given() {
			f.add(path+".tls.ca", "is missing: name the file with the certificates of the nodes' authority")
		}
		f.authority(path+".tls.ca", c.TLS.CA)
	}
	f.tokens(path+".token_file", c.TokenFile)
	f.duration(path+".decide_within", c.DecideWithin, time.Millisecond, 30*time.Second)
	if most := c.RepeatDenials; most != nil && (*most < 0 || *most > Duration(time.Second)) {
		f.add(path+".repeat_denials", "%v is out of range: at least 0s and at most 1s", *most)
	}
	within(f, path+".gateways", c.Gateways, 1, 10_000)
	within(f, path+".max_in_flight", c.MaxInFlight, 1, 10_000_000)
	within(f, path+".max_in_flight_per_client", c.MaxInFlightPerClient, 1, 10_000_000)
}

func (f *findings) proxy(p *Proxy) {
	if p.TLS != nil {
		f.pair("proxy.tls", p.TLS.Cert, p.TLS.Key)
	}
	if len(p.Upstreams) == 0 {
		f.add("proxy.upstreams", "is empty: name at least one upstream, as in web: {urls: [http://127.0.0.1:9000]}")
	}
	for _, name := range sorted(p.Upstreams) {
		u, path := p.Upstreams[name], strictyaml.Under("proxy.upstreams", name)
		if !isName(name) {
			f.add(path, "%.64q is not a valid name: write 1 to %d letters, digits, dots, dashes and underscores", name, maxName)
		}
		if len(u.URLs) == 0 {
			f.add(path+".urls", "is empty: name at least one URL, such as http://127.0.0.1:9000")
		}
		for i, text := range u.URLs {
			f.check(strictyaml.Item(path+".urls", i), checkURL(text))
			if pathOf(text) != pathOf(u.URLs[0]) {
				f.add(strictyaml.Item(path+".urls", i), "has another path than the first URL: all URLs of one upstream have the same path")
			}
		}
		f.upstreamTLS(path+".tls", &u)
		f.bodyRate(path+".body_rate", u.BodyRate)
		f.duration(path+".connect_within", u.ConnectWithin, time.Millisecond, 10*time.Minute)
		f.duration(path+".respond_within", u.RespondWithin, time.Millisecond, 24*time.Hour)
	}
	within(f, "proxy.max_header", p.MaxHeader, 1<<10, 16<<20)
	if p.MaxBody < -1 {
		f.add("proxy.max_body", "%d is out of range: write a number of bytes, or -1 for any", p.MaxBody)
	}
	f.bodyMemory("proxy.max_body_memory", p.MaxBodyMemory, p.MaxReadBytes())
	f.bodyMemory("proxy.max_body_memory_per_client", p.MaxBodyMemoryPerClient, p.MaxReadBytes())
	f.duration("proxy.header_within", p.HeaderWithin, time.Millisecond, 10*time.Minute)
	f.duration("proxy.body_pause", p.BodyPause, time.Millisecond, 24*time.Hour)
	f.bodyRate("proxy.body_rate", p.BodyRate)
	f.duration("proxy.answer_pause", p.AnswerPause, time.Millisecond, 24*time.Hour)
	f.duration("proxy.idle_within", p.IdleWithin, time.Millisecond, 24*time.Hour)
	within(f, "proxy.max_connections", p.MaxConnections, 1, 1_000_000)
	within(f, "proxy.max_connections_per_client", p.MaxConnectionsPerClient, 1, 1_000_000)
}

// bodyMemory checks how much memory bodies may take, of which one may have longest bytes.
func (f *findings) bodyMemory(path string, bytes, longest int64) {
	switch {
	case bytes < 0 || bytes > 1<<40:
		f.add(path, "%d is out of range: write a number of bytes, up to %d", bytes, int64(1)<<40)
	case bytes > 0 && bytes < longest:
		f.add(path, "%d is too little for one body, which may have %d bytes: write as much, or a smaller proxy.max_body", bytes, longest)
	}
}

// bodyRate checks how many bytes a second must come of a body.
func (f *findings) bodyRate(path string, rate int64) {
	if rate < -1 || rate > 1<<30 {
		f.add(path, "%d is out of range: write 1 to %d bytes a second, or -1 for any", rate, 1<<30)
	}
}

// pathOf is the path of a URL, without the slash at its end.
func pathOf(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(u.EscapedPath(), "/")
}

// A listener is an address by the field that says it.
type listener struct{ field, address string }

// listeners checks where is listened, and that no two are the same place.
func (f *findings) listeners() {
	all := []listener{{"admin.listen", f.document.Admin.Address()}}
	if p := f.document.Proxy; p != nil {
		all = append(all, listener{"proxy.listen", p.Address()})
	}
	if a := f.document.ForwardAuth; a != nil {
		all = append(all, listener{"forward_auth.listen", a.Address()})
	}
	if d := f.document.Doors; d != nil {
		if d.Address() != "" {
			all = append(all, listener{"doors.listen", d.Address()})
		}
		if d.Redis != "" {
			all = append(all, listener{"doors.redis", d.Redis})
		}
	}
	for i, l := range all {
		if err := checkListen(l.address); err != nil {
			f.check(l.field, err)
			continue
		}
		for _, before := range all[:i] {
			if collide(before.address, l.address) {
				f.add(l.field, "%s is taken by %s: give every listener its own address", l.address, before.field)
			}
		}
	}
	f.ownServers(all)
}

// ownServers refuses the gateway's own listeners as nodes of a cluster: it would ask itself, again and again.
func (f *findings) ownServers(all []listener) {
	for _, name := range f.document.Asked() {
		f.ownServersOf(ClusterField(name)+".servers", f.document.ClusterOf(name).Addresses(), all)
	}
}

func (f *findings) ownServersOf(path string, servers []string, all []listener) {
	for i, server := range servers {
		for _, l := range all {
			if checkServer(server) == nil && checkListen(l.address) == nil && reaches(server, l.address) {
				f.add(strictyaml.Item(path, i), "%s is this gateway's own %s: write the gRPC address of a node, such as %s", server, l.field, DefaultServer)
			}
		}
	}
}

// reaches reports whether a connection to the address of a server surely ends at a listener of this machine.
func reaches(server, listen string) bool {
	host, port, errS := net.SplitHostPort(server)
	at, portL, errL := net.SplitHostPort(listen)
	if errS != nil || errL != nil || port != portL {
		return false
	}
	return sameHost(host, at) || loopbackHost(host) && (everyHost(at) || strings.EqualFold(host, "localhost") && loopbackHost(at))
}

// collide says whether two addresses that can be listened at cannot be so at once.
func collide(a, b string) bool {
	hostA, portA, errA := net.SplitHostPort(a)
	hostB, portB, errB := net.SplitHostPort(b)
	if errA != nil || errB != nil || portA != portB || portA == "0" {
		return false
	}
	return everyHost(hostA) || everyHost(hostB) || sameHost(hostA, hostB)
}

// everyHost says whether a listener at a host listens at every address of the machine.
func everyHost(host string) bool {
	a, err := netip.ParseAddr(host)
	return host == "" || err == nil && a.Unmap().IsUnspecified()
}

func sameHost(a, b string) bool {
	x, errX := netip.ParseAddr(a)
	y, errY := netip.ParseAddr(b)
	if errX == nil && errY == nil {
		return x.Unmap() == y.Unmap()
	}
	return strings.EqualFold(a, b)
}

func (f *findings) admin(a Admin) {
	f.tokens("admin.token_file", a.TokenFile)
	if !a.TokenFile.Given() && checkListen(a.Address()) == nil && !isLoopback(a.Address()) {
		f.add("admin.token_file", "is missing: it is required to listen beyond loopback, at %s", a.Address())
	}
}

// isLoopback says whether only this machine reaches an address host:port.
func isLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	return err == nil && loopbackHost(host)
}

func loopbackHost(host string) bool {
	a, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && a.Unmap().IsLoopback()
}

// checkListen says what is wrong with an address to listen at. Port 0 is any free one; no host is every one.
func checkListen(address string) error {
	host, port, err := net.SplitHostPort(address)
	if err == nil && host != "" {
		err = checkHostname(host)
	}
	if err == nil {
		err = checkPort(port, 0)
	}
	if err != nil {
		return fmt.Errorf("%.64q is not a listen address: write host:port, such as 127.0.0.1:7780", address)
	}
	return nil
}

// checkServer says what is wrong with the address of a server.
func checkServer(address string) error {
	host, port, err := net.SplitHostPort(address)
	if err == nil {
		err = checkHostname(host)
	}
	if err == nil {
		err = checkPort(port, 1)
	}
	if err != nil {
		return fmt.Errorf("%.64q is not a server address: write host:port, such as 10.0.0.5:7700", address)
	}
	return nil
}

func checkPort(port string, minimum int) error {
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || int(n) < minimum || strconv.FormatUint(n, 10) != port {
		return errors.New("no port")
	}
	return nil
}

// checkHostname says whether host is an address or a name in DNS.
func checkHostname(host string) error {
	if _, err := netip.ParseAddr(host); err == nil {
		return nil
	}
	if !isHostname(strings.ToLower(host)) {
		return errors.New("no host")
	}
	return nil
}

// isHostname says whether s is a name in DNS, or an IPv4 address, in lower case.
func isHostname(s string) bool {
	if len(s) > 253 {
		return false
	}
	for label := range strings.SplitSeq(s, ".") {
		if !isName(label) || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' || label != strings.ToLower(label) {
			return false
		}
	}
	return true
}

// H2C is the scheme of upstreams that speak HTTP/2 without TLS.
const H2C = "h2c"

// upstreamTLS checks what instances are known by, and shown.
func (f *findings) upstreamTLS(path string, u *Upstream) {
	t := u.TLS
	if t == nil {
		return
	}
	secure := func(text string) bool {
		at, err := url.Parse(text)
		return err == nil && at.Scheme == "https"
	}
	if !slices.ContainsFunc(u.URLs, secure) {
		f.add(path, "has no effect: no URL of this upstream is https")
	}
	f.authority(path+".ca", t.CA)
	if t.Cert.Given() || t.Key.Given() {
		f.pair(path, t.Cert, t.Key)
	}
	if t.ServerName != "" && checkHostname(t.ServerName) != nil {
		f.add(path+".server_name", "%.64q is not a server name: write one such as api.internal", t.ServerName)
	}
}

// authority checks the certificates of one, if there are any.
func (f *findings) authority(path string, ca File) {
	if ca.content != nil && !x509.NewCertPool().AppendCertsFromPEM(ca.Bytes()) {
		f.add(path, "%.64q holds no certificate in PEM", ca.Path)
	}
}

// checkURL says what is wrong with the URL of an upstream.
func checkURL(text string) error {
	u, err := parseURL(text, "http", "https", H2C)
	if err != nil {
		return err
	}
	switch {
	case u.RawQuery != "" || u.ForceQuery:
		return errors.New("has a query: leave it out, as each request has its own")
	case u.Fragment != "" || strings.HasSuffix(text, "#"):
		return errors.New("has a fragment (#), which is not sent: leave it out")
	}
	return nil
}

// parseURL reads an absolute URL with one of these schemes. Its errors do not repeat the text, which may hold a password.
func parseURL(text string, schemes ...string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Opaque != "" || u.Host == "":
		return nil, errors.New("is not a URL: write one with http or https and a host, such as http://127.0.0.1:9000")
	case !slices.Contains(schemes, u.Scheme):
		return nil, fmt.Errorf("has the scheme %.64q: write a URL of %s", u.Scheme, strings.Join(schemes, " or "))
	case u.User != nil:
		return nil, errors.New("holds a user name or password: leave them out")
	case checkHostname(u.Hostname()) != nil, u.Port() == "" && strings.HasSuffix(u.Host, ":"), u.Port() != "" && checkPort(u.Port(), 1) != nil:
		return nil, errors.New("has no host, or no port from 1 to 65535, such as http://127.0.0.1:9000")
	}
	return u, nil
}

// pair checks a certificate and its key. What the parser says of them stays unsaid, since it may repeat what is in them.
func (f *findings) pair(path string, cert, key File) {
	if !cert.Given() {
		f.add(path+".cert", "is missing: name the file of the certificate")
	}
	if !key.Given() {
		f.add(path+".key", "is missing: name the file of the certificate's private key")
	}
	if cert.content == nil || key.content == nil {
		return // said of each by itself
	}
	if !x509.NewCertPool().AppendCertsFromPEM(cert.Bytes()) {
		f.add(path+".cert", "%.64q holds no certificate in PEM", cert.Path)
		return
	}
	if _, err := tls.X509KeyPair(cert.Bytes(), key.Bytes()); err != nil {
		f.add(path+".key", "%.64q holds no private key in PEM, or not that of the certificate in %.64q", key.Path, cert.Path)
	}
}

// tokens checks a file of tokens, one per line. It names lines, never tokens.
func (f *findings) tokens(path string, file File) {
	if file.content == nil {
		return
	}
	if _, err := bearer.Parse(file.Bytes()); err != nil {
		f.add(path, "%.64q: %v", file.Path, err)
	}
}

// secret checks the length of a secret.
func (f *findings) secret(path string, file File, minBytes int) {
	if n := len(bytes.TrimSpace(file.Bytes())); file.content != nil && n < minBytes {
		f.add(path, "%.64q holds a secret of %d bytes: use at least %d", file.Path, n, minBytes)
	}
}
