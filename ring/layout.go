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
