// Package route finds the route that a request matches, by its path, host and method. It is pure: a [Table] is made once from
// the routes of a document and never changes, so it may be asked from any number of goroutines.
//
// Of the routes that match a request, the most specific one applies; their order in the document does not matter. More specific is,
// in this order of rules:
//
//  1. the longer path, counted in segments;
//  2. at the first segment where they differ, a literal one before {name};
//  3. a path that ends in $ before one that covers what is below it;
//  4. the exact host, before the longer *.name, before a shorter one, before any host;
//  5. the exact method, before GET for a HEAD, before any method.
//
// Two routes that none of this tells apart are refused by [New]. Start there.
package route

import (
	"fmt"
	"strings"

	"github.com/jeton-dev/jeton/gateway/config"
)

// A Param is a {name} of a route's path and its value: the decoded segment of the request's path.
type Param struct{ Name, Value string }

// A Table holds the routes of a document, ready to be found.
type Table struct {
	tree  tree
	names [][]slot // of each route: its {name}s and their segments
}

// New makes a Table. Its errors name the route and what is wrong with its path, a host or a method, or two routes of which
// neither fits better than the other.
func New(routes []config.Route) (*Table, error) {
	t := &Table{names: make([][]slot, len(routes))}
	label := func(i int) string { return fmt.Sprintf("routes[%d] (%s)", i, routes[i].Name) }
	for i, r := range routes {
		p, err := parsePattern(r.Path)
		if err != nil {
			return nil, fmt.Errorf("%s: path: %w", label(i), err)
		}
		hosts, err := parseHosts(r.Hosts)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", label(i), err)
		}
		if err := checkMethods(r.Methods); err != nil {
			return nil, fmt.Errorf("%s: %w", label(i), err)
		}
		t.names[i] = p.slots
		if other := t.tree.leaf(p).add(hosts, r.Methods, i); other != nil {
			return nil, fmt.Errorf("%s: matches %s as well as %s does: change the path, the hosts or the methods of one of them",
				label(i), other.what(r.Path), label(other.index))
		}
	}
	return t, nil
}

// Find is the route that fits best, as its index in the routes that New was given, or -1 if none does. host is in the form
// of [Host]; path is decoded, and is held against the patterns as [Clean] leaves it. params are the {name} segments, in the
// order of the path; without any, Find does not allocate for a path that is clean already.
func (t *Table) Find(host, method, path string) (index int, params []Param) {
	path = Clean(path)
	q := query{host: host, method: method}
	index = q.search(&t.tree.root, path)
	if index < 0 || len(t.names[index]) == 0 {
		return index, nil
	}
	return index, fill(t.names[index], path)
}

// fill takes the values of the slots out of path.
func fill(slots []slot, path string) []Param {
	params := make([]Param, 0, len(slots))
	rest := path[1:]
	for depth := 0; len(params) < len(slots); depth++ {
		var segment string
		segment, rest, _ = strings.Cut(rest, "/")
		if next := slots[len(params)]; next.depth == depth {
			params = append(params, Param{Name: next.name, Value: segment})
		}
	}
	return params
}

// Paths are patterns of paths alone, for any host and method.
type Paths struct{ tree tree }

// NewPaths makes Paths of patterns like those of routes. Its errors name the pattern that is wrong.
func NewPaths(patterns []string) (*Paths, error) {
	p := &Paths{}
	for i, pattern := range patterns {
		parsed, err := parsePattern(pattern)
		if err != nil {
			return nil, fmt.Errorf("paths[%d]: %w", i, err)
		}
		p.tree.leaf(parsed).add(nil, nil, i) // that one is there twice does no harm
	}
	return p, nil
}

// Covers says whether one of the patterns covers path, which is decoded.
func (p *Paths) Covers(path string) bool {
	var q query
	return q.search(&p.tree.root, Clean(path)) >= 0
}
