package simulate

// byTime is a heap of checks: the first one is the earliest; of one time, the one that stands first in its log.
type byTime []check

// before says whether the check at i comes before the one at j.
func (h byTime) before(i, j int) bool {
	return h[i].at < h[j].at || h[i].at == h[j].at && h[i].line < h[j].line
}

// push adds a check.
func (h *byTime) push(c check) {
	*h = append(*h, c)
	all := *h
	for at := len(all) - 1; at > 0; {
		above := (at - 1) / 2
		if !all.before(at, above) {
			return
		}
		all[at], all[above] = all[above], all[at]
		at = above
	}
}

// pop removes the earliest check, of one or more.
func (h *byTime) pop() check {
	all := *h
	first, last := all[0], len(all)-1
	all[0] = all[last]
	all = all[:last]
	for at := 0; ; {
		least := at
		for below := 2*at + 1; below <= 2*at+2 && below < last; below++ {
			if all.before(below, least) {
				least = below
			}
		}
		if least == at {
			break
		}
		all[at], all[least] = all[least], all[at]
		at = least
	}
	*h = all
	return first
}
