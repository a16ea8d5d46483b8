package ring

import "slices"

// A Change is the difference of one partition between two tables.
type Change struct {
	Partition Partition
	From, To  uint64   // epochs
	Gains     []NodeID // the new replicas, in the new order
	Loses     []NodeID // the former replicas, in the old order
	Order     bool     // the replicas that stayed are in another order
}

// Diff returns how table b differs from table a in replicas and epochs, by partition in ascending order. It ignores planned
// changes. In a table that is nil or has fewer partitions, the missing ones count as epoch 0 without replicas.
func Diff(a, b *Table) []Change {
	var changes []Change
	for p := range max(a.len(), b.len()) {
		from, to := a.place(p), b.place(p)
		if from.Epoch == to.Epoch && slices.Equal(from.Replicas, to.Replicas) {
			continue
		}
		changes = append(changes, Change{
			Partition: Partition(p),
			From:      from.Epoch,
			To:        to.Epoch,
			Gains:     without(to.Replicas, from.Replicas),
			Loses:     without(from.Replicas, to.Replicas),
			Order:     !slices.Equal(common(from.Replicas, to.Replicas), common(to.Replicas, from.Replicas)),
		})
	}
	return changes
}

func (t *Table) len() int {
	if t == nil {
		return 0
	}
	return len(t.Places)
}

func (t *Table) place(p int) Place {
	if p >= t.len() {
		return Place{}
	}
	return t.Places[p]
}

// without returns the nodes of a that are not in b.
func without(a, b []NodeID) []NodeID {
	return slices.DeleteFunc(slices.Clone(a), func(id NodeID) bool { return slices.Contains(b, id) })
}

// common returns the nodes of a that are also in b, in the order of a.
func common(a, b []NodeID) []NodeID {
	return slices.DeleteFunc(slices.Clone(a), func(id NodeID) bool { return !slices.Contains(b, id) })
}

// A Share is how many partitions a node has.
type Share struct {
	Owner   int // of how many it is the first replica
	Replica int // of how many it is a replica, the first one or not
}

// Shares returns the share of each node in a table; nodes without one are missing. It ignores planned changes.
func Shares(t *Table) map[NodeID]Share {
	shares := map[NodeID]Share{}
	for p := range t.len() {
		for at, id := range t.Places[p].Replicas {
			share := shares[id]
			share.Replica++
			if at == 0 {
				share.Owner++
			}
			shares[id] = share
		}
	}
	return shares
}
