package history

// The algorithms of limits. A token bucket and a fixed window spend a line, and their receipts are pieces of it. The others count
// entries: their receipts say nothing about a line.
const (
	TokenBucket   = ""               // and no other name
	FixedWindow   = "fixed-window"   // windows are aligned to the Unix epoch
	SlidingWindow = "sliding-window" // in parts: see parts
	Weighted      = "weighted"       // a sliding window, estimated from two that are aligned
	SlidingLog    = "sliding-log"
	Concurrency   = "concurrency"
)

// Algorithms are those that a limit may name.
func Algorithms() []string {
	return []string{FixedWindow, SlidingWindow, Weighted, SlidingLog, Concurrency}
}

const (
	// parts is how many parts a sliding window has. What is admitted in one part counts until all of it is as old as the window.
	parts = 60
	// Late is how much longer what one process has admitted counts for another one, in nanoseconds: twice what clocks may be apart.
	Late = int64(500e6)
)
