package gateway

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/jeton-dev/jeton/gateway/route"
	"github.com/jeton-dev/jeton/internal/alias"
)

// readTarget reads what a request asks for: its Host and its URL. If that is ambiguous, the visit notes why, and the request has no
// host and no path.
func (v *visit) readTarget(host string, u *url.URL) {
	if v.unreadable != "" {
		return
	}
	v.target, v.unreadable = route.Read(host, u)
	q := &v.request
	q.Host, q.Path, q.RawQuery = v.target.Host, v.target.Path, v.target.RawQuery
}

// ambiguity says why the service behind the gateway might take the request for another one than the rules do; empty if it cannot.
func (v *visit) ambiguity() string {
	r := &v.request
	switch {
	case r.Method == http.MethodConnect:
		return "CONNECT is not supported: ask for a path"
	case v.unreadable != "":
		return v.unreadable
	case strings.ToUpper(r.Method) != r.Method:
		return "the method is ambiguous: send it in capital letters"
	}
	for _, other := range v.otherReadings() {
		if !v.sameRules(other) {
			return other.advice
		}
	}
	return ""
}

// A reading is how some services read a request.
type reading struct {
	method, path string
	advice       string // for the client, if other rules apply to this reading
}

// methodOverrides are headers from which some services take the method, also by other names (see [alias.Header]).
var methodOverrides = []string{"X-Http-Method", "X-Http-Method-Override", "X-Method-Override"}

// otherReadings are those of the request that differ from the one that is judged: each path with each method. There is almost never one.
func (v *visit) otherReadings() []reading {
	r := &v.request
	others := v.otherPaths()
	for name, methods := range r.Header {
		if !slices.Contains(methodOverrides, alias.Header(name)) {
			continue
		}
		advice := "the header " + name + " changes the method for some services: send that method itself"
		for _, method := range methods {
			method = strings.ToUpper(strings.TrimSpace(method))
			others = append(others, reading{method, r.Path, advice})
			for _, other := range v.otherPaths() {
				others = append(others, reading{method, other.path, other.advice})
			}
		}
	}
	return others
}

// otherPaths are readings of the path alone.
func (v *visit) otherPaths() (others []reading) {
	r := &v.request
	add := func(path, advice string) {
		others = append(others, reading{r.Method, path, advice})
		if strings.Contains(path, ";") {
			others = append(others, reading{r.Method, withoutParameters(path), "the path is ambiguous: send it without semicolons"})
		}
	}
	if strings.Contains(r.Path, ";") {
		add(r.Path, "")
	}
	if before, _, empty := strings.Cut(v.target.Escaped(), "//"); empty {
		if before, err := url.PathUnescape(before); err == nil {
			add(route.Clean(before), "the path is ambiguous: send it without two slashes in a row")
		}
	}
	return others
}

// sameRules reports whether another reading of the request has the same route, with the same {name}s, and is exempt or not alike.
func (v *visit) sameRules(other reading) bool {
	r := &v.request
	a, these := v.rules.table.Find(r.Host, r.Method, r.Path)
	b, those := v.rules.table.Find(r.Host, other.method, other.path)
	return a == b && slices.Equal(these, those) && v.rules.exempt.paths.Covers(r.Path) == v.rules.exempt.paths.Covers(other.path)
}

// withoutParameters is a path without what follows a semicolon in a segment, as some services read it.
func withoutParameters(path string) string {
	segments := strings.Split(path, "/")
	for i, segment := range segments {
		segments[i], _, _ = strings.Cut(segment, ";")
	}
	return route.Clean(strings.Join(segments, "/"))
}
