package limit

// A Lease is line of one bucket that its owner has passed down to an edge, which spends it by itself: each piece from where it has got
// to, or from its now if that is later, up to the end of the lease, and no further ahead than any check may. What it has not spent
// expires as time passes it, so a lease needs no end by anybody.
type Lease struct {
	Receipt // its span is the line. It is fresh, and whole nanoseconds
	// Until is when the edge may spend it no more, in nanoseconds since the Unix epoch.
	Until int64
}

// LongestLease is the most that a lease may last, in nanoseconds: so long after a reset, or a change of the limit, edges may spend line of before.
const LongestLease = int64(10e9)
