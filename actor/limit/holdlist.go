package limit

import (
	"cmp"
	"math"
	"slices"
)

// A HoldEntry is a hold that a Ledger lists. From when it is taken until its time is over it takes all that it holds, or that was
// used if that is more; afterwards as the limit said when it was taken. Once it is settled, it takes what was used. That stands in the
// entry of its time, as what checks take does; the list says what may still change.
//
//	taken ────────────▶ Until ──────── SettleLate ────────▶ listed no more
//	 takes: amount       charge: amount; free: used
//
// One that is settled or has expired stays listed as long, for settlements that are repeated or late. Of many that are settled for what was
// used, the first ones go, and [HoldNumbers] still tell that. Others go early only where a new hold needs their room.
type HoldEntry struct {
	At      int64 // the time of the entry that has what it takes
	ID      uint64
	Amount  int64 // how much it holds
	Used    int64 // as settlements have said so far
	Until   int64 // when it expires, or was settled
	Free    bool  // what it holds and was not used is free then
	Settled bool  // for good: Used is what it takes
	Short   bool  // more was used than the debt lets be charged
	Freed   bool  // it has expired, and what was not used is free
	Mine    bool  // its times are by the clock of the ledger's owner
	Low     Pos   // of a bucket: the least that it had to refill since the hold was taken
	each    price // likewise: by which it was taken
}

const (
	// MaxHolds is how many holds a ledger lists at most. One takes about 20 bytes, and no more than 46; of a bucket, about 26, and no more than 82.
	MaxHolds = 1200
	// maxSettled is how many of them are plain: settled for what was used.
	maxSettled = 256
)

// Charged is how much the hold has taken at t, by the clock that its times are of.
func (h *HoldEntry) Charged(t int64) int64 {
	if h.Settled || h.Free && t >= h.Until {
		return h.Used
	}
	return h.taken()
}

// taken is how much of its entry the hold has taken.
func (h *HoldEntry) taken() int64 {
	if h.Settled || h.Freed {
		return h.Used
	}
	return max(h.Amount, h.Used)
}

// State is what is known of the hold at t.
func (h *HoldEntry) State(t int64) HoldState {
	switch {
	case h.Settled:
		return HoldSettled
	case t >= h.Until:
		return HoldExpired
	}
	return HoldOpen
}

// clock is t as it is compared with the times of h: what others have entered lasts longer by late.
func (h *HoldEntry) clock(t, late int64) int64 {
	if h.Mine {
		return t
	}
	return t - late
}

// frees is when a part of what h takes comes free because it expires, by the clock of the owner; math.MaxInt64 for never.
func (h *HoldEntry) frees(late int64) int64 {
	if !h.Free || h.Freed || h.Settled || h.Used >= h.Amount {
		return math.MaxInt64
	}
	return h.Until - h.clock(0, late)
}

// An opening is how much is free from a time on, at which an entry ends, if nothing else is admitted.
type opening struct{ at, free int64 }

// listedUntil is how long h stays in the list.
func (h *HoldEntry) listedUntil(late int64) int64 { return h.Until + int64(SettleLate) + late }

// A holdList is the holds that a ledger lists, by the times of their entries.
type holdList []HoldEntry

// at is the place of the hold of that id, or -1.
func (hs holdList) at(id uint64) int {
	return slices.IndexFunc(hs, func(h HoldEntry) bool { return h.ID == id })
}

func (hs *holdList) insert(h HoldEntry) {
	i, _ := slices.BinarySearchFunc(*hs, h, func(a, b HoldEntry) int {
		return cmp.Or(cmp.Compare(a.At, b.At), -1) // behind those of the same time
	})
	*hs = slices.Insert(*hs, i, h)
}

// fold takes out the holds that need not be listed any more at now: those whose time is over, and the first ones of many whose numbers tell
// the same. To make room for a hold in a full list it takes out more.
func (hs *holdList) fold(now, late int64, numbers *HoldNumbers, room bool) {
	over, plain := 0, 0
	for i := range *hs {
		switch h := &(*hs)[i]; {
		case now >= h.listedUntil(late):
			over++
		case h.plain():
			plain++
		}
	}
	if over > 0 {
		*hs = slices.DeleteFunc(*hs, func(h HoldEntry) bool {
			over := now >= h.listedUntil(late)
			if over {
				h.forgottenBy(numbers)
			}
			return over
		})
	}
	full := func() bool { return room && (len(*hs) >= MaxHolds || hs.fullOfBytes()) }
	told := func(h *HoldEntry) bool { return h.plain() && numbers.Settled(h.ID) }
	for ; (plain > maxSettled || full()) && hs.dropFirst(told, numbers); plain-- { // mostly one, which was settled just now
	}
	past := func(h *HoldEntry) bool { return h.past(now, late) }
	for full() && hs.dropFirst(past, numbers) {
	}
}

// plain says whether the hold was settled for what was used: then [HoldNumbers] tell the same of it once it is listed no more.
func (h *HoldEntry) plain() bool { return h.Settled && !h.Short }

// past says whether the hold is settled, or has expired at now by the clock of every owner.
func (h *HoldEntry) past(now, late int64) bool { return h.Settled || now >= h.Until+late }

func (h *HoldEntry) forgottenBy(numbers *HoldNumbers) {
	if !h.plain() {
		numbers.Forget(h.ID)
	}
}

// dropFirst takes out that of the holds for which is says so whose time was over first. It says whether there is one.
func (hs *holdList) dropFirst(is func(*HoldEntry) bool, numbers *HoldNumbers) bool {
	first := -1
	for i := range *hs {
		if h := &(*hs)[i]; (first < 0 || h.Until < (*hs)[first].Until) && is(h) {
			first = i
		}
	}
	if first < 0 {
		return false
	}
	(*hs)[first].forgottenBy(numbers)
	*hs = slices.Delete(*hs, first, first+1)
	return true
}

// MaxLedger is how many bytes a stored ledger has at most.
const MaxLedger = 56 << 10

// fullOfBytes says whether a ledger with one hold more might take more bytes, whatever settlements say of its holds: of a bucket whose plans have
// prices in large numbers, as many as a ledger may list would. Those of windows, which have no price, all fit.
func (hs holdList) fullOfBytes() bool {
	const (
		count  = 9                                             // of a number up to MaxFill
		head   = 1 + len(OwnerID{}) + 6*count + 1              // what a ledger of a bucket begins with
		listed = 16 + 3*count + maxOthers*6                    // the numbers of holds
		most   = 1 + 8 + 2*count + 8 + 8 + count + 1 + 2*count // of one hold
	)
	if len(hs) < (MaxLedger-head-listed)/most || hs[0].each == (price{}) {
		return false
	}
	bytes, before := head+listed+2*most, int64(0) // one more, and the price of the first one may become another
	var each price
	for i := range hs {
		h := &hs[i]
		bytes += 1 + 8 + varintLen(uint64(h.At-before)) + varintLen(uint64(h.Amount)) + 8 + 8 + count + 1
		if before = h.At; h.each != each {
			bytes += varintLen(h.each.n) + varintLen(h.each.p)
			each = h.each
		}
	}
	return bytes > MaxLedger
}

// roundLows drops parts of a nanosecond, so that nothing is given.
func (hs holdList) roundLows() {
	for i := range hs {
		hs[i].Low.Frac = 0
	}
}
