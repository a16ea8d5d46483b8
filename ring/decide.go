package ring

import "slices"

// A Verdict says for how many of a cluster's keys there is somebody who can decide.
type Verdict string

// The verdicts.
const (
	DecidesAll  Verdict = "all"
	DecidesSome Verdict = "some"
	DecidesNone Verdict = "none"
)

// A Judgement says of which partitions the keys can be decided, for whoever asks one node.
type Judgement struct {
	Partitions int         // of the table
	Stuck      []Partition // whose keys nobody can decide, in ascending order
	Silent     []NodeID    // the replicas of these that do not answer the node, in order
}

// Verdict sums a judgement up. Without a table nothing can be decided.
func (j Judgement) Verdict() Verdict {
	switch {
	case len(j.Stuck) == j.Partitions:
		return DecidesNone
	case len(j.Stuck) > 0:
		return DecidesSome
	}
	return DecidesAll
}

// Judge says which partitions can be decided by a node, or by whoever it asks. Hears(by, id) says whether node id answers
// node by and takes reservations; of itself a node hears whether it takes any.
//
// A key takes an owner: one of its replicas, which the node hears or is, and which hears a majority of the replicas. A
// partition that moves takes a majority of its next replicas, too: once the old ones are sealed, nobody can reserve before
// these have installed. So while the old ones are not sealed yet, one that waits for its next replicas counts as stuck a
// moment early.
func Judge(t *Table, self NodeID, hears func(by, id NodeID) bool) Judgement {
	j := Judgement{Partitions: t.len()}
	for p := range j.Partitions {
		place := &t.Places[p]
		if place.decided(self, hears) {
			continue
		}
		j.Stuck = append(j.Stuck, Partition(p))
		for _, set := range [][]NodeID{place.Replicas, place.Next} {
			for _, id := range set {
				if !hears(self, id) && !slices.Contains(j.Silent, id) {
					j.Silent = append(j.Silent, id)
				}
			}
		}
	}
	slices.SortFunc(j.Silent, NodeID.Compare)
	return j
}

// decided says whether somebody whom the node hears can decide keys of the partition.
func (p *Place) decided(self NodeID, hears func(by, id NodeID) bool) bool {
	most := func(owner NodeID, of []NodeID) bool {
		heard := 0
		for _, id := range of {
			if hears(owner, id) {
				heard++
			}
		}
		return heard >= Majority(len(of))
	}
	return slices.ContainsFunc(p.Replicas, func(owner NodeID) bool {
		return hears(self, owner) && most(owner, p.Replicas) && (len(p.Next) == 0 || most(owner, p.Next))
	})
}
