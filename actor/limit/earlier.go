package limit

import "maps"

// Shorter says of which limits of a document what was admitted matters for less long in the one that takes its place, see [Rule.Lasting], or which are
// not in it, and how long that was, in nanoseconds. What was reserved by then may lie so far ahead, and replicas that forget it count on the numbers
// that are asked for: see [Document.WithEarlier].
func Shorter(before, after *Document) map[string]int64 {
	shorter := map[string]int64{}
	for name, was := range before.rules {
		is := int64(0)
		if rule := after.rules[name]; rule != nil {
			is = rule.Lasting()
		}
		if is < was.Lasting() {
			shorter[name] = was.Lasting()
		}
	}
	return shorter
}

// ReachOf is how long what an override lets be admitted may matter, in nanoseconds, see [Rule.Lasting]; 0 if that does not follow from its numbers: it
// does not fit the document, denies or lets pass, or its limit has windows.
func (d *Document) ReachOf(o Override) int64 {
	base := d.rules[o.Limit]
	if base == nil {
		return 0
	}
	ready, err := o.Compile(base)
	if err != nil || ready.Verdict != Decides {
		return 0
	}
	return ready.Rule.reach
}

// WithEarlier is the document with limits that have reached further ahead under earlier numbers, by so many nanoseconds. Limits that it
// does not have mean nothing to it.
func (d *Document) WithEarlier(leads map[string]int64) *Document {
	next := *d
	for name, lead := range leads {
		if r := d.rules[name]; r != nil && lead > r.Lasting() {
			at := newChanging(d.overrides[name])
			next.reachFurther(name, at, lead)
			if d.overrides[name] != nil {
				next.overrides = maps.Clone(next.overrides)
				next.overrides[name] = &at.overrides
			}
		}
	}
	return &next
}
