package limit

import (
	"slices"
	"strconv"
)

// Changes are the differences between two documents.
type Changes struct {
	Added, Changed, Removed []string      // names of limits, each list sorted
	Fields                  []FieldChange // of all of them, sorted by limit, in the order of a document
}

// A FieldChange is a field of a limit, as a document writes it, with its old value (empty for a new limit) and its new value (empty
// for a removed limit).
type FieldChange struct{ Limit, Field, Before, After string }

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
		case *old != *now:
			c.Changed = append(c.Changed, name)
		}
		values, others := fieldsOf(old), fieldsOf(now)
		for i, field := range limitFields {
			if values[i] != others[i] {
				c.Fields = append(c.Fields, FieldChange{name, field, values[i], others[i]})
			}
		}
	}
	return c
}

// Names are those of all limits that differ, sorted.
func (c *Changes) Names() []string {
	names := slices.Concat(c.Added, c.Changed, c.Removed)
	slices.Sort(names)
	return names
}

// fieldsOf are the values of limitFields, all empty without a rule.
func fieldsOf(r *Rule) (values [4]string) {
	if r != nil {
		values = [4]string{r.Algorithm, strconv.FormatInt(r.Capacity, 10), r.Refill.String(), string(r.OnUnavailable)}
	}
	return values
}
