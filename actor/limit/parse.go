package limit

import (
	"cmp"
	"slices"
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
	var has given
	lines := map[string]*yaml.Node{}
	err := eachField(value, path, func(field, v *yaml.Node) error {
		lines[field.Value] = v
		if field.Value == "plans" || field.Value == "overrides" {
			return nil // they are read once the limit is
		}
		return l.set(&has, path, field, v)
	})
	if err != nil {
		return err
	}
	var rule *Rule
	if err = cmp.Or(l.fitsGiven(has), l.hasCount(has)); err == nil {
		if rule, err = l.Rule(); err == nil {
			err = d.gauge(&l)
		}
	}
	if err != nil {
		return placed(err, path, key, lines)
	}
	d.rules[l.Name] = rule
	d.names = append(d.names, l.Name)
	v, err := d.readVariants(rule, path, lines["plans"], lines["overrides"])
	if err == nil && v != nil {
		d.vary(l.Name, v)
	}
	return err
}

// set reads one field of a limit, and notes that it is given.
func (l *Limit) set(has *given, parent string, field, v *yaml.Node) error {
	path, i := parent+"."+field.Value, fieldCalled(field.Value)
	if i < 0 {
		return fieldError(strictyaml.Unknown(field, parent, "a limit has", append(fieldNames(), "plans", "overrides")))
	}
	has[i] = true
	if v.Kind == yaml.AliasNode {
		v = v.Alias
	}
	if v.Kind != yaml.ScalarNode {
		return at(v, path, "is not a single value")
	}
	if err := fields[i].read(l, v.Value); err != nil {
		return at(v, path, strings.TrimPrefix(err.Error(), field.Value+": "))
	}
	return nil
}
