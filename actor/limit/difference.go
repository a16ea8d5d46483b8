package limit

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// LeftOut is what stands for the value of a field that a document does not have, and which may have a default.
const LeftOut = "left out"

// Changes are the differences between two documents.
type Changes struct {
	Added, Changed, Removed []string      // names of limits, each list sorted
	Fields                  []FieldChange // of all of them, sorted by limit, in the order of a document
	Effects                 []Effect      // on buckets in use, sorted by limit
}

// Difference is what changes from one document to another.
func Difference(before, after *Document) (c Changes) {
	names := slices.Concat(before.names, after.names)
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		old, was := before.Rule(name)
		now, is := after.Rule(name)
		switch {
		case !was:
			c.Added = append(c.Added, name)
		case !is:
			c.Removed = append(c.Removed, name)
		case old.Limit != now.Limit || !old.alike(now) || !before.variants[name].same(after.variants[name]):
			c.Changed = append(c.Changed, name)
		}
		for _, text := range slices.Concat(Effects(old, now), effectsOfVariants(old, now, before.variants[name], after.variants[name])) {
			c.Effects = append(c.Effects, Effect{name, text})
		}
		values, others := fieldsOf(old), fieldsOf(now)
		for i := range fields {
			if values[i] != others[i] {
				c.Fields = append(c.Fields, FieldChange{name, fields[i].name, values[i], others[i]})
			}
		}
		c.Fields = append(c.Fields, fieldsOfVariants(name, before.variants[name], after.variants[name])...)
	}
	return c
}

// Names are those of all limits that differ, sorted.
func (c *Changes) Names() []string {
	names := slices.Concat(c.Added, c.Changed, c.Removed)
	slices.Sort(names)
	return names
}

// Summary is what changes in a line: the fields of limits that are different, old → new, and the names of those that are new or gone.
func (c *Changes) Summary() string {
	var said []string
	for _, f := range c.Fields {
		if slices.Contains(c.Changed, f.Limit) {
			said = append(said, fmt.Sprintf("%s: %s %s → %s", f.Limit, f.Field, cmp.Or(f.Before, LeftOut), cmp.Or(f.After, LeftOut)))
		}
	}
	if len(c.Added) > 0 {
		said = append(said, "added "+strings.Join(c.Added, ", "))
	}
	if len(c.Removed) > 0 {
		said = append(said, "removed "+strings.Join(c.Removed, ", "))
	}
	return strings.Join(said, "; ")
}

// fieldsOf are the values of fields, all empty without a rule.
func fieldsOf(r *Rule) (values [len(fields)]string) {
	if r != nil {
		for i := range fields {
			values[i] = fields[i].text(&r.Limit)
		}
	}
	return values
}
