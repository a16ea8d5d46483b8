package limit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/jeton-dev/jeton/internal/strictyaml"
)

// A Document is the set of stored limits, immutable once read. The zero value has none. It is written in YAML, of which JSON is
// a part:
//
//	limits:
//	  login:
//	    algorithm: token-bucket
//	    capacity: 10
//	    refill: 1/s
//	    on_unavailable: deny
type Document struct {
	rules map[string]*Rule
	names []string // sorted
}

// ParseDocument reads a limits document strictly: an unknown field, a limit defined twice, a value out of range are
// *FieldErrors that carry the line. So is a document without the field limits, as an empty file is, or one that is being
// written; no limits at all are "limits: {}".
func ParseDocument(text []byte) (*Document, error) {
	if doc, ok := parsePlain(string(text)); ok {
		return doc, nil
	}
	return parseYAML(text)
}

// parseYAML is ParseDocument for whatever YAML has. The error is the first problem.
func parseYAML(text []byte) (*Document, error) {
	if !utf8.Valid(text) { // YAML may be UTF-16 too, which no other node would read as it was sent
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

// errNoLimits refuses a document in which no limits stand.
func errNoLimits(line int) error {
	return &FieldError{Field: "limits", Problem: "is empty: name at least one limit, or write limits: {} for none at all", Line: line}
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

// limitFields are the fields of a limit in a document.
var limitFields = []string{"algorithm", "capacity", "refill", "on_unavailable"}

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

// eachField calls f for each field of a mapping until there is a problem; null is an empty mapping. The path is that of the mapping;
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

// Rule is the stored limit with that name.
func (d *Document) Rule(name string) (*Rule, bool) {
	r, ok := d.rules[name]
	return r, ok
}

// With is the document with the limits of another in addition, which take the place of its own of the same names.
func (d *Document) With(other *Document) *Document {
	both := &Document{rules: maps.Clone(d.rules)}
	if both.rules == nil {
		both.rules = map[string]*Rule{}
	}
	maps.Copy(both.rules, other.rules)
	both.names = slices.Sorted(maps.Keys(both.rules))
	return both
}

// Rules are all stored limits, sorted by name.
func (d *Document) Rules() []*Rule {
	rules := make([]*Rule, len(d.names))
	for i, name := range d.names {
		rules[i] = d.rules[name]
	}
	return rules
}

// Resolve finds the rule that ref means: a stored limit, or the one it defines. The error is ErrUnknownLimit, or a
// *FieldError for a definition that is wrong or bears a stored limit's name.
func (d *Document) Resolve(ref Ref) (*Rule, error) {
	stored, ok := d.rules[ref.Name]
	switch {
	case ref.Inline == nil && ok:
		return stored, nil
	case ref.Inline == nil:
		return nil, fmt.Errorf("%w %s", ErrUnknownLimit, Quote(ref.Name))
	case ok:
		return nil, &FieldError{Field: "limits." + ref.Name, Problem: "is a stored limit: name it without a definition"}
	}
	rule, err := ref.inlineRule()
	if err != nil {
		return nil, under("limits."+ref.Name, err)
	}
	// The rule outlives the request, whose text may be a part of something larger.
	rule.Name, rule.Algorithm = strings.Clone(rule.Name), strings.Clone(rule.Algorithm)
	rule.OnUnavailable = Policy(strings.Clone(string(rule.OnUnavailable)))
	return rule, nil
}

// storedLimit is a limit as a document holds it: its name stands before it.
type storedLimit struct {
	Algorithm     string `yaml:"algorithm" json:"algorithm"`
	Capacity      int64  `yaml:"capacity" json:"capacity"`
	Refill        string `yaml:"refill" json:"refill"`
	OnUnavailable Policy `yaml:"on_unavailable" json:"on_unavailable"`
}

func (d *Document) stored() map[string]map[string]storedLimit {
	limits := make(map[string]storedLimit, len(d.rules))
	for name, r := range d.rules {
		limits[name] = storedLimit{r.Algorithm, r.Capacity, r.Refill.String(), r.OnUnavailable}
	}
	return map[string]map[string]storedLimit{"limits": limits}
}

// YAML is the document with every field written out, sorted by name. [ParseDocument] reads it back.
//
// It writes the lines itself: the encoder of YAML takes 15 kilobytes of memory for each limit. What stands in a limit is plain,
// and so is a name that no reader of YAML takes for a number, a truth value or nothing; others are quoted.
func (d *Document) YAML() ([]byte, error) {
	if len(d.names) == 0 {
		return []byte("limits: {}\n"), nil
	}
	var out bytes.Buffer
	out.Grow(usualLimit * len(d.names))
	out.WriteString("limits:\n")
	for _, name := range d.names {
		r := d.rules[name]
		if mayBeMore(name) {
			name = strconv.Quote(name)
		}
		fmt.Fprintf(&out, "  %s:\n    algorithm: %s\n    capacity: %d\n    refill: %s\n    on_unavailable: %s\n",
			name, r.Algorithm, r.Capacity, r.Refill, r.OnUnavailable)
	}
	return out.Bytes(), nil
}

// usualLimit is about how many bytes a limit takes in a document.
const usualLimit = 128

// mayBeMore says whether a reader of YAML may take a name for something else than text.
func mayBeMore(name string) bool {
	switch strings.ToLower(name) {
	case "y", "yes", "n", "no", "true", "false", "on", "off", "null":
		return true
	}
	return name[0] >= '0' && name[0] <= '9'
}

// MarshalJSON is the document as JSON. [ParseDocument] reads it back.
func (d *Document) MarshalJSON() ([]byte, error) { return json.Marshal(d.stored()) }
