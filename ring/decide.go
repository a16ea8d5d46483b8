package ring

import "slices"

// A Verdict says for how many of a cluster's keys a decision can be made.
type Verdict string

// The verdicts.
const (
	DecidesAll  Verdict = "all"
	DecidesSome Verdict = "some"
	DecidesNone Verdict = "none"
)

// A Judgement says which partitions' keys can be decided, as one node sees it.
type Judgement struct {
	Partitions int         // of the table
	Stuck      []Partition // those whose keys no node can decide, in ascending order
	Silent     []NodeID    // their replicas that do not answer this node, in order
	Endangered int         // how many others have lost replicas, and have no more than a majority left
}

// Verdict summarizes j. Without a table no key can be decided.
func (j Judgement) Verdict() Verdict {
	switch {
	case len(j.Stuck) == j.Partitions:
		return DecidesNone
	case len(j.Stuck) > 0:
		return DecidesSome
	}
	return DecidesAll
}

// Judge returns which partitions node self can decide, itself or through another node. hears(by, id) reports whether node id
// answers node by and accepts reservations; with id equal to by, whether that node accepts any.
//
// A key needs an owner: one of its replicas that self can reach or is, and that reaches a majority of the replicas. While a
// partition moves, the owner must also reach a majority of its next replicas: once the old ones are sealed, no reservation
// is possible before those have installed. So a partition that waits for its next replicas counts as stuck slightly early,
// while the old ones are not yet sealed.
func Judge(t *Table, self NodeID, hears func(by, id NodeID) bool) Judgement {
	j := Judgement{Partitions: t.len()}
	for p := range j.Partitions {
		place := &t.Places[p]
		if place.decided(self, hears) {
			if place.endangered(self, hears) {
				j.Endangered++
			}
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

// decided reports whether a node that self can reach, or self, can decide keys of the partition.
func (p *Place) decided(self NodeID, hears func(by, id NodeID) bool) bool {
	majority := func(owner NodeID, of []NodeID) bool { return heard(owner, of, hears) >= Majority(len(of)) }
	return slices.ContainsFunc(p.Replicas, func(owner NodeID) bool {
		return hears(self, owner) && majority(owner, p.Replicas) && (len(p.Next) == 0 || majority(owner, p.Next))
	})
}

// endangered says of a partition that is decided that it would not be, if one more replica were lost: some are, and no node that self can reach,
// or self, hears more than a majority. A partition that is kept once is not: it has lost none.
func (p *Place) endangered(self NodeID, hears func(by, id NodeID) bool) bool {
	most := 0
	for _, owner := range p.Replicas {
		if hears(self, owner) {
			most = max(most, heard(owner, p.Replicas, hears))
		}
	}
	return most < len(p.Replicas) && most == Majority(len(p.Replicas))
}

// heard is how many of the nodes that one hears.
func heard(by NodeID, of []NodeID, hears func(by, id NodeID) bool) (n int) {
	for _, id := range of {
		if hears(by, id) {
			n++
		}
	}
	return n
}
