package ring

import "slices"

// A Change is what became of one partition from one table to another.
type Change struct {
	Partition Partition
	From, To  uint64   // epochs
	Gains     []NodeID // who became a replica, in the new order
	Loses     []NodeID // who is a replica no more, in the old order
	Order     bool     // those who stayed stand in another order
}

// Diff is how table b differs from table a in replicas and epochs, by partition in ascending order. What is planned does
// not count. A table that is nil, or has fewer partitions, counts as one without replicas in epoch 0.
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

// without are those of a that are not in b.
func without(a, b []NodeID) []NodeID {
	return slices.DeleteFunc(slices.Clone(a), func(id NodeID) bool { return slices.Contains(b, id) })
}

// common are those of a that are in b too, in a's order.
func common(a, b []NodeID) []NodeID {
	return slices.DeleteFunc(slices.Clone(a), func(id NodeID) bool { return !slices.Contains(b, id) })
}

// A Share is how many partitions a node has.
type Share struct {
	Owner   int // of how many it stands first
	Replica int // of how many it keeps the registers, those of which it stands first included
}

// Shares is what each node has of a table; nodes that have nothing are missing. What is planned does not count.
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
