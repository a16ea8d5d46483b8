package ring

import (
	"maps"
	"slices"

	"github.com/buraksezer/consistent"
	"github.com/cespare/xxhash/v2"
)

// spreadPoints is how many points each node has on the circle of consistent hashing.
const spreadPoints = 20

// spreadLoad bounds the load there, in means. Below 1.25 the library may panic.
const spreadLoad = 1.25

// xxhash64 is the hash that consistent places by.
type xxhash64 struct{}

func (xxhash64) Sum64(data []byte) uint64 { return xxhash.Sum64(data) }

// propose gives every partition of a new cluster its owner, by consistent hashing.
func (l *layout) propose(members []Member) {
	circle := make([]consistent.Member, 0, len(members))
	numbers := make(map[consistent.Member]int, len(members))
	for n, m := range members {
		circle = append(circle, m.ID)
		numbers[m.ID] = n
	}
	proposal := consistent.New(circle, consistent.Config{
		Hasher: xxhash64{}, PartitionCount: len(l.sets), ReplicationFactor: spreadPoints, Load: spreadLoad,
	})
	for p := range l.sets {
		l.put(p, []int{numbers[proposal.GetPartitionOwner(p)]})
	}
}

// adopt starts from the current sets, without the nodes that are gone. New nodes take their places.
func (l *layout) adopt(current [][]NodeID, members []Member) {
	numbers := make(map[NodeID]int, len(members))
	for n, m := range members {
		numbers[m.ID] = n
	}
	gone := map[NodeID][]vacancy{}
	places := make([][]int, len(current)) // by partition; none in the place of a node that is gone
	for p, set := range current {
		for at, id := range set {
			n, stays := numbers[id]
			if !stays {
				n = none
				gone[id] = append(gone[id], vacancy{p, at})
			}
			places[p] = append(places[p], n)
		}
		l.before[p] = present(places[p])
		l.put(p, present(places[p]))
	}
	fresh := []int{}
	for n, held := range l.holds {
		if len(held) == 0 {
			fresh = append(fresh, n)
		}
	}
	for _, id := range slices.SortedFunc(maps.Keys(gone), NodeID.Compare) {
		if n := l.standIn(fresh, gone[id]); n != none {
			fresh = slices.DeleteFunc(fresh, func(other int) bool { return other == n })
			l.inherit(n, gone[id], places)
		}
	}
}

// A vacancy is a place in a set whose node is gone.
type vacancy struct{ partition, at int }

// present returns the nodes of places that are not vacant.
func present(places []int) []int {
	return slices.DeleteFunc(slices.Clone(places), func(n int) bool { return n == none })
}

// takes reports whether a vacancy needs to be filled and node n may fill it. With fewer zones than replicas, the only
// condition on zones is that the set is not in a single one.
func (l *layout) takes(n int, v vacancy) bool {
	set := l.sets[v.partition]
	if len(set) >= l.replicas || slices.Contains(set, n) {
		return false
	}
	spread := slices.ContainsFunc(set, func(other int) bool { return l.zones[other] != l.zones[set[0]] })
	return l.fits(v.partition, n, none) || l.limit > 1 && spread
}

// standIn is the new node that can take over the most places of a node that is gone, or none.
func (l *layout) standIn(fresh []int, left []vacancy) int {
	best, most := none, 0
	for _, n := range fresh {
		taken := 0
		for _, v := range left {
			if l.takes(n, v) {
				taken++
			}
		}
		if taken > most {
			best, most = n, taken
		}
	}
	return best
}

// inherit gives node n the places of a node that is gone.
func (l *layout) inherit(n int, left []vacancy, places [][]int) {
	for _, v := range left {
		if l.takes(n, v) {
			places[v.partition][v.at] = n
			l.put(v.partition, present(places[v.partition]))
		}
	}
}

// trim removes surplus replicas: first from a zone that has too many, then from the node with the most. Owners stay; if they
// are uneven, the later balancing may add removed replicas again, which moves nothing.
func (l *layout) trim() {
	for p := range l.sets {
		for len(l.sets[p]) > l.replicas {
			out := l.spare(p)
			l.put(p, slices.DeleteFunc(slices.Clone(l.sets[p]), func(n int) bool { return n == out }))
		}
	}
}

// spare is the node to remove from p first. It is not the owner.
func (l *layout) spare(p int) int {
	best := none
	for _, n := range l.sets[p][1:] {
		if best == none {
			best = n
			continue
		}
		if crowded := l.crowded(p, n); crowded != l.crowded(p, best) {
			if crowded {
				best = n
			}
		} else if l.excess(n) > l.excess(best) {
			best = n
		}
	}
	return best
}

// fill brings every set to its size.
func (l *layout) fill() {
	for p := range l.sets {
		for len(l.sets[p]) < l.replicas {
			l.put(p, append(slices.Clone(l.sets[p]), l.neediest(p, none)))
		}
	}
}

// unzone replaces replicas that share a zone, if there are enough zones: another node can always take the place. With fewer
// zones than replicas it moves nothing, since the limit may change whenever a node joins or leaves.
func (l *layout) unzone() {
	if l.limit > 1 {
		return
	}
	for p := range l.sets {
		for {
			out := l.spare(p)
			if out == none || !l.crowded(p, out) {
				break
			}
			l.replace(p, out, l.neediest(p, out))
		}
	}
}
