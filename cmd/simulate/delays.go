package simulate

import "time"

// Delays counts checks by how long they would have been delayed, in whole milliseconds, rounded up.
type delays []int64

// add counts one check.
func (d *delays) add(wait time.Duration) {
	at := int((wait + time.Millisecond - 1) / time.Millisecond)
	for at >= len(*d) {
		*d = append(*d, 0)
	}
	(*d)[at]++
}

// result is nil if no check may wait.
func (d delays) result(longest time.Duration) *Delay {
	if longest == 0 {
		return nil
	}
	r := &Delay{}
	for _, n := range d {
		r.Checks += n
	}
	for _, q := range []struct {
		rank int64
		to   *Step
	}{{(r.Checks + 1) / 2, &r.Median}, {(r.Checks*99 + 99) / 100, &r.P99}, {r.Checks, &r.Longest}} {
		*q.to = d.ranked(q.rank)
	}
	return r
}

// ranked is the delay of the n-th of all, the shortest first, from 1 on.
func (d delays) ranked(n int64) Step {
	for ms, count := range d {
		if n -= count; n <= 0 && count > 0 {
			return Step(time.Duration(ms) * time.Millisecond)
		}
	}
	return 0
}
