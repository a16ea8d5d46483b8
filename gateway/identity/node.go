package identity

import (
	"net/netip"
	"strings"
)

// maxHop is the maximum number of bytes of one address in a header, with its parameters.
const maxHop = 512

// parseNode reads an address as proxies write it: 192.0.2.1, 192.0.2.1:4711, 2001:db8::1, [2001:db8::1], [2001:db8::1]:4711.
func parseNode(s string) (netip.Addr, bool) {
	host := s
	if strings.HasPrefix(s, "[") {
		inside, after, closed := strings.Cut(s[1:], "]")
		if !closed || !strings.Contains(inside, ":") {
			return netip.Addr{}, false
		}
		if after != "" && (after[0] != ':' || !isPort(after[1:])) {
			return netip.Addr{}, false
		}
		host = inside
	} else if before, port, found := strings.Cut(s, ":"); found && !strings.Contains(port, ":") {
		if !isPort(port) {
			return netip.Addr{}, false
		}
		host = before
	}
	if len(host) > 128 { // an error of ParseAddr repeats what it was given
		return netip.Addr{}, false
	}
	a, err := netip.ParseAddr(host)
	return plain(a), err == nil
}

// isPort says whether s is a port, or an obfuscated port (RFC 7239).
func isPort(s string) bool {
	if strings.HasPrefix(s, "_") {
		return isObfuscated(s)
	}
	if s == "" || len(s) > 5 {
		return false
	}
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}

// isObfuscated says whether s has the form _hidden of RFC 7239.
func isObfuscated(s string) bool {
	for i := 1; i < len(s); i++ {
		if c := s[i]; !isAlnum(c) && c != '.' && c != '_' && c != '-' {
			return false
		}
	}
	return len(s) > 1
}
