package ring

import "slices"

// A layout is an assignment under construction. It numbers nodes by the order of their ids among the members.
type layout struct {
	zones    []int     // by node
	limit    int       // replicas of one partition that are placed in one zone, at most
	fair     []float64 // by node: the replicas that it should have
	replicas int       // of each partition, in the end

	before [][]int // by partition: the set at the start; does not change
	sets   [][]int // by partition: the present set, the owner first

	// Derived from sets, maintained by put.
	holds    [][]int // by node: its partitions, ascending
	owns     []int   // by node: how many partitions it is the first of
	together [][]int // by two nodes: how many partitions both have
}

func newLayout(members []Member, partitions, replicas int) *layout {
	zones, sizes := numberZones(members)
	l := &layout{
		zones:    zones,
		limit:    zoneLimit(sizes, len(members), replicas),
		fair:     fairShares(zones, sizes, partitions, replicas),
		replicas: replicas,
		before:   make([][]int, partitions),
		sets:     make([][]int, partitions),
		holds:    make([][]int, len(members)),
		owns:     make([]int, len(members)),
		together: make([][]int, len(members)),
	}
	for n := range l.together {
		l.together[n] = make([]int, len(members))
	}
	return l
}

// put sets the replica set of partition p. All changes go through it.
func (l *layout) put(p int, set []int) {
	old := l.sets[p]
	l.sets[p] = set
	if len(old) > 0 {
		l.owns[old[0]]--
	}
	if len(set) > 0 {
		l.owns[set[0]]++
	}
	for _, n := range old {
		if !slices.Contains(set, n) {
			at, _ := slices.BinarySearch(l.holds[n], p)
			l.holds[n] = slices.Delete(l.holds[n], at, at+1)
		}
		l.meet(n, old, -1)
	}
	for _, n := range set {
		if !slices.Contains(old, n) {
			at, _ := slices.BinarySearch(l.holds[n], p)
			l.holds[n] = slices.Insert(l.holds[n], at, p)
		}
		l.meet(n, set, +1)
	}
}

// meet counts the partition that n shares with the others of a set.
func (l *layout) meet(n int, set []int, by int) {
	for _, other := range set {
		if other != n {
			l.together[n][other] += by
		}
	}
}

// replace puts node to in the place of node from in p.
func (l *layout) replace(p, from, to int) {
	set := slices.Clone(l.sets[p])
	set[slices.Index(set, from)] = to
	l.put(p, set)
}

// lead makes node n the owner of p. The others keep their order, so that the former owner comes second.
func (l *layout) lead(p, n int) {
	set := []int{n}
	for _, other := range l.sets[p] {
		if other != n {
			set = append(set, other)
		}
	}
	l.put(p, set)
}

// none is the number of no node.
const none = -1

// fits reports whether node n may join partition p once node without (or none) has left it.
func (l *layout) fits(p, n, without int) bool {
	inZone := 0
	for _, other := range l.sets[p] {
		switch {
		case other == n:
			return false
		case other != without && l.zones[other] == l.zones[n]:
			inZone++
		}
	}
	return inZone < l.limit
}

// crowded reports whether p has too many nodes of the zone of n.
func (l *layout) crowded(p, n int) bool {
	inZone := 0
	for _, other := range l.sets[p] {
		if l.zones[other] == l.zones[n] {
			inZone++
		}
	}
	return inZone > l.limit
}

// company is how many partitions node n already shares with the nodes of p. Low numbers spread the backups of each owner over
// all other nodes.
func (l *layout) company(p, n int) int {
	sum := 0
	for _, other := range l.sets[p] {
		sum += l.together[n][other]
	}
	return sum
}

// excess is how many replicas node n has beyond its fair share; negative if it has fewer.
func (l *layout) excess(n int) float64 { return float64(len(l.holds[n])) - l.fair[n] }

// neediest is the node with the fewest replicas, relative to its fair share, among those that may join p once node without
// (or none) has left it; among equals, the one with the least company in p.
func (l *layout) neediest(p, without int) int {
	best := none
	for n := range l.zones {
		if !l.fits(p, n, without) {
			continue
		}
		if best == none || l.excess(n) < l.excess(best) ||
			l.excess(n) == l.excess(best) && l.company(p, n) < l.company(p, best) {
			best = n
		}
	}
	return best
}

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
