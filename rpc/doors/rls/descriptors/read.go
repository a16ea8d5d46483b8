package descriptors

import (
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/jeton-dev/jeton/internal/strictyaml"
)

// What a file may have at most: aliases may multiply what is written once, and may contain themselves.
const (
	maxItems = 100_000 // of lists
	maxDepth = 32      // descriptors in descriptors
)

// A tree is a file as it is written.
type tree struct {
	domain   string
	line     int // of the domain
	branches []*branch
}

// A branch is one descriptor of a file.
type branch struct {
	field      string // such as descriptors[0]
	line       int
	key, value string
	rate       *rate
	flags      map[string]int // the lines of those that are true
	branches   []*branch
}

// place is where the branch stands in its file.
func (b *branch) place() string {
	if b.line <= 0 {
		return b.field
	}
	return "line " + strconv.Itoa(b.line)
}

// A rate is a rate_limit of a file.
type rate struct {
	field                string
	line                 int
	lines                map[string]int // of its fields
	unit, name           string
	requests, multiplier uint32
	algorithm            string
	flags                map[string]int // the lines of those that are true
	replaces             []replacement
}

type replacement struct {
	name, field string
	line        int
}

// The fields of each mapping.
var (
	rootFields       = []string{"domain", "descriptors"}
	flagFields       = []string{"shadow_mode", "quota_mode", "detailed_metric", "value_to_metric", "share_threshold"}
	descriptorFields = append([]string{"key", "value", "rate_limit", "descriptors"}, flagFields...)
	rateFlags        = []string{"unlimited", "charge_always", "refunds"}
	rateFields       = append([]string{"unit", "requests_per_unit", "unit_multiplier", "algorithm", "name", "replaces"}, rateFlags...)
)

// A reader reads one file and notes what is wrong with its form.
type reader struct {
	*report

	items int // of lists
}

// read reads a file. The tree is nil if there are problems.
func read(text []byte, to *report) *tree {
	r := &reader{report: to}
	root, problem := strictyaml.Root(text)
	switch {
	case problem != nil:
		r.yaml(problem)
		return nil
	case root == nil:
		r.add(1, "domain", "is missing: the file is empty")
		return nil
	}
	t := &tree{line: root.Line}
	r.fields(root, "", rootFields, func(key string, value *yaml.Node) {
		switch key {
		case "domain":
			t.domain, t.line = r.text(value, "domain"), value.Line
		case "descriptors":
			t.branches = r.list(value, "descriptors", 1)
		}
	})
	if len(r.problems) == 0 && t.domain == "" {
		r.add(t.line, "domain", "is missing or empty: name the domain that Envoy sends")
	}
	if len(r.problems) > 0 {
		return nil
	}
	return t
}

// fields calls f for each known field of a mapping that has a value. One that is empty is as if it were left out, as Envoy's service
// has it; but a rate_limit says what is wanted.
func (r *reader) fields(n *yaml.Node, path string, known []string, f func(key string, value *yaml.Node)) {
	strictyaml.EachField(n, path, r.yaml, func(key, value *yaml.Node) {
		at := strictyaml.Under(path, key.Value)
		for _, name := range known {
			switch {
			case name != key.Value:
			case target(value).ShortTag() != "!!null":
				f(name, value)
				return
			case name == "rate_limit":
				r.add(value.Line, at, "is empty: write unit and requests_per_unit, or leave it out")
				return
			default:
				return
			}
		}
		r.yaml(strictyaml.Unknown(key, path, "known here are", known))
	})
}

// list reads descriptors at a depth.
func (r *reader) list(n *yaml.Node, path string, depth int) (all []*branch) {
	line, n := n.Line, target(n)
	switch {
	case n.Kind != yaml.SequenceNode:
		r.add(line, path, "is %s: write a list of descriptors, each with a key", strictyaml.Kind(n))
		return nil
	case depth > maxDepth:
		r.add(line, path, "is nested deeper than %d levels", maxDepth)
		return nil
	}
	for i, item := range n.Content {
		if !r.more(line, path) {
			return all
		}
		all = append(all, r.branch(item, strictyaml.Item(path, i), depth))
	}
	return all
}

