package limit

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"
)

// A HoldEntry is a hold that a Ledger lists. From when it is taken until its time is over it counts with all that it holds, or that was
// used if that is more; afterwards as the limit said when it was taken. Once it is settled, it counts with what was used.
//
//	taken ────────────▶ Until ──────── SettleLate ────────▶ joins the entry of its time
//	 counts: amount      charge: amount; free: used
//
// A settled one stays listed as long, for settlements that are repeated, unless many have been settled since.
type HoldEntry struct {
	At      int64 // the time of the entry that it joins in the end
	ID      uint64
	Amount  int64 // how much it holds
	Used    int64 // as settlements have said so far
	Until   int64 // when it expires
	Free    bool  // what it holds and was not used is free then
	Settled bool  // for good: Used is what it counts with
	Mine    bool  // its times are by the clock of the ledger's owner
}

// maxSettled is how many settled holds a ledger lists at most: so many take less than 6 kB.
const maxSettled = 256

// Charged is how much the hold has taken at t, by the clock that its times are of.
func (h *HoldEntry) Charged(t int64) int64 {
	if h.Settled || h.Free && t >= h.Until {
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

// Hold enters a hold of amount at t by the owner, which expires at until. It returns the time of the entry that it joins in the end.
func (l *Ledger) Hold(t, amount int64, id uint64, until int64, free bool) (at int64) {
	l.now = max(l.now, t)
	l.forget()
	at, _ = l.counts.Slot(l.now)
	l.insertHold(HoldEntry{At: at, ID: id, Amount: amount, Until: until, Free: free, Mine: true})
	return at
}

func (l *Ledger) insertHold(h HoldEntry) {
	i, _ := slices.BinarySearchFunc(l.holds, h, func(a, b HoldEntry) int {
		return cmp.Or(cmp.Compare(a.At, b.At), -1) // behind those of the same time
	})
	l.holds = slices.Insert(l.holds, i, h)
}

// Holds are the holds that are listed, by the time at which they were taken.
func (l *Ledger) Holds() []HoldEntry { return l.holds }

// HoldOf is the hold of that id that is listed.
func (l *Ledger) HoldOf(id uint64) (HoldEntry, bool) {
	if i := l.holdAt(id); i >= 0 {
		return l.holds[i], true
	}
	return HoldEntry{}, false
}

func (l *Ledger) holdAt(id uint64) int {
	return slices.IndexFunc(l.holds, func(h HoldEntry) bool { return h.ID == id })
}

// A HoldChange is what a settlement says of a hold.
type HoldChange struct {
	ID    uint64
	Used  int64 // so far
	Open  bool  // more may be used
	Until int64 // when it expires, if that is later; 0 for no change
}

// Settle takes in at t what a settlement says of a hold, and says what came of it. A hold that was settled for good, or that is not
// listed, stays as it is. More than it holds is charged until debt more counts than the limit.
func (l *Ledger) Settle(t int64, c HoldChange, debt int64) (h HoldEntry, listed bool) {
	free := l.Free(t) // first: holds that need not be listed any more join the entries
	i := l.holdAt(c.ID)
	if i < 0 || l.now >= l.listedUntil(&l.holds[i]) {
		return HoldEntry{}, false
	}
	e := &l.holds[i]
	if e.Settled {
		return *e, true
	}
	counted := e.Charged(l.shifted(e, t))
	used := max(e.Used, c.Used)
	if !c.Open {
		used = c.Used
	}
	if used > counted {
		used = max(counted, min(used, addUpTo(counted, free, debt)))
	}
	l.forget()
	e.Used, e.Settled = used, !c.Open
	if c.Open && l.shifted(e, t) < e.Until && c.Until > e.Until {
		e.Until = c.Until
	}
	return *e, true
}

// addUpTo is a + b + c, none of the range of numbers left.
func addUpTo(a, b, c int64) int64 {
	sum := max(a+b, math.MinInt64/4) // none of them is beyond MaxCount by much
	return min(sum+c, math.MaxInt64/4)
}

// shifted is t as it is compared with the times of h.
func (l *Ledger) shifted(h *HoldEntry, t int64) int64 {
	if h.Mine {
		return t
	}
	return t - l.late
}

// countedHold is how much of h counts at t.
func (l *Ledger) countedHold(h *HoldEntry, t int64) int64 {
	t = l.shifted(h, t)
	if t >= l.counts.Ends(h.At) {
		return 0
	}
	return l.counts.Counted(h.At, h.Charged(t), t)
}

// endsCounting is from when on h counts no more, by the clock of the owner.
func (l *Ledger) endsCounting(h *HoldEntry) int64 {
	if h.Mine {
		return l.counts.Ends(h.At)
	}
	return l.counts.Ends(h.At) + l.late
}

// frees is when a part of h counts no more because it expires, by the clock of the owner; math.MaxInt64 for never.
func (l *Ledger) frees(h *HoldEntry) int64 {
	switch {
	case !h.Free || h.Settled || h.Used >= h.Amount:
		return math.MaxInt64
	case h.Mine:
		return h.Until
	}
	return h.Until + l.late
}

// openHold appends when how much of h comes free.
func (l *Ledger) openHold(all []opening, h *HoldEntry) []opening {
	counts := l.countedHold(h, l.now)
	if at := l.frees(h); at > l.now && at < l.endsCounting(h) {
		all = append(all, opening{at: at, free: counts - h.Used})
		counts = h.Used
	}
	return append(all, opening{at: l.endsCounting(h), free: counts})
}

// listedUntil is how long h stays in the list.
func (l *Ledger) listedUntil(h *HoldEntry) int64 { return h.Until + int64(SettleLate) + l.late }

// fold has the holds join the entries of their time that need not be listed any more.
func (l *Ledger) fold() {
	settled := 0
	for i := range l.holds {
		if l.holds[i].Settled {
			settled++
		}
	}
	l.holds = slices.DeleteFunc(l.holds, func(h HoldEntry) bool {
		surplus := h.Settled && settled > maxSettled
		if l.now < l.listedUntil(&h) && !surplus {
			return false
		}
		if h.Settled {
			settled--
		}
		if amount := h.Charged(l.shifted(&h, l.now)); amount > 0 && l.now < l.endsCounting(&h) {
			l.join(h.At, amount, h.Mine)
		}
		return true
	})
}

// join adds amount to the entry of that time.
func (l *Ledger) join(at, amount int64, mine bool) {
	for i := range l.entries {
		if e := &l.entries[i]; e.At == at && e.Mine == mine && e.ID == 0 {
			e.Amount += amount
			return
		}
	}
	l.insert(Entry{At: at, Amount: amount, Mine: mine})
}

// What a stored hold says besides its numbers.
const (
	holdMine = 1 << iota
	holdFree
	holdSettled
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
	return flags
}

// appendHolds appends the list of holds.
func (l *Ledger) appendHolds(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(l.holds)))
	before := int64(0)
	for i := range l.holds {
		h := &l.holds[i]
		dst = append(dst, h.flags())
		dst = binary.BigEndian.AppendUint64(dst, h.ID)
		for _, n := range [...]int64{h.At - before, h.Amount, h.Used} {
			dst = binary.AppendUvarint(dst, uint64(n))
		}
		dst = binary.AppendVarint(dst, h.Until-h.At)
		before = h.At
	}
	return dst
}

