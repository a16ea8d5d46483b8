package clock

import "slices"

// A Comparison is what a node knows of the clocks of its cluster. What follows from it is said here once:
//
//   - A clock that is behind is put forward only where a majority of all members is ahead of it. That cannot be taken back,
//     so a member that is not heard counts as one that is not ahead: no minority moves a right clock.
//   - A node whose clock differs from a majority of those heard decides nothing. That is strict and passes, so those who are
//     heard are enough.
//
// Both are by the lower middle of the clocks, which a majority has reached, or by the upper one, which a majority has not
// passed. Of two clocks, or of two and two, nobody can tell which are wrong: then nothing follows.
type Comparison struct {
	// Members is how many nodes the cluster has, this one included. With 0, it is not known, nothing is put forward.
	Members int
	// Ahead is by how much the clocks of the others that were heard are ahead of this node's, in nanoseconds.
	Ahead []int64
}

// Behind is by how much this node's clock is to be put forward, in nanoseconds, so that it shows what a majority of all
// members has reached; 0 if it has reached that itself.
func (c Comparison) Behind() int64 {
	clocks := c.sorted()
	silent := max(0, c.Members-len(clocks))
	if middle := (c.Members-1)/2 - silent; c.Members > 0 && middle >= 0 {
		return max(0, clocks[middle])
	}
	return 0
}

// Offset is by how much the clocks that were heard are ahead of this node's, in nanoseconds, as a majority of them and it
// says; negative if they are behind it. It is 0 while it lies between the two in the middle.
func (c Comparison) Offset() int64 {
	clocks := c.sorted()
	lower, upper := clocks[(len(clocks)-1)/2], clocks[len(clocks)/2]
	return max(lower, min(upper, 0))
}

// sorted are all clocks that are known, this node's included, which is at 0.
func (c Comparison) sorted() []int64 {
	clocks := append([]int64{0}, c.Ahead...)
	slices.Sort(clocks)
	return clocks
}