// more counts an item of a list, and says whether it is to be read: there are not too many of them, nor of problems.
func (r *reader) more(line int, path string) bool {
	if r.items++; r.items == maxItems+1 {
		r.add(line, path, "makes more than %d items of lists in the file: split the domain, or use fewer aliases", maxItems)
	}
	return r.items <= maxItems && !r.full()
}

func (r *reader) branch(n *yaml.Node, path string, depth int) *branch {
	b := &branch{field: path, line: n.Line, flags: map[string]int{}}
	r.fields(n, path, descriptorFields, func(key string, value *yaml.Node) {
		at := strictyaml.Under(path, key)
		switch key {
		case "key":
			b.key = r.text(value, at)
		case "value":
			b.value = r.text(value, at)
		case "rate_limit":
			b.rate = r.rate(value, at)
		case "descriptors":
			b.branches = r.list(value, at, depth+1)
		default:
			if r.flag(value, at) {
				b.flags[key] = value.Line
			}
		}
	})
	return b
}

func (r *reader) rate(n *yaml.Node, path string) *rate {
	l := &rate{field: path, line: n.Line, lines: map[string]int{}, flags: map[string]int{}}
	r.fields(n, path, rateFields, func(key string, value *yaml.Node) {
		at := strictyaml.Under(path, key)
		l.lines[key] = value.Line
		switch key {
		case "unit":
			l.unit = r.text(value, at)
		case "requests_per_unit":
			l.requests = r.number(value, at)
		case "unit_multiplier":
			if l.multiplier = r.number(value, at); l.multiplier == 0 {
				r.add(value.Line, at, "must be at least 1")
			}
		case "algorithm":
			l.algorithm = r.text(value, at)
		case "name":
			l.name = r.text(value, at)
		case "replaces":
			l.replaces = r.replaces(value, at)
		default:
			if r.flag(value, at) {
				l.flags[key] = value.Line
			}
		}
	})
	return l
}

func (r *reader) replaces(n *yaml.Node, path string) (all []replacement) {
	line, n := n.Line, target(n)
	if n.Kind != yaml.SequenceNode {
		r.add(line, path, "is %s: write a list, as in [{name: other_limit}]", strictyaml.Kind(n))
		return nil
	}
	for i, item := range n.Content {
		if !r.more(line, path) {
			return all
		}
		at := strictyaml.Item(path, i)
		one := replacement{field: at, line: item.Line}
		r.fields(item, at, []string{"name"}, func(_ string, value *yaml.Node) {
			one.name = r.text(value, strictyaml.Under(at, "name"))
		})
		all = append(all, one)
	}
	return all
}

// text reads a single value as it is written: 5 and true are texts here, as in Envoy's service.
func (r *reader) text(n *yaml.Node, path string) string {
	line, n := n.Line, target(n)
	switch n.ShortTag() {
	case "!!str", "!!int", "!!float", "!!bool", "!!timestamp":
		if n.Kind == yaml.ScalarNode {
			return n.Value
		}
	}
	r.add(line, path, "is %s: write a text, in quotes if need be", strictyaml.Kind(n))
	return ""
}

// flag reads true or false, and the words that YAML 1.1 has for them.
func (r *reader) flag(n *yaml.Node, path string) bool {
	line, n := n.Line, target(n)
	if n.Kind == yaml.ScalarNode {
		switch strings.ToLower(n.Value) {
		case "true", "yes", "on":
			return true
		case "false", "no", "off":
			return false
		}
	}
	r.add(line, path, "is %s: write true or false", strictyaml.Kind(n))
	return false
}

var wholeNumber = regexp.MustCompile(`^(0|[1-9][0-9]*)$`)

func (r *reader) number(n *yaml.Node, path string) uint32 {
	line, n := n.Line, target(n)
	number, err := strconv.ParseUint(n.Value, 10, 32)
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!int" || err != nil || !wholeNumber.MatchString(n.Value) {
		r.add(line, path, "is %s: write a whole number from 0 to 4294967295", strictyaml.Kind(n))
		return 1
	}
	return uint32(number)
}

// target is what an alias stands for, or the node itself.
func target(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}
