package route

import (
	"net/url"
	"strings"
	"unicode/utf8"
)

// A Target is what a request asks for, in the one form in which rules judge it and the server behind the gateway gets it.
// It is made of nothing else, so that the two cannot differ.
type Target struct {
	Host     string // in the form of [Host]
	Port     string // with its colon; empty without one
	Path     string // decoded, as [Clean] leaves it
	RawQuery string // without the question mark

	decoded, escaped string // the path as it is passed on
	bareQuestion     bool   // a question mark with nothing behind it
}

// Read reads the target of a request: its Host, or :authority, and its URL as net/url has read it. A target is a path with or
// without a query, /v1/items?page=2, or the same after http:// or https:// and the request's own host. why says, in a
// sentence for people, what is wrong with any other one; it is empty when nothing is.
//
// What some servers would read otherwise is wrong as well: two slashes at the beginning, which may begin a host; a fragment;
// spaces and control characters; what is no UTF-8 once it is decoded; and what is [Ambiguous].
func Read(host string, u *url.URL) (t Target, why string) {
	var ok bool
	if t.Host, t.Port, ok = Host(host); !ok {
		return Target{}, "the host is ambiguous: send a name or an address, optionally with a port"
	}
	if why := t.readAuthority(u); why != "" {
		return Target{}, why
	}
	t.decoded, t.escaped = u.Path, u.EscapedPath()
	if u.Path == "" && u.Host != "" { // http://host
		t.decoded, t.escaped = "/", "/"
	}
	t.RawQuery, t.bareQuestion = u.RawQuery, u.ForceQuery
	switch {
	case !strings.HasPrefix(t.decoded, "/") || !strings.HasPrefix(t.escaped, "/"):
		return Target{}, "tunnels are not supported: request a path"
	case strings.HasPrefix(t.escaped, "//"):
		return Target{}, "the path is ambiguous: send it with a single slash at its beginning"
	case u.Fragment != "" || hasOutsider(u.RawPath) || hasOutsider(u.RawQuery):
		return Target{}, "the path or the query has characters that are not allowed: percent-encode #, spaces and control characters"
	case !utf8.ValidString(t.decoded):
		return Target{}, "the path is ambiguous: send it in UTF-8"
	case Ambiguous(t.escaped):
		return Target{}, "the path is ambiguous: send it without dot segments, backslashes, control characters and encoded slashes"
	}
	t.Path = Clean(t.decoded)
	return t, ""
}

// readAuthority says what is wrong with the part of a URL before its path, empty if nothing.
func (t *Target) readAuthority(u *url.URL) (why string) {
	const form = "the request target is ambiguous: request a path, or an http or https URL"
	switch {
	case u.Opaque != "" || u.User != nil: // http:http://host/path
		return form
	case u.Scheme == "" && u.Host == "":
		return ""
	case u.Host == "" || u.Scheme != "" && u.Scheme != "http" && u.Scheme != "https":
		return form
	}
	if name, port, ok := Host(u.Host); !ok || name != t.Host || port != t.Port {
		return "the host of the requested URL differs from the Host header: send the same"
	}
	return ""
}

// hasOutsider says whether a raw path or query has a byte that cannot stand in a request line, or at which some servers end
// it.
func hasOutsider(s string) bool {
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c == '#' || c == 0x7f {
			return true
		}
	}
	return false
}

// Authority is the host with the port that the request named, if it named one.
func (t *Target) Authority() string { return t.Host + t.Port }

// Escaped is the path as it is passed on.
func (t *Target) Escaped() string { return t.escaped }

// At is the URL at which a server is asked for the target; a path in base, which is the server's own, goes before that of the
// target.
func (t *Target) At(base *url.URL) *url.URL {
	at := &url.URL{Scheme: base.Scheme, Host: base.Host, Path: t.decoded, RawPath: t.escaped, RawQuery: t.RawQuery, ForceQuery: t.bareQuestion}
	if base.Path != "" {
		at.Path = strings.TrimSuffix(base.Path, "/") + t.decoded
		at.RawPath = strings.TrimSuffix(base.EscapedPath(), "/") + t.escaped
	}
	return at
}
