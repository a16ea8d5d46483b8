package limit

import (
	"cmp"
	"fmt"
	"slices"
)

// maxNamed is how many overrides of a limit a difference names one by one.
const maxNamed = 20

// A variantChange is a plan or an override that differs in two documents: nil where it is not there.
type variantChange struct {
	name          string // "plan pro", or "override org:acme:*"
	before, after *says
}

// says is what a plan or an override says, and the rule that results; no rule for a verdict.
type says struct {
	text string
	rule *Rule
}

// same says whether v and o decide alike.
func (v *variants) same(o *variants) bool {
	for _, list := range [][]variantChange{changedPlans(v, o), changedOverrides(v, o)} {
		if len(list) > 0 {
			return false
		}
	}
	return true
}

// changed are the entries of two lists that differ, sorted by name.
func changed(before, after map[string]*says) (list []variantChange) {
	for name, was := range before {
		is := after[name]
		if is != nil && was.text == is.text && (was.rule == nil || was.rule.alike(is.rule)) {
			continue
		}
		list = append(list, variantChange{name, was, is})
	}
	for name, is := range after {
		if before[name] == nil {
			list = append(list, variantChange{name, nil, is})
		}
	}
	slices.SortFunc(list, func(a, b variantChange) int { return cmp.Compare(a.name, b.name) })
	return list
}

func changedPlans(before, after *variants) []variantChange {
	of := func(v *variants) map[string]*says {
		all := map[string]*says{}
		if v != nil {
			for _, p := range v.plans {
				all["plan "+p.Name] = &says{p.Says, p.Rule}
			}
		}
		return all
	}
	return changed(of(before), of(after))
}

func changedOverrides(before, after *variants) []variantChange {
	of := func(v *variants) map[string]*says {
		all := map[string]*says{}
		if v != nil {
			for _, o := range v.written {
				one := &says{text: o.Says}
				if o.Verdict == Decides {
					one.rule = o.Rule
				}
				all["override "+o.Key] = one
			}
		}
		return all
	}
	return changed(of(before), of(after))
}

// fieldsOfVariants are the plans and overrides of a limit that say something else.
func fieldsOfVariants(name string, before, after *variants) (list []FieldChange) {
	add := func(changes []variantChange) (left int) {
		for _, c := range changes {
			was, is := "", ""
			if c.before != nil {
				was = c.before.text
			}
			if c.after != nil {
				is = c.after.text
			}
			switch {
			case was == is: // the limit itself has changed
			case len(list) == maxNamed:
				left++
			default:
				list = append(list, FieldChange{name, c.name, was, is})
			}
		}
		return left
	}
	if left := add(changedPlans(before, after)); left > 0 {
		list = append(list, FieldChange{name, "plans", "", fmt.Sprintf("%d more that differ", left)})
	}
	plans := list
	list = nil
	if left := add(changedOverrides(before, after)); left > 0 {
		list = append(list, FieldChange{name, "overrides", "", fmt.Sprintf("%d more that differ", left)})
	}
	return slices.Concat(plans, list)
}

// effectsOfVariants says in words what other plans and overrides do to the buckets of a limit that stays.
func effectsOfVariants(old, now *Rule, before, after *variants) (said []string) {
	if now == nil {
		return nil
	}
	for _, c := range changedPlans(before, after) {
		switch {
		case c.before == nil:
			said = append(said, fmt.Sprintf("%s is new: checks that name it go by %s", c.name, c.after.text))
		case c.after == nil:
			said = append(said, c.name+" is removed: checks that name it fail from now on")
		case old.alike(now): // else what happens to buckets is said of the limit
			for _, text := range Effects(c.before.rule, c.after.rule) {
				said = append(said, c.name+": "+text)
			}
		default:
			said = append(said, fmt.Sprintf("%s: from now on %s", c.name, c.after.text))
		}
	}
	if text := ofOverrides(changedOverrides(before, after)); text != "" {
		said = append(said, text)
	}
	return said
}

// ofOverrides is what other overrides do.
func ofOverrides(changes []variantChange) string {
	if len(changes) == 0 {
		return ""
	}
	added, gone := 0, 0
	for _, c := range changes {
		if c.before == nil {
			added++
		}
		if c.after == nil {
			gone++
		}
	}
	return fmt.Sprintf("overrides: %d new, %d changed, %d removed: what the buckets of their keys have spent stays spent, as when the limit itself is changed",
		added, len(changes)-added-gone, gone)
}
