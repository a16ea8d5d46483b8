package gateway

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/jeton-dev/jeton/gateway/route"
)

// read takes in what a request asks for: its Host and its URL. Where that cannot be read in one way only, the visit knows why,
// and the request has no host and no path.
func (v *visit) read(host string, u *url.URL) {
	if v.unread != "" {
		return
	}
	v.target, v.unread = route.Read(host, u)
	q := &v.request
	q.Host, q.Path, q.RawQuery = v.target.Host, v.target.Path, v.target.RawQuery
}

// unclear says why the service behind the gateway might take the request for another one than the rules do; empty if it
// cannot.
func (v *visit) unclear() string {
	r := &v.request
	switch {
	case r.Method == http.MethodConnect:
		return "there are no tunnels here: ask for a path"
	case v.unread != "":
		return v.unread
	case strings.ToUpper(r.Method) != r.Method:
		return "the method can be read in several ways: send it in capital letters"
	}
	for _, other := range v.otherReadings() {
		if !v.sameRules(other) {
			return other.advice
		}
	}
	return ""
}

// A reading is what some services take a request for.
type reading struct {
	method, path string
	advice       string // what the client should do if rules judge it otherwise
}

// methodOverrides are headers that some services take a method from, with underscores for dashes too.
var methodOverrides = []string{"X-Http-Method", "X-Http-Method-Override", "X-Method-Override"}

// otherReadings are those of the request that differ from the one by which it is judged; nearly always there are none.
func (v *visit) otherReadings() []reading {
	r := &v.request
	var others []reading
	add := func(method, path, advice string) {
		if method != r.Method || path != r.Path {
			others = append(others, reading{method, path, advice})
		}
	}
	if strings.Contains(r.Path, ";") {
		add(r.Method, withoutParameters(r.Path), "the path can be read in several ways: send it without semicolons")
	}
	if before, _, empty := strings.Cut(v.target.Escaped(), "//"); empty {
		if before, err := url.PathUnescape(before); err == nil {
			add(r.Method, route.Clean(before), "the path can be read in several ways: send it without two slashes in a row")
		}
	}
	for name, methods := range r.Header {
		if !slices.Contains(methodOverrides, withDashes(name)) {
			continue
		}
		for _, method := range methods {
			add(strings.ToUpper(strings.TrimSpace(method)), r.Path, "the header "+name+" makes it another request to some services: send that method itself")
		}
	}
	return others
}

// sameRules says whether another reading of the request meets the same route, with the same {name}s, and is as exempt.
func (v *visit) sameRules(other reading) bool {
	r := &v.request
	a, these := v.rules.table.Find(r.Host, r.Method, r.Path)
	b, those := v.rules.table.Find(r.Host, other.method, other.path)
	return a == b && slices.Equal(these, those) && v.rules.exempt.paths.Covers(r.Path) == v.rules.exempt.paths.Covers(other.path)
}

// withoutParameters is a path as services read it for which what follows a semicolon is no part of a segment.
func withoutParameters(path string) string {
	segments := strings.Split(path, "/")
	for i, segment := range segments {
		segments[i], _, _ = strings.Cut(segment, ";")
	}
	return route.Clean(strings.Join(segments, "/"))
}
