package identity

import (
	"net/netip"
	"strings"
)

// Bounds of a name in DNS (RFC 1035).
const (
	maxHost  = 253
	maxLabel = 63
)

// hostName is a host in the one form that all ways to write it have: small letters, without port and dot at the end. It is
// empty for what is no host, such as a:1:2: of that, everybody could make up as many as he likes that servers take for the
// same one.
//
//	API.Example.com.:8443  →  api.example.com
//	[2001:DB8:0::1]:80     →  [2001:db8::1]
func hostName(s string) string {
	if strings.HasPrefix(s, "[") {
		return hostAddress(s[1:])
	}
	name, port, found := strings.Cut(s, ":")
	if found && !isHostPort(port) {
		return ""
	}
	if name = strings.TrimSuffix(name, "."); !isHostName(name) {
		return ""
	}
	return strings.ToLower(name)
}

// hostAddress is the host in "2001:db8::1]:80".
func hostAddress(s string) string {
	inside, after, closed := strings.Cut(s, "]")
	if !closed || len(inside) > maxLabel || after != "" && (after[0] != ':' || !isHostPort(after[1:])) {
		return ""
	}
	a, err := netip.ParseAddr(inside)
	if err != nil || !a.Is6() || a.Zone() != "" {
		return ""
	}
	return "[" + a.String() + "]"
}

// isHostPort says whether s is a port as it may stand in a host, where it may also be empty (RFC 9110).
func isHostPort(s string) bool {
	if len(s) > 5 {
		return false
	}
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}

// isHostName says whether s has the form of a name in DNS, or of an IPv4 address. Underscores are common, though they should
// not be.
func isHostName(s string) bool {
	if s == "" || len(s) > maxHost {
		return false
	}
	label := 0
	for i := range len(s) {
		switch c := s[i]; {
		case c == '.' && label > 0:
			label = 0
			continue
		case !isAlnum(c) && c != '-' && c != '_':
			return false
		}
		if label++; label > maxLabel {
			return false
		}
	}
	return label > 0
}
