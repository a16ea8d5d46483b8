package limit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// A Document is the set of stored limits, immutable once read. The zero value has none. It is written in YAML; JSON is a subset
// of that:
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

// limitFields are the fields of a limit in a document.
var limitFields = []string{"algorithm", "capacity", "refill", "on_unavailable"}

// Rule is the stored limit with that name.
func (d *Document) Rule(name string) (*Rule, bool) {
	r, ok := d.rules[name]
	return r, ok
}

// With is the union of both documents. Where both have a limit of the same name, the one of other counts.
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

// Resolve finds the rule of ref: that of a stored limit, or of the limit that ref defines. The error is ErrUnknownLimit, or a
// *FieldError for a definition that is wrong or has the name of a stored limit.
func (d *Document) Resolve(ref Ref) (*Rule, error) {
	stored, ok := d.rules[ref.Name]
	switch {
	case ref.Inline == nil && ok:
		return stored, nil
	case ref.Inline == nil:
		return nil, fmt.Errorf("%w %s", ErrUnknownLimit, Quote(ref.Name))
	case ok:
		return nil, &FieldError{Field: "limits." + ref.Name, Problem: "is a stored limit: send only its name, or give your own limit another name"}
	}
	rule, err := ref.inlineRule()
	if err != nil {
		return nil, under("limits."+ref.Name, err)
	}
	// The rule outlives the request, whose strings may be slices of a larger buffer: copy them, so that the buffer can be freed.
	rule.Name, rule.Algorithm = strings.Clone(rule.Name), strings.Clone(rule.Algorithm)
	rule.OnUnavailable = Policy(strings.Clone(string(rule.OnUnavailable)))
	return rule, nil
}

// storedLimit is a limit as an entry of a document, without its name, which is the entry's key.
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
// It does not use the YAML encoder, which takes 15 kilobytes of memory for each limit. Field values need no quotes. A name needs
// them only if YAML would read it as a number, a boolean or null.
func (d *Document) YAML() ([]byte, error) {
	if len(d.names) == 0 {
		return []byte("limits: {}\n"), nil
	}
	var out bytes.Buffer
	out.Grow(usualLimit * len(d.names))
	out.WriteString("limits:\n")
	for _, name := range d.names {
		r := d.rules[name]
		if needsQuotes(name) {
			name = strconv.Quote(name)
		}
		fmt.Fprintf(&out, "  %s:\n    algorithm: %s\n    capacity: %d\n    refill: %s\n    on_unavailable: %s\n",
			name, r.Algorithm, r.Capacity, r.Refill, r.OnUnavailable)
	}
	return out.Bytes(), nil
}

// usualLimit is about how many bytes a limit takes in a document.
const usualLimit = 128

// needsQuotes says whether a YAML decoder may read a name as something other than a string.
func needsQuotes(name string) bool {
	switch strings.ToLower(name) {
	case "y", "yes", "n", "no", "true", "false", "on", "off", "null":
		return true
	}
	return name[0] >= '0' && name[0] <= '9'
}

// MarshalJSON is the document as JSON. [ParseDocument] reads it back.
func (d *Document) MarshalJSON() ([]byte, error) { return json.Marshal(d.stored()) }
