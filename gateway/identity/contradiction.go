package identity

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/jeton-dev/jeton/internal/bearer"
)

// Contradiction says why two servers could read the request as that of two different clients: a header, cookie or parameter that
// identifies clients came several times with different values, or holds a malformed token that some servers accept and others do
// not. The caller should refuse such a request: the gateway would count it for one client, and the service would serve the other.
// The text is a sentence for people and contains no value of the request. It is empty when there is no contradiction.
//
// It looks at the sources of identity.jwt and identity.api_key, and at the headers and cookies of all variables that
// [Finder.Compile] and [Finder.Variable] have seen. It allocates only when there is a contradiction, or
// a header whose name has something else than letters, digits and dashes.
func (f *Facts) Contradiction() string {
	list := f.finder.sourced()
	if len(list) == 0 {
		return ""
	}
	for name := range f.request.Header {
		if s := aliased(list, name, f.request.FromProxy); s != nil {
			return fmt.Sprintf("the header %s is the same as %s to some servers: leave it out", name, s.name)
		}
	}
	for i := range list {
		s := &list[i]
		problem := ""
		switch {
		case s.place == inHeader && (!s.trusted || f.fromProxy()):
			problem = s.header(f.request.Header)
		case s.place == inCookie:
			problem = s.cookie(f.request.Header["Cookie"])
		case s.place == inQuery:
			problem = s.parameter(f.request.RawQuery)
		}
		if problem == "" && s.place != inQuery && len(f.request.Header["Connection"]) > 0 {
			problem = s.dropped(f.request.Header)
		}
		if problem != "" {
			return problem
		}
	}
	if a := f.finder.apiKeys; a != nil && a.header != "" && a.query != "" {
		if key, other := a.shown(f.request); key != "" && other != "" && key != other {
			return fmt.Sprintf("the header %s and the parameter %s have different API keys: send one", a.header, a.query)
		}
	}
	return ""
}

// header is what is wrong with a header, empty if nothing.
func (s *source) header(h http.Header) string {
	lines := h[s.name]
	if len(lines) == 0 {
		return ""
	}
	value := trim(lines[0])
	for _, other := range lines[1:] {
		if trim(other) != value {
			return fmt.Sprintf("the header %s is there several times with different values: send it once", s.name)
		}
	}
	token, isBearer := bearer.Cut(value)
	if !isBearer {
		token = value
	}
	switch {
	case s.name == "Authorization" && !isBearer && beginsBearer(value):
		return "the header Authorization has no space after Bearer: send one"
	case isBearer && !isOneWord(token), s.token && isMisshapen(token):
		return fmt.Sprintf("the header %s has characters that tokens cannot have: send the token alone", s.name)
	}
	return ""
}

// cookie is what is wrong with a cookie, empty if nothing.
func (s *source) cookie(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	switch value, several, all := readCookie(lines, s.name); {
	case several:
		return fmt.Sprintf("the cookie %s is there several times with different values, or by a name that is the same to some servers: send it once", s.name)
	case !all:
		return fmt.Sprintf("there are too many cookies to find %s among them: send fewer", s.name)
	case s.token && !isCompact(value):
		return fmt.Sprintf("the cookie %s has characters that tokens cannot have: send the token alone", s.name)
	}
	return ""
}

// parameter is what is wrong with a parameter of the query, empty if nothing.
func (s *source) parameter(query string) string {
	if query == "" {
		return ""
	}
	switch _, several, all := readParameter(query, s.name); {
	case several:
		return fmt.Sprintf("the parameter %s is there several times, or can be read in several ways: send it once, escaped, and by this very name", s.name)
	case !all:
		return fmt.Sprintf("there are too many parameters to find %s among them: send fewer", s.name)
	}
	return ""
}

// beginsBearer says whether a value begins with the word Bearer, or with a longer word that does.
func beginsBearer(value string) bool {
	return len(value) > len(bearer.Scheme) && strings.EqualFold(value[:len(bearer.Scheme)], bearer.Scheme)
}

// dropped says that the header Connection names the header of s; empty if it does not. A proxy removes the headers that Connection
// names (RFC 9110, section 7.6.1): the service would then serve another client than the gateway has counted.
func (s *source) dropped(h http.Header) string {
	name := s.name
	if s.place == inCookie {
		name = "Cookie"
	}
	for _, line := range h["Connection"] {
		for option := range strings.SplitSeq(line, ",") {
			if strings.EqualFold(trim(option), name) {
				return fmt.Sprintf("the header Connection removes the header %s from the request: do not name it there", name)
			}
		}
	}
	return ""
}

// isOneWord says whether every server reads s as one word.
func isOneWord(s string) bool {
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c >= 0x7f || c == ',' || c == '"' {
			return false
		}
	}
	return true
}

// isMisshapen says whether s looks like a JWT, whose JSON begins with a brace, but is not base64url: decoders that skip other
// characters would accept it.
func isMisshapen(s string) bool {
	return (strings.HasPrefix(s, "ey") || strings.HasPrefix(s, "ew")) && !isCompact(s)
}

// isCompact says whether s has only what a token in its compact form has.
func isCompact(s string) bool {
	for i := range len(s) {
		if c := s[i]; !isAlnum(c) && c != '-' && c != '_' && c != '.' {
			return false
		}
	}
	return true
}
