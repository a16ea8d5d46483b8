package limit

import (
	"cmp"
	"slices"
	"strconv"
)

// A Difference is what one limit is in two documents, before and after.
type Difference struct {
	Limit         string
	Before, After *Rule // nil where the document does not have it
}

// Differences are the limits in which two documents differ, sorted by name.
func Differences(before, after *Document) []Difference {
	var all []Difference
	for _, r := range after.Rules() {
		if old, ok := before.Rule(r.Name); !ok || *old != *r {
			all = append(all, Difference{Limit: r.Name, Before: old, After: r})
		}
	}
	for _, r := range before.Rules() {
		if _, ok := after.Rule(r.Name); !ok {
			all = append(all, Difference{Limit: r.Name, Before: r})
		}
	}
	slices.SortFunc(all, func(a, b Difference) int { return cmp.Compare(a.Limit, b.Limit) })
	return all
}

// A FieldDifference is a field of a limit as documents write it; empty where the limit is missing.
type FieldDifference struct{ Field, Before, After string }

// Fields are the fields in which the limit differs, in the order of a document.
func (d Difference) Fields() []FieldDifference {
	var all []FieldDifference
	before, after := fieldsOf(d.Before), fieldsOf(d.After)
	for i, field := range limitFields {
		if before[i] != after[i] {
			all = append(all, FieldDifference{Field: field, Before: before[i], After: after[i]})
		}
	}
	return all
}

// fieldsOf are the values of limitFields, all empty without a rule.
func fieldsOf(r *Rule) (values [4]string) {
	if r != nil {
		values = [4]string{r.Algorithm, strconv.FormatInt(r.Capacity, 10), r.Refill.String(), string(r.OnUnavailable)}
	}
	return values
}
