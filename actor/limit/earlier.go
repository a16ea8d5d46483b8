package limit

import "maps"

// Shorter says which limits of a document reach less far ahead in the one that takes its place, or are not in it, and how far that
// was, in nanoseconds. What was reserved by then may lie so far ahead, and replicas that forget it count on the numbers that are asked
// for: see [Document.WithEarlier].
func Shorter(before, after *Document) map[string]int64 {
	shorter := map[string]int64{}
	for name, was := range before.rules {
		is := int64(0)
		if rule := after.rules[name]; rule != nil {
			is = rule.Ahead()
		}
		if is < was.Ahead() { // what counts entries reserves nothing ahead
			shorter[name] = was.Ahead()
		}
	}
	return shorter
}

// ReachOf is how far ahead of now an override lets line of its limit be reserved, in nanoseconds; 0 if none is: it does not fit the
// document, denies or lets pass, or its limit counts entries.
func (d *Document) ReachOf(o Override) int64 {
	base := d.rules[o.Limit]
	if base == nil {
		return 0
	}
	ready, err := o.Compile(base)
	if err != nil || ready.Verdict != Decides {
		return 0
	}
	return ready.Rule.Reach()
}

// WithEarlier is the document with limits that have reached further ahead under earlier numbers, by so many nanoseconds. Limits that it
// does not have mean nothing to it.
func (d *Document) WithEarlier(leads map[string]int64) *Document {
	next := *d
	for name, lead := range leads {
		if r := d.rules[name]; r != nil && lead > r.Ahead() {
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
