package descriptors

import (
	"maps"
	"strings"
)

// An Entry is a key and a value of a request's descriptor.
type Entry struct{ Key, Value string }

// A level is a list of descriptors, ready to be searched.
type level struct {
	exact    map[Entry]*node
	any      map[string]*node   // without a value, by key
	wild     map[string][]*node // with values that end in *, by key, in the order of the file
	wildKeys []*node            // without a value, whose keys end in *, likewise
}

// A node is one descriptor of a file.
type node struct {
	order    int    // in the file
	pattern  string // what ends in *; empty for other descriptors
	prefix   string // the pattern without it
	shared   bool   // what the pattern matches has one bucket
	toMetric bool
	rule     *Rule  // nil if it has no rate_limit
	next     *level // nil if it has no descriptors
}

// find is the node for an entry: with the entry's value, or else the first pattern that matches, or else the one without a value.
func (l *level) find(e Entry) (n *node, exact bool) {
	if n := l.exact[e]; n != nil {
		return n, true
	}
	for _, w := range l.wild[e.Key] {
		if strings.HasPrefix(e.Value, w.prefix) {
			n = w
			break
		}
	}
	for _, w := range l.wildKeys {
		if n != nil && n.order < w.order {
			break
		}
		if strings.HasPrefix(e.Key, w.prefix) {
			n = w
			break
		}
	}
	if n == nil {
		n = l.any[e.Key]
	}
	return n, false
}

// put takes in a node, under the key and the value that the file has.
func (l *level) put(e Entry, n *node) {
	switch {
	case n.pattern != "" && e.Value != "":
		l.wild[e.Key] = append(l.wild[e.Key], n)
	case n.pattern != "":
		l.wildKeys = append(l.wildKeys, n)
	case e.Value != "":
		l.exact[e] = n
	default:
		l.any[e.Key] = n
	}
}

// join takes in what another level of the same domain has. What both have is for the caller to refuse.
func (l *level) join(other *level) {
	maps.Copy(l.exact, other.exact)
	maps.Copy(l.any, other.any)
	for key, all := range other.wild {
		l.wild[key] = append(l.wild[key], all...)
	}
	l.wildKeys = append(l.wildKeys, other.wildKeys...)
}
