package history

import (
	"cmp"
	"slices"
)

// MaxWait is the longest wait of a check, in nanoseconds: 30 s.
const MaxWait = int64(30e9)

// begun are the checks that were admitted, each from when to when its caller may have begun, in the order of these times. A caller that
// gave its place back before it certainly could begin never does: its check is not among them, and what it gave back is in left.
func (b *bucket) begun() (checks []*Call, left map[issue]bool) {
	if b.wait == 0 {
		return b.admitted(), nil
	}
	back := map[issue]int64{}
	for _, c := range b.only(KindReturn, Taken, Failed) {
		id := c.Receipt.issue()
		if at, ok := back[id]; !ok || c.Start < at {
			back[id] = c.Start
		}
	}
	left = map[issue]bool{}
	for _, c := range b.admitted() {
		if c.Wait == 0 {
			checks = append(checks, c)
			continue
		}
		later := *c
		later.Start, later.End = c.Start+c.Wait, c.End+c.Wait
		if c.Receipt != nil {
			if at, ok := back[c.Receipt.issue()]; ok && at < later.End {
				left[c.Receipt.issue()] = true
				continue
			}
		}
		checks = append(checks, &later)
	}
	slices.SortStableFunc(checks, func(a, b *Call) int { return cmp.Compare(a.Start, b.Start) })
	return checks, left
}
