package history

import (
	"cmp"
	"slices"
)

// counts finds a window of time in which a limit with windows admitted more than it may, counting only checks that lie wholly
// inside the window:
//
//	sliding-window, sliding-log   in any window the limit
//	fixed-window                  in each aligned window the limit
//	weighted                      in each aligned window the limit, in any window less than twice the limit
//
// An admission counts from the end of its call, until a return of it begins that took effect or may have. A reset may add the
// limit to windows that it lies in, or that begin before what was held at the reset is past; one that failed, or was so [Slow] that it
// may have been tried twice, may happen once more at any later time. While a clock is made wrong, what its node holds may be
// spent that much too late: windows that have a part of that time are that much shorter. Where the limit was changed, the
// largest one counts that may have been in force in the window.
func counts(v *view, r *Result) {
	r.Things = "checks"
	for _, b := range v.of(FixedWindow, SlidingWindow, Weighted, SlidingLog) {
		all := b.admissions()
		r.Checked += len(all) + len(b.only(KindHold, Admitted))
		held, beyond := v.heldIn(b)
		all = byEnd(append(all, held...))
		v.inWindows(r, b, all, 0)
		if len(beyond) > 0 {
			v.inWindows(r, b, byEnd(append(all, beyond...)), b.debt())
		}
	}
}

// inWindows counts what was admitted in each window of a limit, in the order in which it was. More may be charged beyond the limit.
func (v *view) inWindows(r *Result, b *bucket, all []*admission, more int64) {
	length, algorithm := b.versions[0].Length, b.versions[0].Algorithm
	if algorithm == Weighted || algorithm == FixedWindow {
		v.count(r, b, v.aligned(b, all), 1, more, func(end int64) int64 { return end - end%length - 1 })
	}
	if algorithm != FixedWindow {
		times := int64(1)
		if algorithm == Weighted {
			times = 2
		}
		since := int64(0)
		v.count(r, b, all, times, more, func(end int64) int64 {
			since = max(since, end-length+2*v.epsilon+v.held(end-length, end))
			return since
		})
	}
}

// An admission is a check that was admitted, and when its return began; forever if it was not returned.
type admission struct {
	*Call
	back    int64
	counted bool
}

// admissions are those of the bucket, in the order in which their calls ended.
func (b *bucket) admissions() []*admission {
	back := map[issue]int64{}
	for _, c := range b.only(KindReturn, Taken, Failed) {
		id := c.Receipt.issue()
		if at, ok := back[id]; !ok || c.Start < at {
			back[id] = c.Start
		}
	}
	var all []*admission
	checks, _ := b.begun()
	for _, c := range checks {
		a := &admission{Call: c, back: forever}
		if c.Receipt != nil {
			if at, ok := back[c.Receipt.issue()]; ok {
				a.back = at
			}
		}
		all = append(all, a)
	}
	return byEnd(all)
}

func byEnd(all []*admission) []*admission {
	slices.SortStableFunc(all, func(a, b *admission) int { return cmp.Compare(a.End, b.End) })
	return all
}

// heldIn are what holds of the bucket take of its windows, and what settlements charge beyond. That is charged to the window in which the
// hold was taken, or of a line, to that of the settlement.
func (v *view) heldIn(b *bucket) (held, beyond []*admission) {
	for _, t := range b.tabs() {
		k := t.charge(b, v.epsilon)
		part := func(cost, back int64) {
			c := *t.hold
			c.Cost = cost
			held = append(held, &admission{Call: &c, back: back})
		}
		part(k.least, forever)
		part(t.hold.Cost-k.least, k.falls)
		if k.more == 0 {
			continue
		}
		if b.versions[0].durable() {
			k.by.Start = t.hold.Start
		}
		beyond = append(beyond, &admission{Call: k.by, back: forever})
	}
	return held, beyond
}

// aligned are the admissions that certainly lie in one of the windows that are aligned.
func (v *view) aligned(b *bucket, all []*admission) []*admission {
	length := b.versions[0].Length
	var some []*admission
	for _, a := range all {
		window := a.End - a.End%length
		off := v.epsilon + v.held(window, window+length)
		if a.Start-off >= window && a.End+off < window+length {
			some = append(some, a)
		}
	}
	return some
}

// count looks at the windows that end with each admission, and reach back to since, which itself is outside. since never goes
// back. The limit, and more, count so many times; several times it must not be reached.
func (v *view) count(r *Result, b *bucket, all []*admission, times, more int64, since func(end int64) int64) {
	byStart, byBack := slices.Clone(all), slices.Clone(all)
	slices.SortStableFunc(byStart, func(a, b *admission) int { return cmp.Compare(a.Start, b.Start) })
	slices.SortStableFunc(byBack, func(a, b *admission) int { return cmp.Compare(a.back, b.back) })
	sum := int64(0)
	drop := func(a *admission) {
		if a.counted {
			sum -= a.Cost
		}
		a.counted = false
	}
	left, returned, resets := 0, 0, b.only(KindReset, Done, Failed)
	for i, last := range all {
		from := since(last.End)
		if last.Start > from && last.back > last.End {
			sum += last.Cost
			last.counted = true
		}
		if i+1 < len(all) && all[i+1].End == last.End {
			continue
		}
		for ; left < len(byStart) && byStart[left].Start <= from; left++ {
			drop(byStart[left])
		}
		for ; returned < len(byBack) && byBack[returned].back <= last.End; returned++ {
			drop(byBack[returned])
		}
		most := times*(b.most(from, last.End)+more) - (times - 1) + b.afresh(resets, from, last.End)
		if sum > most {
			v.found(r, b, inWindow(all[:i+1]), "in the %s from %s on, %d were admitted, and at most %d may be",
				seconds(last.End-from), relative(from, v.start), sum, most)
			break
		}
	}
	for _, a := range all {
		a.counted = false
	}
}

// most is the limit, the largest that may have been in force at some time of a window.
func (b *bucket) most(start, end int64) (most int64) {
	for _, t := range b.inForce(&Call{Start: start, End: end}) {
		most = max(most, t.Capacity)
	}
	return most
}

// afresh is what the resets of the bucket may add to a window.
func (b *bucket) afresh(resets []*Call, start, end int64) (more int64) {
	for _, c := range resets {
		once := b.most(start, end) + b.debt()
		if c.Start <= end && (c.Outcome == Failed || c.End-c.Start > Slow) {
			more += once
		}
		if c.Start <= end && c.Outcome == Done && c.End+b.versions[0].outstanding() >= start {
			more += once
		}
	}
	return more
}

// outstanding is how long after a reset what was held before it may still be admitted, in nanoseconds.
func (t *terms) outstanding() int64 {
	switch t.Algorithm {
	case FixedWindow:
		return t.Length + Ahead
	case Weighted:
		return t.Length
	case SlidingWindow:
		return t.Length / parts
	}
	return 0
}

// inWindow are calls that count: the first and the last.
func inWindow(all []*admission) []*Call {
	var some []*Call
	for _, a := range all {
		if a.counted {
			some = append(some, a.Call)
		}
	}
	if n := len(some); n > 4 {
		some = slices.Concat(some[:2], some[n-2:])
	}
	return some
}
