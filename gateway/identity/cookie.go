package identity

import "strings"

// What is read of the cookies of a request, whatever it claims.
const (
	maxCookies     = 512
	maxCookieBytes = 64 << 10
)

// findCookie is the value of the first cookie with that name, without quotation marks around it; empty if there is none
// among the first 512 cookies and 64 KiB.
func findCookie(lines []string, name string) string {
	cookies, size := 0, 0
	for _, line := range lines {
		if size += len(line); size > maxCookieBytes {
			return ""
		}
		for line != "" {
			if cookies++; cookies > maxCookies {
				return ""
			}
			var one string
			one, line, _ = strings.Cut(line, ";")
			n, value, found := strings.Cut(trim(one), "=")
			if found && trim(n) == name {
				return unwrap(trim(value))
			}
		}
	}
	return ""
}

// unwrap takes away the quotation marks around a value.
func unwrap(s string) string {
	if len(s) >= 2 && s[0] == '"' && s[len(s)-1] == '"' {
		return s[1 : len(s)-1]
	}
	return s
}
