package limit

import (
	"maps"
	"math/bits"
	"slices"
)

// An OverrideChange is an override that is set, or, where it is nil, the one of that limit and key that is gone.
type OverrideChange struct {
	Limit, Key string
	Set        *Override
}

// WithOverrides is the document with overrides changed. It copies what the changes touch, and no more. Overrides that do not fit the
// document, because their limit is not there or takes no such numbers, have no effect; the errors say which those are.
func (d *Document) WithOverrides(changes []OverrideChange) (*Document, []error) {
	next := &Document{rules: d.rules, names: d.names, variants: d.variants, overrides: maps.Clone(d.overrides)}
	if next.overrides == nil {
		next.overrides = map[string]*overrides{}
	}
	var problems []error
	mine, leads := map[string]*changing{}, map[string]int64{}
	for _, c := range changes {
		base := d.rules[c.Limit]
		if base == nil {
			if c.Set != nil {
				problems = append(problems, &FieldError{Field: "overrides", Problem: Quote(c.Limit) + " is no stored limit"})
			}
			continue
		}
		at := mine[c.Limit]
		if at == nil {
			at = newChanging(d.overrides[c.Limit])
			mine[c.Limit], next.overrides[c.Limit] = at, &at.overrides
		}
		var ready *Overriding
		if c.Set != nil {
			var err error
			if ready, err = c.Set.Compile(base); err != nil {
				problems = append(problems, under("overrides."+c.Limit, err))
			} else {
				share(at.rules, ready)
				leads[c.Limit] = max(leads[c.Limit], ready.Rule.Lasting())
			}
		}
		at.put(c.Key, ready)
	}
	for name, at := range mine {
		at.order()
		if leads[name] > d.rules[name].Lasting() {
			next.reachFurther(name, at, leads[name])
		}
	}
	return next, problems
}

// reachFurther makes all rules of a limit know of numbers that reach further than any of them did: those of an override, or earlier ones.
// They go on to count when the override is gone, as long as the document stays, and then as [Document.WithEarlier]: line that was
// reserved by it may still be held. The reach is rounded up to a power of two, so that many overrides, each larger than the last, are not as
// many walks through all of them.
func (d *Document) reachFurther(name string, at *changing, lead int64) {
	lead = 1 << bits.Len64(uint64(lead-1))
	d.rules = maps.Clone(d.rules)
	d.rules[name] = d.rules[name].leading(lead)
	if v := d.variants[name]; v != nil {
		d.variants = maps.Clone(d.variants)
		d.variants[name] = v.leading(lead)
	}
	at.lead(lead)
}

// Override is the override of a stored limit that counts for a key; nil if there is none. Now is the clock.
func (d *Document) Override(name, key string, now func() int64) *Overriding {
	if o := d.overrides[name]; o != nil {
		return o.find(key, now)
	}
	return nil
}

// Written are the overrides that stand in the document itself, of a stored limit, in the order of the text.
func (d *Document) Written(name string) []*Overriding {
	if v := d.variants[name]; v != nil {
		return v.written
	}
	return nil
}

// HasWritten says whether an override of a stored limit for a key, or for keys that begin alike, stands in the document itself.
func (d *Document) HasWritten(name, pattern string) bool {
	return slices.ContainsFunc(d.Written(name), func(o *Overriding) bool { return o.Key == pattern })
}

// DecidedBy is the rule by which an outcome about a key was decided. It is nil if the document does not have it, as with an override
// that the cluster has and the document does not.
func (d *Document) DecidedBy(o *Outcome, key string) *Rule {
	switch {
	case o.Override != "":
		if over := d.Override(o.Name, key, func() int64 { return 0 }); over != nil && over.Text == o.Override {
			return over.Rule
		}
		return nil
	case o.Plan != "":
		if p, ok := d.Plan(o.Name, o.Plan); ok {
			return p.Rule
		}
		return nil
	}
	return d.rules[o.Name]
}

// HasOverrides says whether there are any.
func (d *Document) HasOverrides() bool { return len(d.overrides) > 0 }
