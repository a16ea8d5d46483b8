package ring

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

func (t *Table) len() int {
	if t == nil {
		return 0
	}
	return len(t.Places)
}
