package limitfile

import (
	"strconv"

	"go.yaml.in/yaml/v3"

	"github.com/jeton-dev/jeton/internal/strictyaml"
)

// What files may have at most: aliases may multiply what is written once.
const (
	maxLimits      = 10_000 // in a file
	maxExpressions = 64     // conditions of a limit, and variables of it
)

// A written is a limit as it is written.
type written struct {
	report *report
	field  string // such as [0]
	line   int

	namespace, name, id   string
	hasName, hasID        bool
	maxValue, seconds     uint64
	conditions, variables []text
	lines                 map[string]int // of its fields

	tests  []*expression
	values []*expression
	never  bool // it never applies
}

// A text is an expression as it is written.
type text struct {
	line  int
	field string
	value string
}

// The fields of a limit, and those that it must have.
var (
	fields   = []string{"id", "namespace", "max_value", "seconds", "name", "conditions", "variables"}
	required = []string{"namespace", "seconds", "conditions", "variables"}
)

// read reads a file.
func read(text []byte, to *report) (all []*written) {
	root, problem := strictyaml.Root(text)
	switch {
	case problem != nil:
		to.yaml(problem)
		return nil
	case root == nil:
		to.add(1, "", "is empty: write a list of limits, or [] for none")
		return nil
	case root.Kind != yaml.SequenceNode:
		to.add(root.Line, "", "is %s: write a list of limits, each with %s, %s, %s and %s", strictyaml.Kind(root), required[0], required[1], required[2], required[3])
		return nil
	case len(root.Content) > maxLimits:
		to.add(root.Line, "", "has %d limits: at most %d", len(root.Content), maxLimits)
		return nil
	}
	for i, item := range root.Content {
		if len(to.problems) >= maxProblems {
			break
		}
		w := &written{report: to, field: strictyaml.Item("", i), line: item.Line, lines: map[string]int{}}
		w.read(item)
		all = append(all, w)
	}
	return all
}

// read reads a limit. Fields that are not known are left alone, as Limitador leaves them.
func (w *written) read(n *yaml.Node) {
	if line, n := n.Line, target(n); n.Kind != yaml.MappingNode {
		w.report.add(line, w.field, "is %s: write a limit, with %s, %s, %s and %s", strictyaml.Kind(n), required[0], required[1], required[2], required[3])
		return
	}
	strictyaml.EachField(target(n), w.field, w.report.yaml, func(key, value *yaml.Node) {
		at := strictyaml.Under(w.field, key.Value)
		w.lines[key.Value] = key.Line
		switch key.Value {
		case "namespace":
			w.namespace = w.text(value, at)
		case "name":
			w.name, w.hasName = w.optional(value, at)
		case "id":
			w.id, w.hasID = w.optional(value, at)
		case "max_value":
			w.maxValue = w.number(value, at)
		case "seconds":
			w.seconds = w.number(value, at)
		case "conditions":
			w.conditions = w.list(value, at)
		case "variables":
			w.variables = w.list(value, at)
		default:
			w.report.note(key.Line, at, "%s", strictyaml.Unknown(key, w.field, "a limit has", fields).Text+"; it is not read, as in Limitador")
		}
	})
	for _, name := range required {
		if w.lines[name] == 0 {
			w.report.add(w.line, strictyaml.Under(w.field, name), "is missing: Limitador refuses the file without it")
		}
	}
}

// list reads expressions. An empty value is an empty list.
func (w *written) list(n *yaml.Node, path string) (all []text) {
	line, n := n.Line, target(n)
	switch {
	case n.ShortTag() == "!!null":
		return nil
	case n.Kind != yaml.SequenceNode:
		w.report.add(line, path, "is %s: write a list of expressions, or [] for none", strictyaml.Kind(n))
		return nil
	case len(n.Content) > maxExpressions:
		w.report.add(line, path, "has %d expressions: at most %d", len(n.Content), maxExpressions)
		return nil
	}
	for i, item := range n.Content {
		at := strictyaml.Item(path, i)
		all = append(all, text{item.Line, at, w.text(item, at)})
	}
	return all
}

// text reads a single value as it is written.
func (w *written) text(n *yaml.Node, path string) string {
	line, n := n.Line, target(n)
	if n.Kind == yaml.ScalarNode && n.ShortTag() != "!!null" {
		return n.Value
	}
	w.report.add(line, path, "is %s: write a text, in quotes if need be", strictyaml.Kind(n))
	return ""
}

// optional reads a text that may be left out, by null too.
func (w *written) optional(n *yaml.Node, path string) (text string, given bool) {
	if target(n).ShortTag() == "!!null" {
		return "", false
	}
	return w.text(n, path), true
}

// number reads a whole number.
func (w *written) number(n *yaml.Node, path string) uint64 {
	line, n := n.Line, target(n)
	number, err := strconv.ParseUint(n.Value, 0, 64)
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!int" || err != nil {
		w.report.add(line, path, "is %s: write a whole number from 0 to 18446744073709551615", strictyaml.Kind(n))
		return 1
	}
	return number
}

// target is what an alias stands for, or the node itself.
func target(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}
