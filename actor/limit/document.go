package limit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/jeton-dev/jeton/internal/spelling"
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
//	  page: {algorithm: fixed-window, limit: 100, window: 1m}
//	  api:
//	    capacity: 100
//	    refill: 10/s
//	    plans: {free: {capacity: 10, refill: 1/s}}
//	    overrides: [{key: "org:acme:*", capacity: 500}, {key: "user:7", deny: true}]
type Document struct {
	rules     map[string]*Rule
	names     []string              // sorted
	variants  map[string]*variants  // by limit; none for a limit without
	overrides map[string]*overrides // by limit: those of the text, and those of the cluster
	written   int                   // how many plans and overrides were read
	gauges    int                   // of all limits that were read
}

// maxVariants is how many plans and overrides a document has in all: more than its text can spell out, which has 1 MiB. Aliases may
// multiply what is written once.
const maxVariants = 50_000

// another counts a plan or an override that is read.
func (d *Document) another(path string, n *yaml.Node) error {
	if d.written++; d.written > maxVariants {
		return at(n, path, fmt.Sprintf("is one of more than %d plans and overrides of the document, those counted that aliases repeat: use fewer aliases, or set overrides live", maxVariants))
	}
	return nil
}

// NewDocument is the document of these limits, whose names differ. Its errors are *FieldError.
func NewDocument(limits ...Limit) (*Document, error) {
	d := &Document{rules: make(map[string]*Rule, len(limits))}
	for _, l := range limits {
		rule, err := l.Rule()
		if err != nil {
			return nil, under("limits."+l.Name, err)
		}
		if err := d.gauge(&l); err != nil {
			return nil, under("limits."+l.Name, err)
		}
		if _, twice := d.rules[l.Name]; twice {
			return nil, &FieldError{Field: "limits." + l.Name, Problem: "is defined twice"}
		}
		d.rules[l.Name] = rule
	}
	d.names = slices.Sorted(maps.Keys(d.rules))
	return d, nil
}

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
	for _, from := range []*Document{d, other} {
		for name, v := range from.variants {
			if both.rules[name] == from.rules[name] {
				both.vary(name, v)
			}
		}
	}
	return both
}

// vary gives a limit of a document that is being made its variants. All rules of the limit get to know the longest reach of them.
func (d *Document) vary(name string, v *variants) {
	base, lead := d.rules[name], int64(0)
	for _, p := range v.plans {
		lead = max(lead, p.Rule.Lasting())
	}
	for _, o := range v.written {
		lead = max(lead, o.Rule.Lasting())
	}
	v = v.leading(lead)
	d.rules[name] = base.leading(max(lead, base.Lasting()))
	if d.variants == nil {
		d.variants = map[string]*variants{}
	}
	d.variants[name] = v
	if len(v.written) == 0 {
		return
	}
	all := newChanging(nil)
	for _, o := range v.written {
		all.put(o.Key, o)
	}
	all.order()
	if d.overrides == nil {
		d.overrides = map[string]*overrides{}
	}
	d.overrides[name] = &all.overrides
}

// Rules are all stored limits, sorted by name.
func (d *Document) Rules() []*Rule {
	rules := make([]*Rule, len(d.names))
	for i, name := range d.names {
		rules[i] = d.rules[name]
	}
	return rules
}

// Len is how many limits are stored.
func (d *Document) Len() int { return len(d.names) }

// mostCompared is with how many stored limits an unknown name is compared: with all of many, a check of an unknown limit would take much
// more time than a decision does.
const mostCompared = 256

// Near is the name of the stored limit that was probably meant by an unknown one; empty if there is none, or if many limits are stored.
func (d *Document) Near(unknown string) string {
	if d.Len() > mostCompared {
		return ""
	}
	return spelling.Near(unknown, d.names)
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
	return rule, nil
}

// stored are the limits by their names, each without its own.
func (d *Document) stored() map[string]map[string]varyingJSON {
	limits := make(map[string]varyingJSON, len(d.rules))
	for name, r := range d.rules {
		in := varyingJSON{limitJSON: r.Limit.form()}
		in.Name = ""
		d.variants[name].addTo(&in)
		limits[name] = in
	}
	return map[string]map[string]varyingJSON{"limits": limits}
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
		writeLine(&out, "  ", name, ":", "")
		for i := range fields {
			if text := fields[i].text(&r.Limit); text != "" {
				writeLine(&out, "    ", fields[i].name, ": ", text)
			}
		}
		d.variants[r.Name].write(&out)
	}
	return out.Bytes(), nil
}

// MarshalJSON is the document as JSON. [ParseDocument] reads it back, which takes JSON for YAML: what YAML does not allow as it is, the key of an
// override may have, and is escaped.
func (d *Document) MarshalJSON() ([]byte, error) {
	text, err := json.Marshal(d.stored())
	if err != nil || !bytes.ContainsFunc(text, isUnprintable) {
		return text, err
	}
	escaped := make([]byte, 0, len(text)+usualLimit)
	for _, r := range string(text) {
		if isUnprintable(r) {
			escaped = fmt.Appendf(escaped, `\u%04x`, r)
		} else {
			escaped = utf8.AppendRune(escaped, r)
		}
	}
	return escaped, nil
}

// isUnprintable says whether YAML 1.2 (section 5.1) allows r in no text, or takes it for a line break or a mark of its own. JSON allows it, and
// has escaped all that lie before.
func isUnprintable(r rune) bool {
	return r >= 0x7f && r <= 0x9f || r == 0xfeff || r == 0xfffe || r == 0xffff
}
