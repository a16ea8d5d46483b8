package limit

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/jeton-dev/jeton/internal/strictyaml"
	"go.yaml.in/yaml/v3"
)

// ParseDocument reads a limits document strictly. An unknown field, a limit defined twice and a value out of range are
// *FieldErrors with the line. So is a document without the field limits, such as an empty file, or a file that is still being
// written; a document that has no limits on purpose says "limits: {}".
func ParseDocument(text []byte) (*Document, error) {
	if doc, ok := parsePlain(string(text)); ok {
		return doc, nil
	}
	return parseYAML(text)
}

// parseYAML is ParseDocument for any YAML. The error is the first problem.
func parseYAML(text []byte) (*Document, error) {
	if !utf8.Valid(text) { // YAML may also be UTF-16; the cluster keeps documents as UTF-8
		return nil, &FieldError{Field: "document", Problem: "is not YAML in UTF-8: save it as UTF-8", Line: 1}
	}
	root, problem := strictyaml.Root(text)
	switch {
	case problem != nil:
		return nil, fieldError(problem)
	case root == nil:
		return nil, errNoLimits(1)
	}
	doc := &Document{rules: map[string]*Rule{}}
	given := false
	err := eachField(root, "", func(key, value *yaml.Node) error {
		switch {
		case key.Value != "limits":
			return fieldError(strictyaml.Unknown(key, "", "a limits document has only", []string{"limits"}))
		case isNull(value):
			return errNoLimits(key.Line)
		}
		given = true
		return eachField(value, "limits", doc.add)
	})
	switch {
	case err != nil:
		return nil, err
	case !given:
		return nil, errNoLimits(root.Line)
	}
	slices.Sort(doc.names)
	return doc, nil
}

// errNoLimits is the error of a document without limits.
func errNoLimits(line int) error {
	return &FieldError{Field: "limits", Problem: "is empty: define at least one limit, or write limits: {} for none", Line: line}
}

// add reads the limit called key.
func (d *Document) add(key, value *yaml.Node) error {
	l := Limit{Name: key.Value}
	path := "limits." + key.Value
	lines := map[string]*yaml.Node{}
	err := eachField(value, path, func(field, v *yaml.Node) error {
		lines[field.Value] = v
		return l.set(path, field, v)
	})
	if err != nil {
		return err
	}
	if _, given := lines["capacity"]; !given {
		return at(key, path+".capacity", "is missing: say how many tokens a full bucket holds, at least 1")
	}
	rule, err := l.Rule()
	if err != nil {
		var fe *FieldError
		if !errors.As(err, &fe) {
			return err
		}
		where, ok := lines[fe.Field]
		if !ok {
			where = key
		}
		return at(where, path+"."+fe.Field, fe.Problem)
	}
	d.rules[l.Name] = rule
	d.names = append(d.names, l.Name)
	return nil
}

// set reads one field of a limit.
func (l *Limit) set(parent string, field, v *yaml.Node) error {
	path := parent + "." + field.Value
	if !slices.Contains(limitFields, field.Value) {
		return fieldError(strictyaml.Unknown(field, parent, "a limit has", limitFields))
	}
	if v.Kind == yaml.AliasNode {
		v = v.Alias
	}
	if v.Kind != yaml.ScalarNode {
		return at(v, path, "is not a single value")
	}
	switch field.Value {
	case "algorithm":
		l.Algorithm = v.Value
	case "on_unavailable":
		l.OnUnavailable = Policy(v.Value)
	case "capacity":
		n, err := strconv.ParseInt(v.Value, 10, 64)
		if err != nil {
			return at(v, path, fmt.Sprintf("%s is not a whole number of tokens, at most %d", Quote(v.Value), int64(math.MaxInt64)))
		}
		l.Capacity = n
	case "refill":
		r, err := ParseRefill(v.Value)
		if err != nil {
			return at(v, path, strings.TrimPrefix(err.Error(), "refill: "))
		}
		l.Refill = r
	}
	return nil
}

// eachField calls f for each field of a mapping, until there is a problem; null is an empty mapping. Path is the path of the mapping;
// "" is the document.
func eachField(m *yaml.Node, path string, f func(key, value *yaml.Node) error) (first error) {
	if isNull(m) {
		return nil
	}
	note := func(err error) {
		if first == nil {
			first = err
		}
	}
	strictyaml.EachField(m, path, func(p *strictyaml.Problem) { note(fieldError(p)) }, func(key, value *yaml.Node) {
		if first == nil {
			note(f(key, value))
		}
	})
	return first
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

func at(n *yaml.Node, field, problem string) error {
	return &FieldError{Field: named(field), Problem: problem, Line: n.Line}
}

func fieldError(p *strictyaml.Problem) error {
	return &FieldError{Field: named(p.Path), Problem: p.Text, Line: p.Line}
}
