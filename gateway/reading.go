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
	return v.otherwise()
}

// A reading is how some services read a path.
type reading struct {
	path   string
	advice string // for the client, if other rules apply to this reading
}

// methodOverrides are headers from which some services take the method, also by other names (see [alias.Header]).
var methodOverrides = []string{"X-Http-Method", "X-Http-Method-Override", "X-Method-Override"}

// otherwise says why other rules apply to another reading of the request than the one that is judged: another method with another path; empty if none do.
func (v *visit) otherwise() string {
	r := &v.request
	method, advice := v.otherMethod()
	paths := v.otherPaths()
	if method == r.Method && len(paths) == 0 {
		return "" // almost always
	}
	if method == "" {
		return advice
	}
	same := v.rulesOf(r.Method, r.Path)
	if method != r.Method && !v.rulesOf(method, r.Path).equal(same) {
		return advice
	}
	for _, other := range paths {
		if !v.rulesOf(r.Method, other.path).equal(same) || method != r.Method && !v.rulesOf(method, other.path).equal(same) {
			return other.advice
		}
	}
	return ""
}

// otherMethod is the one that a header tells, or that of the request; empty if headers tell several. advice is for the client if that matters.
func (v *visit) otherMethod() (method, advice string) {
	method = v.request.Method
	for name, methods := range v.request.Header {
		if !slices.Contains(methodOverrides, alias.Header(name)) {
			continue
		}
		advice = "the header " + name + " changes the method for some services: send that method itself"
		for _, told := range methods {
			switch told = strings.ToUpper(strings.TrimSpace(told)); {
			case told == "" || told == v.request.Method || told == method:
			case method != v.request.Method:
				return "", advice
			default:
				method = told
			}
		}
	}
	return method, advice
}

// otherPaths are readings of the path: to some services it ends at two slashes in a row, or it, or each of its segments, at a semicolon.
func (v *visit) otherPaths() (others []reading) {
	const semicolons, slashes = "the path is ambiguous: send it without semicolons", "the path is ambiguous: send it without two slashes in a row"
	escaped := v.target.Escaped()
	if !strings.Contains(v.request.Path, ";") && !strings.Contains(escaped, "//") {
		return nil
	}
	path, err := url.PathUnescape(escaped)
	if err != nil {
		return nil
	}
	add := func(path, advice string) {
		if path = route.Clean(path); path != v.request.Path {
			others = append(others, reading{path, advice})
		}
	}
	before, _, cut := strings.Cut(path, "//")
	if cut {
		add(before, slashes)
	}
	if strings.Contains(path, ";") {
		bare := withoutParameters(path)
		add(bare, semicolons)
		first, _, _ := strings.Cut(path, ";")
		add(first, semicolons)
		add(withoutParameters(before), semicolons)
		if before, _, cut := strings.Cut(bare, "//"); cut {
			add(before, semicolons)
		}
	}
	return others
}

// What applies to a reading of a request.
type applied struct {
	route  int
	params []route.Param
	exempt bool
}

func (a applied) equal(b applied) bool {
	return a.route == b.route && slices.Equal(a.params, b.params) && a.exempt == b.exempt
}

// rulesOf is what applies to the request with that method and path.
func (v *visit) rulesOf(method, path string) applied {
	found, params := v.rules.table.Find(v.request.Host, method, path)
	return applied{found, params, v.rules.exempt.paths.Covers(path)}
}

// withoutParameters is a path without what follows a semicolon in a segment.
func withoutParameters(path string) string {
	segments := strings.Split(path, "/")
	for i, segment := range segments {
		segments[i], _, _ = strings.Cut(segment, ";")
	}
	return strings.Join(segments, "/")
}
