package descriptors

import (
	"fmt"
	"strings"

	"github.com/jeton-dev/jeton/internal/strictyaml"
)

// A Resource is what a server of configurations says of one domain, as a file does.
type Resource struct {
	Name        string // as problems name it
	Domain      string
	Descriptors []Descriptor
}

// A Descriptor is one of a Resource.
type Descriptor struct {
	Key, Value              string
	Rate                    *Rate // nil if it has no limit
	Shadow, Quota, Detailed bool
	Descriptors             []Descriptor
}

// A Rate is a limit of a Descriptor.
type Rate struct {
	Requests  uint32
	Unit      string // its name, in any case; empty for one that is unknown
	Unlimited bool
	Name      string
	Replaces  []string // names of other limits
}

// noLine stands for the line of what is in no file.
const noLine = -1

// A taker makes trees of resources.
type taker struct {
	*report

	items int // of lists
}

// tree is a resource as if it stood in a file; nil if there are problems.
func (r *Resource) tree(to *report) *tree {
	if r.Domain == "" {
		to.add(noLine, "domain", "is missing or empty: name the domain that Envoy sends")
	}
	t := taker{report: to}
	made := &tree{domain: r.Domain, line: noLine, branches: t.list(r.Descriptors, "descriptors", 1)}
	if len(to.problems) > 0 {
		return nil
	}
	return made
}

// list takes descriptors at a depth.
func (t *taker) list(all []Descriptor, path string, depth int) (made []*branch) {
	if depth > maxDepth && len(all) > 0 {
		t.add(noLine, path, "is nested deeper than %d levels", maxDepth)
		return nil
	}
	for i := range all {
		if t.items++; t.items > maxItems {
			t.add(noLine, path, "makes more than %d descriptors: split the domain", maxItems)
			return made
		}
		if t.full() {
			return made
		}
		made = append(made, t.branch(&all[i], strictyaml.Item(path, i), depth))
	}
	return made
}

func (t *taker) branch(d *Descriptor, path string, depth int) *branch {
	b := &branch{field: path, line: noLine, key: d.Key, value: d.Value, flags: map[string]int{}}
	for name, is := range map[string]bool{"shadow_mode": d.Shadow, "quota_mode": d.Quota, "detailed_metric": d.Detailed} {
		if is {
			b.flags[name] = noLine
		}
	}
	if d.Rate != nil {
		b.rate = d.Rate.rate(strictyaml.Under(path, "rate_limit"))
	}
	b.branches = t.list(d.Descriptors, strictyaml.Under(path, "descriptors"), depth+1)
	return b
}

// rate is r as if it stood in a file, where 0 requests are written out.
func (r *Rate) rate(path string) *rate {
	l := &rate{field: path, line: noLine, lines: map[string]int{}, flags: map[string]int{}, unit: strings.ToLower(r.Unit), name: r.Name, requests: r.Requests}
	if r.Unlimited {
		l.flags["unlimited"] = noLine
	} else {
		l.lines["requests_per_unit"] = noLine
	}
	if r.Unit != "" {
		l.lines["unit"] = noLine
	}
	for i, name := range r.Replaces {
		l.replaces = append(l.replaces, replacement{name: name, field: fmt.Sprintf("%s.replaces[%d]", path, i), line: noLine})
	}
	return l
}
