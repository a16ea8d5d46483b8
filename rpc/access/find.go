package access

import (
	"slices"
	"strings"
	"sync"
)

// methods are the entries of the gRPC doors, by method. What stands at both needs the same.
var methods = sync.OnceValue(func() map[string]Entry {
	found := map[string]Entry{}
	for _, e := range Table() {
		if e.Door == NodeGRPC || e.Door == GatewayGRPC {
			found[e.Call] = e
		}
	}
	return found
})

// Method finds the entry of a gRPC method, such as /jeton.v1.Limiter/Check.
func Method(full string) (Entry, bool) {
	e, ok := methods()[full]
	return e, ok
}

// A path is the entries of an HTTP door that share one.
type path struct {
	text    string           // up to the first {
	prefix  bool             // longer paths fit too
	entries map[string]Entry // by method
}

func (p *path) fits(text string) bool {
	return text == p.text || p.prefix && strings.HasPrefix(text, p.text)
}

// paths are those of the HTTP doors, the longest first.
var paths = sync.OnceValue(func() map[Door][]*path {
	found := map[Door][]*path{}
	for _, e := range Table() {
		method, text, http := strings.Cut(e.Call, " ")
		if !http {
			continue
		}
		text, _, prefix := strings.Cut(text, "{")
		at := slices.IndexFunc(found[e.Door], func(p *path) bool { return p.text == text && p.prefix == prefix })
		if at < 0 {
			at = len(found[e.Door])
			found[e.Door] = append(found[e.Door], &path{text: text, prefix: prefix, entries: map[string]Entry{}})
		}
		found[e.Door][at].entries[method] = e
	}
	for _, all := range found {
		slices.SortStableFunc(all, func(a, b *path) int { return len(b.text) - len(a.text) })
	}
	return found
})

// Route finds the entry of an HTTP request: the longest path that fits its path, which is as it was sent, escapes and all.
// Where the path is known and the method is not, allow are the methods that are; where the path is not, there are none.
func Route(at Door, method, sent string) (e Entry, allow []string, ok bool) {
	if method == "HEAD" {
		method = "GET"
	}
	for _, p := range paths()[at] {
		if !p.fits(sent) {
			continue
		}
		if e, ok := p.entries[method]; ok {
			return e, nil, true
		}
		for known := range p.entries {
			allow = append(allow, known)
			if known == "GET" {
				allow = append(allow, "HEAD")
			}
		}
	}
	slices.Sort(allow)
	return Entry{}, slices.Compact(allow), false
}
