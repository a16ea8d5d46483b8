package history

import (
	"cmp"
	"slices"
)

// Fade is how long after a fault, in nanoseconds, a bucket may still be stricter than it was, beyond the time that it takes
// to fill: a replica that cannot prove what it knew assumes the worst up to its clock, and clocks are apart.
const Fade = int64(2e9)

// Slow is how long a call may take, in nanoseconds, for it to be certain that it was tried once: a client that waits longer
// asks a second node, and the check may be charged twice.
const Slow = int64(40e6)

// stretches are pieces of time, in order, that do not touch. A Span here takes in both ends.
type stretches []Span

// merge is the union of pieces of time in any order.
func merge(pieces []Span) stretches {
	slices.SortFunc(pieces, func(a, b Span) int { return cmp.Compare(a.Start, b.Start) })
	var all stretches
	for _, p := range pieces {
		if n := len(all); n > 0 && p.Start <= all[n-1].End {
			all[n-1].End = max(all[n-1].End, p.End)
			continue
		}
		all = append(all, p)
	}
	return all
}

// meets says whether any of s lies in the time from start to end.
func (s stretches) meets(start, end int64) bool {
	i, _ := slices.BinarySearchFunc(s, start, func(p Span, t int64) int { return cmp.Compare(p.End, t) })
	return i < len(s) && s[i].Start <= end
}

// gaps are what lies between s, from start to end.
func (s stretches) gaps(start, end int64) []Span {
	var free []Span
	for _, p := range s {
		if p.Start > start {
			free = append(free, Span{start, min(p.Start-1, end)})
		}
		start = max(start, p.End+1)
	}
	if start <= end {
		free = append(free, Span{start, end})
	}
	return slices.DeleteFunc(free, func(p Span) bool { return p.End < p.Start })
}

// faulty is when the buckets of a limit may have been stricter because of the faults, or the limit was being changed. fill is
// how long they take to fill.
func (v *view) faulty(b *bucket) stretches {
	fill := b.largest()
	pieces := v.changes(b, fill)
	for _, f := range v.Faults {
		if !f.Healed() {
			pieces = append(pieces, Span{f.Start, f.End + fill + Fade})
		}
	}
	return merge(pieces)
}

func (v *view) changes(b *bucket, fill int64) []Span {
	var pieces []Span
	for _, t := range b.versions[1:] {
		pieces = append(pieces, Span{t.from, t.sure + fill + Fade})
	}
	return pieces
}

// troubled is when a bucket may have been stricter: because of the faults, or of a call of its own that failed or was slow.
// faulty is what is known of the faults.
func (b *bucket) troubled(faulty stretches) stretches {
	pieces := slices.Clone([]Span(faulty))
	for _, c := range b.calls {
		if c.Outcome == Failed || c.End-c.Start > Slow {
			pieces = append(pieces, Span{c.Start, c.End + b.largest() + Fade})
		}
	}
	return merge(pieces)
}

// perLimit tells f's answer for the buckets of each limit, and asks for it once.
func perLimit(f func(*bucket) stretches) func(*bucket) stretches {
	known := map[string]stretches{}
	return func(b *bucket) stretches {
		name := b.versions[0].Name
		s, ok := known[name]
		if !ok {
			s = f(b)
			known[name] = s
		}
		return s
	}
}
