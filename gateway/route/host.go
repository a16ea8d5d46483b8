package route

import (
	"fmt"
	"net/netip"
	"strings"
)

// maxHost is the most bytes that a host may have, as in RFC 1035, section 2.3.4. A longer one is no route's.
const maxHost = 255

// hostPattern is a host of a route, in lower case, without port and trailing dot.
type hostPattern struct {
	name     string // of a wildcard: what follows the *, with its dot
	wildcard bool
}

func (h hostPattern) String() string {
	if h.wildcard {
		return "*" + h.name
	}
	return h.name
}

func parseHosts(texts []string) ([]hostPattern, error) {
	hosts := make([]hostPattern, 0, len(texts))
	for i, text := range texts {
		h, err := parseHost(text)
		if err != nil {
			return nil, fmt.Errorf("hosts[%d]: %w", i, err)
		}
		hosts = append(hosts, h)
	}
	return hosts, nil
}

func parseHost(text string) (hostPattern, error) {
	wrong := fmt.Errorf("%.300q is no host: write a name without a port, *.name, or an address", text)
	name, wildcard := strings.CutPrefix(text, "*.")
	if inner, ok := strings.CutPrefix(name, "["); ok {
		name = strings.TrimSuffix(inner, "]")
	}
	if strings.Contains(name, ":") {
		addr, err := netip.ParseAddr(name)
		if err != nil || wildcard || addr.Zone() != "" {
			return hostPattern{}, wrong
		}
		return hostPattern{name: addr.String()}, nil
	}
	name = strings.ToLower(strings.TrimSuffix(name, "."))
	outside := func(c rune) bool { return c <= ' ' || c > '~' || strings.ContainsRune(`*/\[]@?#"{}`, c) }
	if name == "" || len(name) > maxHost || strings.Contains("."+name+".", "..") || strings.ContainsFunc(name, outside) {
		return hostPattern{}, wrong
	}
	if wildcard {
		name = "." + name
	}
	return hostPattern{name: name, wildcard: wildcard}, nil
}

// normalize puts the host of a request into the form of hostPattern.name, in place: without port, brackets and trailing
// dot, in lower case, an address in its canonical form. A host that is too long counts as none.
func (q *query) normalize(host string) {
	host = withoutPort(host)
	if strings.Contains(host, ":") {
		host, _, _ = strings.Cut(host, "%") // a zone is of no concern to the server
		if addr, err := netip.ParseAddr(host); err == nil {
			q.length = len(addr.AppendTo(q.buffer[:0]))
			return
		}
	}
	host = strings.TrimSuffix(host, ".")
	if len(host) > len(q.buffer) {
		return
	}
	q.length = len(host)
	for i := range len(host) {
		c := host[i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		q.buffer[i] = c
	}
}

// withoutPort is the host of host, host:port, [address] and [address]:port. An IPv6 address without brackets is one.
func withoutPort(host string) string {
	if inner, ok := strings.CutPrefix(host, "["); ok {
		inner, _, _ = strings.Cut(inner, "]")
		return inner
	}
	if name, _, ok := strings.Cut(host, ":"); ok && !strings.Contains(host[len(name)+1:], ":") {
		return name
	}
	return host
}
