package route

import (
	"fmt"
	"net/http"
	"strings"
)

// tree holds routes by the segments of their paths.
type tree struct{ root node }

// node is where a path of so many segments ends.
type node struct {
	literal map[string]*node
	any     *node // for a {name}
	exact   leaf  // of patterns that end here in $
	below   leaf  // of patterns that end here and cover what is below
}

// leaf holds the routes of one path by host.
type leaf struct {
	hosts map[string]*methods // the very host; lower case
	under map[string]*methods // what follows the * of *.example.com, with its dot
	any   *methods            // every host
}

// methods holds the routes of one path and host by method, as indexes.
type methods struct {
	named map[string]int
	any   int // -1 for none
}

// clash is a route that fits something as well as another one, and what.
type clash struct {
	index        int
	host, method string // empty for any
}

func (c *clash) what(path string) string {
	method, host := c.method, c.host
	if method == "" {
		method = "every method"
	}
	if host == "" {
		host = "every host"
	}
	return fmt.Sprintf("%s of %s at %s", method, path, host)
}

// leaf is that of the pattern, made if it is not there.
func (t *tree) leaf(p pattern) *leaf {
	n := &t.root
	for _, segment := range p.segments {
		if segment == "" {
			if n.any == nil {
				n.any = &node{}
			}
			n = n.any
			continue
		}
		next := n.literal[segment]
		if next == nil {
			if n.literal == nil {
				n.literal = map[string]*node{}
			}
			next = &node{}
			n.literal[segment] = next
		}
		n = next
	}
	if p.exact {
		return &n.exact
	}
	return &n.below
}

// add puts in a route for these hosts and methods, or says which other one is there for one of them.
func (l *leaf) add(hosts []hostPattern, named []string, index int) *clash {
	if len(hosts) == 0 {
		if l.any == nil {
			l.any = &methods{any: -1}
		}
		return l.any.add("", named, index)
	}
	for _, h := range hosts {
		kind := &l.hosts
		if h.wildcard {
			kind = &l.under
		}
		if *kind == nil {
			*kind = map[string]*methods{}
		}
		if (*kind)[h.name] == nil {
			(*kind)[h.name] = &methods{any: -1}
		}
		if c := (*kind)[h.name].add(h.String(), named, index); c != nil {
			return c
		}
	}
	return nil
}

func (m *methods) add(host string, named []string, index int) *clash {
	if len(named) == 0 {
		if m.any >= 0 && m.any != index {
			return &clash{index: m.any, host: host}
		}
		m.any = index
	}
	for _, method := range named {
		if other, taken := m.named[method]; taken && other != index {
			return &clash{index: other, host: host, method: method}
		}
		if m.named == nil {
			m.named = map[string]int{}
		}
		m.named[method] = index
	}
	return nil
}

// find is the index of the best route for the method, or -1.
func (m *methods) find(method string) int {
	if m == nil {
		return -1
	}
	if i, ok := m.named[method]; ok {
		return i
	}
	if method == http.MethodHead {
		if i, ok := m.named[http.MethodGet]; ok {
			return i
		}
	}
	return m.any
}

// query is one search: what of a request is not its path.
type query struct {
	host   string // in the form of [Host]
	method string
	best   int // the index of the best route up to now, -1 for none
	depth  int // how many segments its path has, -1 for none
}

// search is the index of the best route below root for path, which is clean, or -1.
func (q *query) search(root *node, path string) int {
	q.best, q.depth = -1, -1
	q.visit(root, path[1:], path == "/", 0)
	return q.best
}

// visit looks at n, which is depth segments below the root, and below it along rest; ended says that no segment is left. It goes
// where the better routes are first, so that of those with equally many segments the first one found is the best.
func (q *query) visit(n *node, rest string, ended bool, depth int) {
	if !ended {
		segment, below, more := strings.Cut(rest, "/")
		if next := n.literal[segment]; next != nil {
			q.visit(next, below, !more, depth+1)
		}
		if n.any != nil {
			q.visit(n.any, below, !more, depth+1)
		}
	}
	if depth <= q.depth {
		return
	}
	found := -1
	if ended {
		found = q.match(&n.exact)
	}
	if found < 0 {
		found = q.match(&n.below)
	}
	if found >= 0 {
		q.best, q.depth = found, depth
	}
}

// match is the index of the leaf's best route for the host and method, or -1.
func (q *query) match(l *leaf) int {
	if m := l.hosts[q.host]; m != nil {
		if i := m.find(q.method); i >= 0 {
			return i
		}
	}
	if len(l.under) > 0 {
		// *.example.com matches at least one more label, and the longest of several goes first.
		for at := 1; at < len(q.host); at++ {
			if q.host[at] != '.' {
				continue
			}
			if i := l.under[q.host[at:]].find(q.method); i >= 0 {
				return i
			}
		}
	}
	return l.any.find(q.method)
}
