package client

import "sync/atomic"

// Second tries are made at the expense of calls: each call pays for a twentieth of one.
const (
	pricePerTry = 20 // calls
	burst       = 10 // second tries that may be saved up for
)

// A budget bounds second tries: of any number of calls in a row, at most a twentieth and burst more are tried a second
// time. So a cluster that is slow as a whole does not get twice the work. It begins full.
type budget struct {
	spent atomic.Int64 // of pricePerTry·burst; a call takes one off, a second try adds pricePerTry
}

// earn counts a call.
func (b *budget) earn() {
	for spent := b.spent.Load(); spent > 0; spent = b.spent.Load() {
		if b.spent.CompareAndSwap(spent, spent-1) {
			return
		}
	}
}

// take says whether a second try may be made, and counts it if so.
func (b *budget) take() bool {
	for {
		spent := b.spent.Load()
		if spent > pricePerTry*(burst-1) {
			return false
		}
		if b.spent.CompareAndSwap(spent, spent+pricePerTry) {
			return true
		}
	}
}
