package history

import (
	"fmt"
	"slices"
)

// alive finds keys that are stuck once everything has been made whole again. After the last mark of that, or from the
// beginning if there were no faults, a key that is asked for during [Fade] or longer must be decided. And it must be admitted
// once its bucket is full:
// when it was asked for nothing but quick checks that were denied, and nothing was admitted, for longer than the bucket takes
// to fill and what went before takes to fade (see [Fade]). After faults without such a mark nothing is known.
func alive(v *view, r *Result) {
	r.Things = "keys"
	healed, faults := v.start, false
	for _, f := range v.Faults {
		if f.Healed() {
			healed = max(healed, f.End)
		}
	}
	for _, f := range v.Faults {
		faults = faults || !f.Healed() && (f.End > healed || healed == v.start)
	}
	if faults {
		r.Unknown = len(v.buckets)
		r.Note = "a fault was never marked as healed"
		return
	}
	for _, b := range v.buckets {
		asked, decided := 0, 0
		var first, last *Call
		for _, c := range b.calls {
			if c.Kind != KindCheck || c.Start < healed {
				continue
			}
			asked++
			if c.Outcome != Failed {
				decided++
			}
			if first == nil {
				first = c
			}
			last = c
		}
		switch {
		case asked == 0, decided == 0 && last.End-first.Start < Fade:
			r.Unknown++
			continue
		case decided == 0:
			v.found(r, b, []*Call{last}, "none of %d checks was decided after all faults had been healed", asked)
		default:
			if c := b.stuck(healed); c != nil && !b.takesHolds() {
				v.found(r, b, []*Call{c}, "a check is denied although no check was admitted for %s", seconds(b.largest()+Fade))
			}
		}
		r.Checked++
	}
	if r.Unknown > 0 {
		r.Note = fmt.Sprintf("%d keys were not asked for again, or not for long", r.Unknown)
	}
}

// stuck is a check that is denied although the bucket must be full, or nil.
func (b *bucket) stuck(healed int64) *Call {
	fill := b.largest() + Fade
	full := healed + fill // if nothing happens until then
	smallest := b.versions[0].Capacity
	for _, t := range b.versions {
		smallest = min(smallest, t.Capacity)
	}
	for i, c := range b.calls {
		switch {
		case c.End < healed:
		case !c.quicklyDenied():
			full = max(full, c.End+fill)
		case c.Cost <= smallest && c.Start > full && !slices.ContainsFunc(b.during(i), func(o *Call) bool { return !o.quicklyDenied() }):
			return c
		}
	}
	return nil
}

// during are the calls that began after the i-th one, and before it ended.
func (b *bucket) during(i int) []*Call {
	n := i + 1
	for n < len(b.calls) && b.calls[n].Start <= b.calls[i].End {
		n++
	}
	return b.calls[i+1 : n]
}

// quicklyDenied says whether c is a check that was certainly tried once, and denied.
func (c *Call) quicklyDenied() bool {
	return c.Kind == KindCheck && c.Outcome == Denied && c.End-c.Start <= Slow
}
