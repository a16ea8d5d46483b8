package limit

import (
	"cmp"
	"encoding/binary"
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
	Low     int64 // the least that the bucket had to refill since it was taken; of a bucket only
}

const (
	// MaxHolds is how many holds a ledger lists at most. One takes about 20 bytes, and no more than 46.
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
	full := func() bool { return room && len(*hs) >= MaxHolds }
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

// What a stored hold says besides its numbers.
const (
	holdMine = 1 << iota
	holdFree
	holdSettled
	holdFreed
	holdShort
)

func (h *HoldEntry) flags() (flags byte) {
	if h.Mine {
		flags |= holdMine
	}
	if h.Free {
		flags |= holdFree
	}
	if h.Settled {
		flags |= holdSettled
	}
	if h.Freed {
		flags |= holdFreed
	}
	if h.Short {
		flags |= holdShort
	}
	return flags
}

// append appends the list as a ledger stores it, that of a bucket with what it needs.
func (hs holdList) append(dst []byte, bucket bool) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(hs)))
	before, low := int64(0), int64(0)
	for i := range hs {
		h := &hs[i]
		dst = binary.BigEndian.AppendUint64(append(dst, h.flags()), h.ID)
		for _, n := range [...]int64{h.At - before, h.Amount, h.Used} {
			dst = binary.AppendUvarint(dst, uint64(n))
		}
		dst = binary.AppendVarint(dst, h.Until-h.At)
		if bucket {
			dst = binary.AppendVarint(dst, h.Low-low)
		}
		before, low = h.At, h.Low
	}
	return dst
}

// encoded is about how many bytes append appends, and no fewer; 0 for an empty list.
func (hs holdList) encoded() int {
	const most = 1 + 8 + 5*binary.MaxVarintLen64
	if len(hs) == 0 {
		return 0
	}
	return len(HoldNumbers{}.secret) + 3*binary.MaxVarintLen64 + most*len(hs)
}

// read reads what append has appended, of a ledger that the reader itself has written or not.
func (hs *holdList) read(d *byteReader, own, bucket bool) bool {
	count := d.number()
	if count == 0 || count > uint64(len(d.left))/12 { // a list that is stored is not empty
		return false
	}
	*hs = slices.Grow(*hs, int(count)+1)
	at, low := int64(0), int64(0)
	for range count {
		flags, id := d.bytes(1), d.bytes(8)
		since, amount, used := d.number(), d.number(), d.number()
		lasts, ok := d.signed()
		if id == nil || !ok || since > uint64(math.MaxInt64-at) || max(amount, used) > uint64(MaxCount) || lasts > int64(MaxFill) || lasts < -int64(MaxFill) {
			return false
		}
		if bucket {
			more, ok := d.signed()
			if low += more; !ok || low < 0 || low > int64(maxEntry) {
				return false
			}
		}
		at += int64(since)
		*hs = append(*hs, HoldEntry{
			At: at, ID: binary.BigEndian.Uint64(id), Amount: int64(amount), Used: int64(used), Until: at + lasts,
			Free: flags[0]&holdFree != 0, Settled: flags[0]&holdSettled != 0, Freed: flags[0]&holdFreed != 0, Short: flags[0]&holdShort != 0, Low: low, Mine: flags[0]&holdMine != 0 && own,
		})
	}
	return true
}
