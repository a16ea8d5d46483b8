package limit

import (
	"fmt"
	"strings"
)

// NoEffect is why an override that operators have set has no effect under the document; empty where it has one.
func (d *Document) NoEffect(o Override) string {
	base := d.rules[o.Limit]
	if base == nil {
		return Quote(o.Limit) + " is no stored limit"
	}
	if _, err := o.Compile(base); err != nil {
		return err.Error()
	}
	return ""
}

// EffectsOnOverrides says in words which overrides that operators have set have an effect under one document and none under the other.
// Those of one limit stand side by side.
func EffectsOnOverrides(before, after *Document, set []Override) (said []Effect) {
	for len(set) > 0 {
		name, n := set[0].Limit, 1
		for n < len(set) && set[n].Limit == name {
			n++
		}
		old, now := before.rules[name], after.rules[name]
		if old != nil && now != nil && !old.alike(now) || (old == nil) != (now == nil) {
			said = append(said, effectsOn(before, after, set[:n])...)
		}
		set = set[n:]
	}
	return said
}

// effectsOn is EffectsOnOverrides for those of one limit.
func effectsOn(before, after *Document, set []Override) (said []Effect) {
	type whys struct{ before, after string }
	var ends, begins fewOverrides
	known := map[string]whys{} // by what an override says: many say the same
	for _, o := range set {
		why, seen := known[o.Says]
		if !seen {
			why = whys{before.NoEffect(o), after.NoEffect(o)}
			known[o.Says] = why
		}
		switch {
		case why.before == "" && why.after != "":
			ends.add(o, " ("+why.after+")")
		case why.before != "" && why.after == "":
			begins.add(o, "")
		}
	}
	if ends.count > 0 {
		said = append(said, Effect{set[0].Limit, fmt.Sprintf("live overrides that have no effect from now on: %s: set them again with numbers that fit, or unset them", &ends)})
	}
	if begins.count > 0 {
		said = append(said, Effect{set[0].Limit, fmt.Sprintf("live overrides that have an effect again: %s", &begins)})
	}
	return said
}

// fewOverrides counts overrides, and names the first of them.
type fewOverrides struct {
	count int
	first []string
}

// maxNamedLive is how many overrides fewOverrides names.
const maxNamedLive = 3

func (n *fewOverrides) add(o Override, why string) {
	if n.count++; n.count <= maxNamedLive {
		n.first = append(n.first, o.Says+" for "+Quote(o.Key)+why)
	}
}

func (n *fewOverrides) String() string {
	said := fmt.Sprintf("%d, %s", n.count, strings.Join(n.first, ", "))
	if more := n.count - len(n.first); more > 0 {
		said += fmt.Sprintf(" and %d more: jeton limits override list shows all", more)
	}
	return said
}
