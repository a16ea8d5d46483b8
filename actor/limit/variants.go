package limit

import (
	"bytes"
	"strconv"
	"strings"
)

// variants are what a document says in the place of a limit's own numbers. They never change.
type variants struct {
	plans   []*Plan       // sorted by name
	written []*Overriding // in the order of the text
}

// leading is v with rules of that longest reach.
func (v *variants) leading(lead int64) *variants {
	if v == nil {
		return nil
	}
	next, rules := &variants{}, leader(lead)
	for _, p := range v.plans {
		other := *p
		other.Rule = rules(p.Rule)
		next.plans = append(next.plans, &other)
	}
	for _, o := range v.written {
		other := *o
		other.Rule = rules(o.Rule)
		next.written = append(next.written, &other)
	}
	return next
}

// leader makes rules of that longest reach, one of each.
func leader(lead int64) func(*Rule) *Rule {
	made := map[*Rule]*Rule{}
	return func(r *Rule) *Rule {
		if made[r] == nil {
			made[r] = r.leading(lead)
		}
		return made[r]
	}
}

// write writes the fields plans and overrides of a limit, as [Document.YAML] does.
func (v *variants) write(out *bytes.Buffer) {
	if v == nil {
		return
	}
	if len(v.plans) > 0 {
		writeLine(out, "    plans:")
	}
	for _, p := range v.plans {
		name := p.Name
		if needsQuotes(name) {
			name = strconv.Quote(name)
		}
		writeLine(out, "      ", name, ": {", p.Says, "}")
	}
	if len(v.written) > 0 {
		writeLine(out, "    overrides:")
	}
	for _, o := range v.written {
		writeLine(out, "      - {key: ", strconv.Quote(o.Key), ", ", o.yaml(), "}")
	}
}

// yaml is what the override says, as fields of a document.
func (o *Overriding) yaml() string {
	if o.Verdict == Decides {
		return o.Says
	}
	return o.Says + ": true"
}

// A planJSON is the JSON form of the numbers of a plan, and an overrideJSON that of an override in a document.
type (
	planJSON struct {
		Capacity *int64  `json:"capacity,omitempty"`
		Limit    *int64  `json:"limit,omitempty"`
		Refill   *Refill `json:"refill,omitempty"`
	}
	overrideJSON struct {
		Key string `json:"key"`
		planJSON

		Deny  bool `json:"deny,omitempty"`
		Allow bool `json:"allow,omitempty"`
	}
)

// formOf is what numbers replace, of the limit that results.
func formOf(says string, l *Limit) (p planJSON) {
	for said := range strings.SplitSeq(says, ", ") {
		switch name, _, _ := strings.Cut(said, ":"); name {
		case "capacity":
			p.Capacity = &l.Capacity
		case "limit":
			p.Limit = &l.Capacity
		case "refill":
			p.Refill = &l.Refill
		}
	}
	return p
}

// A varyingJSON is the JSON form of a limit of a document.
type varyingJSON struct {
	limitJSON

	Plans     map[string]planJSON `json:"plans,omitempty"`
	Overrides []overrideJSON      `json:"overrides,omitempty"`
}

// addTo adds the variants to the JSON form of their limit.
func (v *variants) addTo(in *varyingJSON) {
	if v == nil {
		return
	}
	for _, p := range v.plans {
		if in.Plans == nil {
			in.Plans = map[string]planJSON{}
		}
		in.Plans[p.Name] = formOf(p.Says, &p.Rule.Limit)
	}
	for _, o := range v.written {
		form := overrideJSON{Key: o.Key, Deny: o.Verdict == Denies, Allow: o.Verdict == Passes}
		if o.Verdict == Decides {
			form.planJSON = formOf(o.Says, &o.Rule.Limit)
		}
		in.Overrides = append(in.Overrides, form)
	}
}
