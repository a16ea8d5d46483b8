package simulation

import "testing"

// A set of intervals is what a plain set of numbers is.
func TestIntervalsAreSets(t *testing.T) {
	for seed := range uint64(200) {
		d := throw(seed)
		var s intervals
		var plain [60]bool
		for range 80 {
			from := d.below(58)
			to := d.between(from, 59)
			overlaps, covers := false, true
			for x := from + 1; x <= to; x++ {
				overlaps, covers = overlaps || plain[x], covers && plain[x]
			}
			if _, found := s.overlap(from, to); found != overlaps {
				t.Fatalf("seed %d: %v overlaps (%d, %d]: %v", seed, s, from, to, found)
			}
			if got := s.covers(from, to); got != covers {
				t.Fatalf("seed %d: %v covers (%d, %d]: %v", seed, s, from, to, got)
			}
			add := d.percent(50)
			if add {
				s.add(from, to)
			} else if found := s.cut(from, to); found != overlaps {
				t.Fatalf("seed %d: something of (%d, %d] was cut: %v", seed, from, to, found)
			}
			for x := from + 1; x <= to; x++ {
				plain[x] = add
			}
			for i := range s {
				if s[i].from >= s[i].to || i > 0 && s[i-1].to >= s[i].from {
					t.Fatalf("seed %d: %v is not in order", seed, s)
				}
			}
		}
	}
}
