package ring

import "slices"

// replicaScale weighs nodes by their replicas.
func (l *layout) replicaScale(tight bool) *scale {
	return &scale{
		fair:  l.fair,
		load:  func(n int) int { return len(l.holds[n]) },
		tight: tight,
		open: func(from, to int) bool {
			return slices.ContainsFunc(l.holds[from], func(p int) bool { return l.fits(p, to, from) })
		},
		step:  l.handover,
		shift: l.replace,
	}
}

// handover is the partition in which node to should take the place of node from, or none. It prefers one that undoes a move,
// then one where a zone has too many nodes, then one that also evens out owners, then one that spreads backups.
func (l *layout) handover(from, to int) int {
	best, least := none, [4]int{}
	owner := l.owns[from]-l.owns[to] > 1
	for _, p := range l.holds[from] {
		if !l.fits(p, to, from) {
			continue
		}
		cost := [4]int{3: l.company(p, to)}
		if !slices.Contains(l.before[p], to) {
			cost[0]++
		}
		if !slices.Contains(l.before[p], from) {
			cost[0]--
		}
		if !l.crowded(p, from) {
			cost[1]++
		}
		if (l.sets[p][0] == from) != owner {
			cost[2]++
		}
		if best == none || slices.Compare(cost[:], least[:]) < 0 {
			best, least = p, cost
		}
	}
	return best
}

// ownerScale weighs nodes by the partitions that they are the first of.
func (l *layout) ownerScale(tight bool) *scale {
	fair := make([]float64, len(l.zones))
	for n := range fair {
		fair[n] = float64(len(l.sets)) / float64(len(fair))
	}
	return &scale{
		fair:  fair,
		load:  func(n int) int { return l.owns[n] },
		tight: tight,
		open: func(from, to int) bool {
			return slices.ContainsFunc(l.holds[from], func(p int) bool { return l.mayLead(p, from, to) })
		},
		step:  l.promotion,
		shift: func(p, _, to int) { l.lead(p, to) },
	}
}

// mayLead reports whether node to can replace node from as the owner of p.
func (l *layout) mayLead(p, from, to int) bool {
	return l.sets[p][0] == from && slices.Contains(l.sets[p], to)
}

// promotion is the partition whose owner should change from node from to node to, or none. It prefers one whose owner is new
// anyway.
func (l *layout) promotion(from, to int) int {
	best := none
	for _, p := range l.holds[from] {
		if !l.mayLead(p, from, to) {
			continue
		}
		if before := l.before[p]; len(before) == 0 || before[0] != from {
			return p
		}
		if best == none {
			best = p
		}
	}
	return best
}