// encodedHolds is about how many bytes appendHolds appends, and no fewer.
func (l *Ledger) encodedHolds() int {
	if len(l.holds) == 0 {
		return 0
	}
	const most = 1 + 8 + 4*binary.MaxVarintLen64
	return binary.MaxVarintLen64 + most*len(l.holds)
}

// readHolds reads what appendHolds has appended, of a ledger that the reader itself has written or not.
func (l *Ledger) readHolds(d *ledgerReader, own bool) error {
	count := d.number()
	if count > uint64(len(d.left))/12 {
		return ErrLedger
	}
	l.holds = slices.Grow(l.holds, int(count)+1)
	at := int64(0)
	for range count {
		flags, id := d.bytes(1), d.bytes(8)
		since, amount, used := d.number(), d.number(), d.number()
		lasts, n := binary.Varint(d.left)
		if id == nil || n <= 0 || since > uint64(math.MaxInt64-at) || max(amount, used) > uint64(MaxCount) || lasts > int64(MaxFill) || lasts < -int64(MaxFill) {
			return ErrLedger
		}
		d.left = d.left[n:]
		at += int64(since)
		l.holds = append(l.holds, HoldEntry{
			At: at, ID: binary.BigEndian.Uint64(id), Amount: int64(amount), Used: int64(used), Until: at + lasts,
			Free: flags[0]&holdFree != 0, Settled: flags[0]&holdSettled != 0, Mine: flags[0]&holdMine != 0 && own,
		})
	}
	return nil
}
