package clock

import "slices"

// A Comparison is what a node knows of the clocks of its cluster. Two rules follow from it:
//
//   - A node puts its clock forward only if a majority of all members is ahead of it. That cannot be undone, so a member that
//     does not answer counts as not ahead: no minority moves a correct clock.
//   - A node decides nothing while its clock differs from the majority of the members that answer. That makes limits stricter,
//     and is temporary, so the members that answer are enough.
//
// Both use the two medians of the clocks: a majority has reached the lower one, and a majority has not passed the upper one. With
// two clocks, or two against two, a node cannot tell which are wrong, and does nothing.
type Comparison struct {
	// Members is how many nodes the cluster has, including this one. 0 means that it is not known; then Behind is 0.
	Members int
	// Ahead is how far the clocks of the other members that answered are ahead of this node's, in nanoseconds.
	Ahead []int64
}

// Behind is how far to put this node's clock forward, in nanoseconds, so that it shows a time that a majority of all members has
// reached; 0 if it has reached that already.
func (c Comparison) Behind() int64 {
	clocks := c.sorted()
	silent := max(0, c.Members-len(clocks))
	if middle := (c.Members-1)/2 - silent; c.Members > 0 && middle >= 0 {
		return max(0, clocks[middle])
	}
	return 0
}

// Offset is how far this node's clock is behind the majority of the clocks that are known, in nanoseconds; negative if it is
// ahead. It is 0 while this node's clock lies between the two medians.
func (c Comparison) Offset() int64 {
	clocks := c.sorted()
	lower, upper := clocks[(len(clocks)-1)/2], clocks[len(clocks)/2]
	return max(lower, min(upper, 0))
}

// sorted are all clocks that are known, relative to this node's, which is the 0 among them.
func (c Comparison) sorted() []int64 {
	clocks := append([]int64{0}, c.Ahead...)
	slices.Sort(clocks)
	return clocks
}
