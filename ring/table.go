package ring

import "slices"

// FirstEpoch is the epoch of every partition when a cluster is founded. In epoch 0 a node holds no registers.
const FirstEpoch = 1

// recoveryEpochs is the distance between the epochs that forced recoveries begin. The lost nodes may have changed a replica
// set without the remaining ones, but not that many times.
const recoveryEpochs = 1_000_000

// Recovered is the epoch that a forced recovery begins for a partition of which no higher epoch than that is known: the next
// multiple of a million. It is higher than every epoch that any node, also a lost one, can have been in, so nothing that was
// sent, stored or installed before the recovery belongs to it.
func Recovered(known uint64) uint64 { return (known/recoveryEpochs + 1) * recoveryEpochs }

// A Place says which nodes hold the registers of one partition.
type Place struct {
	// Epoch is the number of the replica set; each change raises it by one, and a forced recovery to [Recovered].
	Epoch uint64 `json:"epoch"`
	// Replicas are the replica set in the callers' order: the first healthy one is the owner.
	Replicas []NodeID `json:"replicas"`
	// Target is the replica set that is planned, until it is agreed as Next; empty when none is.
	Target []NodeID `json:"target,omitempty"`
	// Next is the replica set of epoch Epoch+1 while the partition moves there; empty while it does not.
	Next []NodeID `json:"next,omitempty"`
	// Floored says that a forced recovery began this epoch: its replicas started with a floor.
	Floored bool `json:"floored,omitempty"`
}

// Moving reports whether the replica set is about to change.
func (p Place) Moving() bool { return len(p.Target) > 0 || len(p.Next) > 0 }

// Has reports whether a node is a replica of the partition in its present epoch.
func (p Place) Has(id NodeID) bool { return slices.Contains(p.Replicas, id) }

// Planned is the replica set of the partition after all planned changes.
func (p Place) Planned() []NodeID {
	switch {
	case len(p.Target) > 0:
		return p.Target
	case len(p.Next) > 0:
		return p.Next
	}
	return p.Replicas
}

// A Table says where every partition is. It is immutable: a change makes another Table.
type Table struct {
	Places []Place `json:"places"` // by partition
}

// Of returns the partition and the place of a key with that hash.
func (t *Table) Of(hash uint64) (Partition, *Place) {
	p := PartitionOf(hash, len(t.Places))
	return p, &t.Places[p]
}

// Sets are the replica sets by partition, for [Assign]. The caller must not change them.
func (t *Table) Sets() [][]NodeID {
	sets := make([][]NodeID, len(t.Places))
	for p, place := range t.Places {
		sets[p] = place.Replicas
	}
	return sets
}

// Planned are the replica sets by partition after all planned changes. The caller must not change them.
func (t *Table) Planned() [][]NodeID {
	sets := make([][]NodeID, len(t.Places))
	for p, place := range t.Places {
		sets[p] = place.Planned()
	}
	return sets
}

// Majority is W = ⌊R/2⌋ + 1: the quorum of n replicas.
func Majority(n int) int { return n/2 + 1 }

// Enough is R − W + 1: that many of n replicas intersect every majority.
func Enough(n int) int { return n - Majority(n) + 1 }

// Replication is how many replicas each partition has in a cluster of that many nodes: the wanted number, 3 or 5, if
// there are enough nodes; else 3 if there are three; else 1.
func Replication(nodes, wanted int) int {
	switch {
	case nodes >= 5 && wanted >= 5:
		return 5
	case nodes >= 3:
		return 3
	}
	return 1
}
