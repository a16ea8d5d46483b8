package limit

import (
	"math"
	"slices"
)

// Hold enters a hold of amount at t by the owner, which expires at until. It returns the time of its entry.
func (l *Ledger) Hold(t, amount int64, id uint64, until int64, free bool) (at int64) {
	l.now = max(l.now, t)
	at, _ = l.counts.Slot(l.now)
	l.putHold(l.price(), HoldEntry{At: at, ID: id, Amount: amount, Until: until, Free: free, Mine: true})
	return at
}

// PutHold is Hold by a rule, with the time of the entry.
func (l *Ledger) PutHold(by *Rule, at, amount int64, id uint64, until int64, free bool) {
	l.putHold(by.price, HoldEntry{At: at, ID: id, Amount: amount, Until: until, Free: free, Mine: true})
}

func (l *Ledger) putHold(each price, h HoldEntry) {
	l.put(each, h.At, h.Amount, 0)
	l.usedUntil = min(l.usedUntil, h.frees(l.late))
	if l.queue == nil {
		l.holds.insert(h)
		return
	}
	h.each, h.Low = each, l.toRefill(min(h.At, l.now))
	if n := len(l.holds); n > 0 { // in the order in which they were taken, whatever the clocks
		h.At = max(h.At, l.holds[n-1].At)
	}
	l.holds = append(l.holds, h)
}

// NextHold is the id of a hold that is to be entered.
func (l *Ledger) NextHold(draw func() uint64) uint64 { return l.numbers.Next(draw) }

// WasSettled says of a hold that is not listed that it was settled for what its settlement said.
func (l *Ledger) WasSettled(id uint64) bool { return l.holds.at(id) < 0 && l.numbers.Settled(id) }

// Holds are the holds that are listed, by the times of their entries.
func (l *Ledger) Holds() []HoldEntry { return l.holds }

// Number goes on with the numbers of holds of another ledger of the bucket.
func (l *Ledger) Number(as *Ledger) { l.numbers = as.numbers }

// FullOfHolds says whether the ledger can list no further hold at t. Of those that are settled or have expired it drops most first.
func (l *Ledger) FullOfHolds(t int64) bool {
	if l.ListsMost() {
		l.DropHolds(t)
	}
	return l.ListsMost()
}

// MayDrop says whether DropHolds could drop one at t.
func (l *Ledger) MayDrop(t int64) bool {
	for i := range l.holds {
		if l.holds[i].past(max(l.now, t), l.late) {
			return true
		}
	}
	return false
}

// DropHolds drops most holds that are settled or have expired at t.
func (l *Ledger) DropHolds(t int64) {
	l.now = max(l.now, t)
	l.pruneFor(true)
	l.forget()
}

// ListAs drops the holds that another ledger of the bucket does not list.
func (l *Ledger) ListAs(other *Ledger) {
	listed := make(map[uint64]bool, len(other.holds))
	for i := range other.holds {
		listed[other.holds[i].ID] = true
	}
	l.holds = slices.DeleteFunc(l.holds, func(h HoldEntry) bool { return !listed[h.ID] })
	l.forget()
}

// ListsMost says whether the ledger lists as many holds as it can.
func (l *Ledger) ListsMost() bool {
	return len(l.holds) >= MaxHolds || l.queue != nil && l.holds.fullOfBytes()
}

// HoldOf is the hold of that id, if it is listed.
func (l *Ledger) HoldOf(id uint64) (h HoldEntry, listed bool) {
	if i := l.holds.at(id); i >= 0 {
		return l.holds[i], true
	}
	return HoldEntry{}, false
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
	free := l.Free(t) // first: it frees what has expired
	i := l.holds.at(c.ID)
	if i < 0 || l.now >= l.holds[i].listedUntil(l.late) {
		return HoldEntry{}, false
	}
	e := &l.holds[i]
	if e.Settled {
		return *e, true
	}
	now := e.clock(t, l.late)
	taken := e.taken()
	used := max(e.Used, c.Used)
	if !c.Open {
		used = c.Used
	}
	if used > taken {
		used = max(taken, min(used, taken+l.chargeable(e, addUpTo(0, free, debt))))
	}
	l.forget()
	e.Used = used
	if !c.Open {
		e.Settled, e.Short, e.Until = true, used < c.Used, min(e.Until, now)
	}
	switch then := e.taken(); {
	case then < taken:
		l.giveBack(i, taken-then)
	case then > taken && l.queue != nil:
		l.queueMore(e, then-taken)
	case then > taken:
		l.join(e.At, then-taken, e.Mine)
	}
	if c.Open && !e.Freed && now < e.Until && c.Until > e.Until {
		e.Until = c.Until
	}
	return *e, true
}

// addUpTo is a + b + c, within the range of numbers.
func addUpTo(a, b, c int64) int64 {
	sum := max(a+b, math.MinInt64/4) // none of them is beyond MaxCount by much
	return min(sum+c, math.MaxInt64/4)
}
