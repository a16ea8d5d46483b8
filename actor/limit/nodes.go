package limit

import (
	"errors"

	"github.com/jeton-dev/jeton/internal/strictyaml"
	"go.yaml.in/yaml/v3"
)

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

// placed is an error about a mapping at path, in the line of the field that it names, or of key where that is not given.
func placed(err error, path string, key *yaml.Node, fields map[string]*yaml.Node) error {
	fe, ok := errors.AsType[*FieldError](err)
	if !ok {
		return err
	}
	where, ok := fields[fe.Field]
	if !ok {
		where = key
	}
	return at(where, path+"."+fe.Field, fe.Problem)
}

// scalar is a single value.
func scalar(v *yaml.Node, path string) (*yaml.Node, error) {
	if v.Kind == yaml.AliasNode {
		v = v.Alias
	}
	if v.Kind != yaml.ScalarNode {
		return nil, at(v, path, "is not a single value")
	}
	return v, nil
}
