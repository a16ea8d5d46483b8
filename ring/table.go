package ring

import "slices"

// FirstEpoch is the epoch of every partition when a cluster is founded. Epoch 0 is none: a node in it keeps no registers.
const FirstEpoch = 1

// recoveryEpochs is how far the epochs that forced recoveries begin are apart. Those who are lost may have moved a partition on
// without those who are left, but not as often as that.
const recoveryEpochs = 1_000_000

// Recovered is the epoch that a forced recovery begins for a partition of which no higher epoch than that is known: the next
// multiple of a million. It lies above every epoch that anybody can have been in, those who are lost included, so nothing that
// was sent, stored or installed before the recovery belongs to it.
func Recovered(known uint64) uint64 { return (known/recoveryEpochs + 1) * recoveryEpochs }

// A Place is where one partition's registers are kept.
type Place struct {
	// Epoch is the number of the replica set; it goes up by one with each change, and to [Recovered] with a forced recovery.
	Epoch uint64 `json:"epoch"`
	// Replicas are the replica set in the callers' order: the first healthy one is the owner.
	Replicas []NodeID `json:"replicas"`
	// Target is the replica set that is planned, until it is agreed as Next; empty when none is.
	Target []NodeID `json:"target,omitempty"`
	// Next is the replica set of epoch Epoch+1 while the partition moves there; empty while it does not.
	Next []NodeID `json:"next,omitempty"`
	// Floored says that the replicas of this epoch began it with a floor: a forced recovery made it.
	Floored bool `json:"floored,omitempty"`
}

// Moving says whether the replica set is about to change.
func (p Place) Moving() bool { return len(p.Target) > 0 || len(p.Next) > 0 }

// Has says whether a node keeps the partition's registers in its epoch.
func (p Place) Has(id NodeID) bool { return slices.Contains(p.Replicas, id) }

// Planned is the replica set that the partition has once all that is planned for it is done.
func (p Place) Planned() []NodeID {
	switch {
	case len(p.Target) > 0:
		return p.Target
	case len(p.Next) > 0:
		return p.Next
	}
	return p.Replicas
}

// A Table says where every partition is. It never changes: a change makes another one.
type Table struct {
	Places []Place `json:"places"` // by partition
}

// Of is where a key with that hash is.
func (t *Table) Of(hash uint64) (Partition, *Place) {
	p := PartitionOf(hash, len(t.Places))
	return p, &t.Places[p]
}

// Sets are the replica sets by partition: what [Assign] takes as current. The sets are the table's own.
func (t *Table) Sets() [][]NodeID {
	sets := make([][]NodeID, len(t.Places))
	for p, place := range t.Places {
		sets[p] = place.Replicas
	}
	return sets
}

// Planned are the replica sets by partition once all that is planned is done. The sets are the table's own.
func (t *Table) Planned() [][]NodeID {
	sets := make([][]NodeID, len(t.Places))
	for p, place := range t.Places {
		sets[p] = place.Planned()
	}
	return sets
}

// Majority is W = ⌊R/2⌋ + 1: so many of n replicas decide.
func Majority(n int) int { return n/2 + 1 }

// Enough is R − W + 1: so many of n replicas share a member with every majority.
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
