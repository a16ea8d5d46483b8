// Package alias tells which names of headers, parameters and cookies are one and the same to some services. A gateway that finds a client by one
// name, in front of a service that reads the other, counts one client and lets another one in.
package alias

import (
	"net/http"
	"strings"
)

// Header is the canonical name of a header with a dash for whatever is no letter or digit. Services that get headers as variables take all
// names for one of which this is the same: CGI (RFC 3875, section 4.1.18) has an underscore for a dash, PHP one for a dot too, and some servers one for
// everything else.
func Header(name string) string {
	at := strings.IndexFunc(name, func(r rune) bool { return r != '-' && !isAlphanumeric(r) })
	if at < 0 {
		return name
	}
	return http.CanonicalHeaderKey(name[:at] + strings.Map(func(r rune) rune {
		if isAlphanumeric(r) {
			return r
		}
		return '-'
	}, name[at:]))
}

func isAlphanumeric(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
}

// Parameter says whether a service may take a parameter that is called so, decoded, for the one with that name. PHP has an underscore for a dot and a
// space, and takes away spaces in front and what begins with a NUL; it, Express and Rack take away brackets, which stand for places in an array; ASP.NET does not
// tell small letters from capital ones.
func Parameter(called, name string) bool { return same(called, name, unfolded) }

// Cookie says that of cookies, whose capital letters count: two frameworks of one host may call theirs session and SESSION.
func Cookie(called, name string) bool { return same(called, name, variable) }

func same(called, name string, letter func(byte) byte) bool {
	called = strings.TrimLeft(called, " []")
	if len(called) < len(name) {
		return false
	}
	for i := range len(name) {
		if called[i] == '[' && strings.Contains(called[i:], "]") || letter(called[i]) != letter(name[i]) {
			return false
		}
	}
	rest := called[len(name):]
	return rest == "" || rest[0] == '[' || rest[0] == ']' || rest[0] == 0
}

// variable is the byte that stands for c in the name of a variable.
func variable(c byte) byte {
	if c == '.' || c == ' ' || c == '[' {
		return '_'
	}
	return c
}

// unfolded is that, in small letters.
func unfolded(c byte) byte {
	if c = variable(c); 'A' <= c && c <= 'Z' {
		c |= 0x20
	}
	return c
}
