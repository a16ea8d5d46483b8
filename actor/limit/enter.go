package limit

import "slices"

// Enter adds an admission of amount at t by the owner, as a permit of that id or, if it is 0, to the entry of its slot. It returns the
// time of the entry.
func (l *Ledger) Enter(t, amount int64, id uint64) (at int64) {
	l.now = max(l.now, t)
	at, _ = l.counts.Slot(l.now)
	l.put(l.price(), at, amount, id)
	return at
}

// Put is Enter by a rule, with the time of the entry.
func (l *Ledger) Put(by *Rule, at, amount int64, id uint64) { l.put(by.price, at, amount, id) }

func (l *Ledger) put(each price, at, amount int64, id uint64) {
	switch {
	case l.queue != nil:
		l.queueUp(at, amount, each)
	case id == 0:
		l.join(at, amount, true)
	default:
		l.insert(Entry{At: at, Amount: amount, ID: id, Mine: true})
	}
	l.grown(&Entry{At: at, Amount: amount, Mine: true})
}

// price is that of a token, of a bucket.
func (l *Ledger) price() price {
	if l.queue == nil {
		return price{}
	}
	return l.queue.price
}

// grown keeps what was worked out as right as it was before an entry came: what the entry has counts in full until it ends, where entries do.
func (l *Ledger) grown(e *Entry) {
	end := l.Until(e)
	if l.now < l.usedFrom || l.now >= min(l.usedUntil, end) {
		l.forget()
		return
	}
	l.used += e.Amount
	l.usedUntil, l.end = min(l.usedUntil, end), max(l.end, end)
	l.openings, l.amount, l.freeAt = l.openings[:0], 0, 0
}

// join adds amount to the entry of that time.
func (l *Ledger) join(at, amount int64, mine bool) {
	if i := l.entryOf(at, mine); i >= 0 {
		// More cannot be read. What counts less and less could be charged it all the same, by settlements without a bound of debt.
		l.entries[i].Amount = min(l.entries[i].Amount+amount, int64(maxEntry))
	} else {
		l.insert(Entry{At: at, Amount: amount, Mine: mine})
	}
}

// Take takes amount out of what was entered at that time by a rule. Of a bucket it must be the owner's last write that has entered it, or nothing is
// taken.
func (l *Ledger) Take(by *Rule, at, amount int64) {
	l.forget()
	if l.queue != nil {
		l.takeQueued(by.price, amount)
	} else {
		l.takeOut(at, true, amount)
	}
}

// takeOut takes amount, which is there, out of the entry of that time by the owner's clock, or not, and what is missing in it out of the other one: when
// another owner has written the ledger, all that was entered before is nobody's own. An entry that has ended by the owner's clock has nothing more to
// give: what another clock shows may be earlier, so the other entry may count there still.
func (l *Ledger) takeOut(at int64, mine bool, amount int64) {
	for _, own := range [...]bool{mine, !mine} {
		if own != mine && l.now >= l.counts.Ends(at) {
			return
		}
		if i := l.entryOf(at, own); i >= 0 {
			part := min(amount, l.entries[i].Amount)
			l.entries[i].Amount -= part
			amount -= part
		}
	}
}

// Permit is the entry of a permit that counts at t, which may be an earlier time than that of other methods.
func (l *Ledger) Permit(id uint64, t int64) (Entry, bool) {
	for i := range l.entries {
		if e := &l.entries[i]; e.ID == id && id != 0 && t < l.Until(e) {
			return *e, true
		}
	}
	return Entry{}, false
}

// TellsOf says whether the ledger has every permit that had not ended at t, of those that it had when it was read.
func (l *Ledger) TellsOf(t int64) bool { return l.dropped <= t }

// Remove takes a permit or a hold out and says whether it was there.
func (l *Ledger) Remove(id uint64) bool {
	return l.RemoveAll(func(other uint64) bool { return other == id })
}

// RemoveAll takes the permits and the holds out that those are, by their ids, and says whether there were any.
func (l *Ledger) RemoveAll(those func(id uint64) bool) bool {
	before := len(l.entries) + len(l.holds)
	l.entries = slices.DeleteFunc(l.entries, func(e Entry) bool { return e.ID != 0 && those(e.ID) })
	l.forget()
	for i := range l.holds {
		if h := &l.holds[i]; those(h.ID) {
			l.giveBack(i, h.taken())
		}
	}
	l.holds = slices.DeleteFunc(l.holds, func(h HoldEntry) bool { return those(h.ID) })
	return len(l.entries)+len(l.holds) < before
}

// giveBack takes amount of what the i-th hold has taken out of its entry.
func (l *Ledger) giveBack(i int, amount int64) {
	h := &l.holds[i]
	if l.queue != nil {
		l.giveBackQueued(i, amount)
	} else {
		l.takeOut(h.At, h.Mine, amount)
	}
}
