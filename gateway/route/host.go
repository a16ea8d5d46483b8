package route

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// Bounds of a name in DNS (RFC 1035), in bytes.
const (
	maxHost  = 253
	maxLabel = 63
)

// Host reads the host of a request: a name, an IPv4 address, or an IPv6 address in brackets, each alone or with a port. name
// is the one form that all ways to write the host have: lower case, without the dot at the end, an IPv6 address as short as
// it can be. port has its colon, and is empty without one.
//
//	API.Example.com.:8443  →  api.example.com  :8443
//	[2001:DB8:0::1]        →  [2001:db8::1]
//
// Everything else is no host, such as a:80:80, a.., a%2ecom or user@a: one server would read it as a, another as a name that the
// client has made up.
func Host(s string) (name, port string, ok bool) {
	if at := strings.LastIndexByte(s, ':'); at >= 0 && !strings.HasSuffix(s, "]") {
		if !isPort(s[at+1:]) {
			return "", "", false
		}
		s, port = s[:at], s[at:]
	}
	if strings.HasPrefix(s, "[") {
		if name, ok = sixInBrackets(s); !ok {
			port = ""
		}
		return name, port, ok
	}
	name = strings.TrimSuffix(s, ".")
	if !isName(name) {
		return "", "", false
	}
	return strings.ToLower(name), port, true
}

// isPort says whether s is a port from 1 to 65535 without zeros before it.
func isPort(s string) bool {
	n, err := strconv.ParseUint(s, 10, 16)
	return err == nil && n > 0 && s[0] != '0'
}

// sixInBrackets is [2001:db8::1] in its shortest form. A zone means something to the client's machine alone.
func sixInBrackets(s string) (string, bool) {
	inside, closed := strings.CutSuffix(s[1:], "]")
	if !closed || len(inside) > maxLabel {
		return "", false
	}
	a, err := netip.ParseAddr(inside)
	if err != nil || !a.Is6() || a.Zone() != "" {
		return "", false
	}
	return "[" + a.String() + "]", true
}

// isName says whether s is a name in DNS, which may have underscores, or an IPv4 address. A name whose last label is a number
// would be an address in one of its other forms: 127.1, 0x7f.0.0.1.
func isName(s string) bool {
	if s == "" || len(s) > maxHost {
		return false
	}
	label := 0 // where it begins
	for i := range len(s) {
		switch c := s[i]; {
		case c == '.' && i > label:
			label = i + 1
		case !isLetterOrDigit(c) && c != '-' && c != '_', i-label >= maxLabel:
			return false
		}
	}
	if label == len(s) {
		return false
	}
	if isNumber(s[label:]) {
		a, err := netip.ParseAddr(s)
		return err == nil && a.Is4()
	}
	return true
}

func isLetterOrDigit(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// isNumber says whether some server reads a label as a number: digits alone, or 0x and hexadecimal ones.
func isNumber(label string) bool {
	if rest, ok := strings.CutPrefix(strings.ToLower(label), "0x"); ok {
		return strings.Trim(rest, "0123456789abcdef") == ""
	}
	return strings.Trim(label, "0123456789") == ""
}

// hostPattern is a host of a route, in the form of [Host].
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
	wrong := fmt.Errorf("%.300q is not a host: write a name without a port, *.name, or an address", text)
	name, wildcard := strings.CutPrefix(text, "*.")
	if a, err := netip.ParseAddr(name); err == nil && a.Is6() { // brackets need not be written
		name = "[" + name + "]"
	}
	name, port, ok := Host(name)
	if !ok || port != "" || wildcard && strings.HasPrefix(name, "[") {
		return hostPattern{}, wrong
	}
	if wildcard {
		name = "." + name
	}
	return hostPattern{name: name, wildcard: wildcard}, nil
}
