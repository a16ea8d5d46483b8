package nodes

import "sync/atomic"

// Hedges are made at the expense of calls: each call pays for a twentieth of one.
const (
	pricePerHedge = 20 // calls
	burst         = 10 // hedges that may be saved up for
)

// A budget bounds hedges: of any number of calls in a row, at most a twentieth and burst more are hedged. So a cluster that is slow as a whole does not get twice the work. It begins full.
type budget struct {
	spent atomic.Int64 // of pricePerHedge·burst; a call takes one off, a hedge adds pricePerHedge
}

// earn counts a call.
func (b *budget) earn() {
	for spent := b.spent.Load(); spent > 0; spent = b.spent.Load() {
		if b.spent.CompareAndSwap(spent, spent-1) {
			return
		}
	}
}

// take says whether one more call may be hedged, and counts it if so.
func (b *budget) take() bool {
	for {
		spent := b.spent.Load()
		if spent > pricePerHedge*(burst-1) {
			return false
		}
		if b.spent.CompareAndSwap(spent, spent+pricePerHedge) {
			return true
		}
	}
}
