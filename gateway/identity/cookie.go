package identity

import (
	"strings"

	"github.com/jeton-dev/jeton/internal/alias"
)

// Bounds of what is read of the cookies of a request.
const (
	maxCookies     = 512
	maxCookieBytes = 64 << 10
)

// findCookie is the value of the cookie with that name, without quotation marks around it; empty if there is none among the
// first 512 cookies and 64 KiB, or several that differ: one server reads the first, another the last.
func findCookie(lines []string, name string) string {
	value, several, _ := readCookie(lines, name)
	if several {
		return ""
	}
	return value
}

// readCookie is the value of the first cookie with that name, whether there is another one with another value or with a name that some
// services take for this one, and whether all cookies were read. To some servers a name alone is a cookie with an empty value, and a space behind the equals sign
// belongs to the value.
func readCookie(lines []string, name string) (value string, several, all bool) {
	cookies, size, has, spaced := 0, 0, false, ""
	for _, line := range lines {
		if size += len(line); size > maxCookieBytes {
			return value, false, false
		}
		for line != "" {
			if cookies++; cookies > maxCookies {
				return value, false, false
			}
			var one string
			one, line, _ = strings.Cut(line, ";")
			n, v, _ := strings.Cut(trimCookie(one), "=")
			switch n = trimCookie(n); {
			case n == name:
			case isNamed(n, name, alias.Cookie) != another:
				return value, true, true
			default:
				continue
			}
			without, with := unwrap(trimCookie(v)), unwrap(v)
			if has && (without != value || with != spaced) {
				return value, true, true
			}
			value, spaced, has = without, with, true
		}
	}
	return value, false, true
}

// trimCookie takes away the space around s. There are no ends of lines in what comes over HTTP; where they are all the same, servers take them for space.
func trimCookie(s string) string { return strings.Trim(s, " \t\r\n") }

// unwrap takes away the quotation marks around a value.
func unwrap(s string) string {
	if len(s) >= 2 && s[0] == '"' && s[len(s)-1] == '"' {
		return s[1 : len(s)-1]
	}
	return s
}
