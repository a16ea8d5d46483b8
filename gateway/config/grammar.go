package config

import "strings"

const (
	maxName      = 64  // characters of a name: of a route, an upstream, an attribute, a path segment
	maxVariable  = 256 // bytes of a variable
	maxLiteral   = 128 // bytes of a template beside its variables: the rest of a key is for their values
	maxVariables = 8   // of a template
	maxDots      = 8   // of the path of a claim
)

func isHex(c byte) bool { return isDigit(c) || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F' }

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

// isIdentifier says whether s is 1 to 64 letters, digits and underscores, and begins with a letter.
func isIdentifier(s string) bool {
	if s == "" || len(s) > maxName || !isLetter(s[0]) {
		return false
	}
	for i := range len(s) {
		if !isLetter(s[i]) && !isDigit(s[i]) && s[i] != '_' {
			return false
		}
	}
	return true
}

// isName says whether s is 1 to 64 letters, digits, dots, dashes and underscores.
func isName(s string) bool {
	for i := range len(s) {
		if c := s[i]; !isLetter(c) && !isDigit(c) && c != '.' && c != '-' && c != '_' {
			return false
		}
	}
	return s != "" && len(s) <= maxName
}

// isToken says whether s can be the name of a header or cookie: a token of RFC 9110.
func isToken(s string) bool {
	for i := range len(s) {
		if c := s[i]; !isLetter(c) && !isDigit(c) && !strings.ContainsRune("!#$%&'*+-.^_`|~", rune(c)) {
			return false
		}
	}
	return s != "" && len(s) <= maxVariable
}
