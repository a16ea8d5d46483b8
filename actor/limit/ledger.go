package limit

import (
	"cmp"
	"math"
	"slices"
	"time"
	"unsafe"
)

// A Ledger is what counts in one bucket of a limit with a counting algorithm. It belongs to one owner, which has written it at the
// replicas or read it there. Its times are of the clock of the owner that made the entry: what another owner has entered counts
// longer, by the difference that clocks may have.
//
// The time of its methods never goes back: an earlier t counts as the latest.
type Ledger struct {
	counts  counting
	limit   int64
	late    int64 // by how much longer the entries of other owners count
	entries []Entry
	holds   holdList // apart from the entries
	now     int64
	reset   int64 // see Reset

	// What was worked out of the entries, until they change.
	used      int64 // at usedFrom and until usedUntil
	usedFrom  int64
	usedUntil int64
	end       int64
	openings  []opening // empty for not known, and of entries that do not count in full until their ends
	amount    int64     // fits from freeAt on; 0 for not known
	freeAt    int64
}

// An Entry of a Ledger.
type Entry struct {
	At     int64
	Amount int64
	ID     uint64 // of a permit; 0 otherwise
	Mine   bool   // by the clock of the ledger's owner
}

// NewLedger is an empty ledger for buckets of r, which must have a counting algorithm. What other owners have entered counts
// longer by late, in nanoseconds.
func (r *Rule) NewLedger(late int64) *Ledger {
	return &Ledger{counts: r.counting, limit: r.Capacity, late: late}
}

// Counts says whether the rule has a counting algorithm, whose buckets have a Ledger, rather than one that spends a line.
func (r *Rule) Counts() bool { return r.counting != nil }

// Permits says whether every admission of the rule is a permit: it can be extended and returned, and ends by itself.
func (r *Rule) Permits() bool { return r.counting != nil && r.counting.Permits() }

// AllowsReset refuses to reset a bucket of permits. Its error is a *FieldError.
func (r *Rule) AllowsReset() error {
	if r.Permits() {
		return &FieldError{
			Field: "limit", Problem: "counts who is inside, which a reset would not change: permits end when they are returned, or after their lease",
		}
	}
	return nil
}

// Ends is from when on an entry of that time counts no more.
func (r *Rule) Ends(at int64) int64 { return r.counting.Ends(at) }

// Slot is the entry to which an admission at t belongs: that of the admissions from at to before until.
func (r *Rule) Slot(t int64) (at, until int64) { return r.counting.Slot(t) }

// Reset tells which reset emptied the ledger last; 0 for none. Whoever writes it anew keeps that.
func (l *Ledger) Reset() int64 { return l.reset }

// Empty is an empty ledger that a reset of that number leaves, which is the highest that the bucket has had.
func (l *Ledger) Empty(reset int64) *Ledger {
	return &Ledger{counts: l.counts, limit: l.limit, late: l.late, reset: reset}
}

// Clone is a copy that shares nothing, in the memory of spare unless that is nil.
func (l *Ledger) Clone(spare *Ledger) *Ledger {
	if spare == nil {
		spare = &Ledger{}
	}
	entries, holds, openings := spare.entries[:0], spare.holds[:0], spare.openings[:0]
	entries, holds = append(entries, l.entries...), append(holds, l.holds...)
	*spare = *l
	spare.entries, spare.holds, spare.openings = entries, holds, openings
	return spare
}

// Bytes is how much memory the ledger holds besides itself.
func (l *Ledger) Bytes() int64 {
	return int64(cap(l.entries))*int64(unsafe.Sizeof(Entry{})) + int64(cap(l.holds))*int64(unsafe.Sizeof(HoldEntry{})) + int64(cap(l.openings))*int64(unsafe.Sizeof(opening{}))
}

// Adapt puts the ledger under another rule with the same algorithm.
func (l *Ledger) Adapt(r *Rule) {
	l.counts, l.limit = r.counting, r.Capacity
	l.forget()
}

// forget forgets what was worked out.
func (l *Ledger) forget() {
	l.used, l.usedFrom, l.usedUntil, l.end, l.amount, l.freeAt = 0, 0, 0, 0, 0, 0
	l.openings = l.openings[:0]
}

// Until is from when on e counts no more, by the clock of the owner.
func (l *Ledger) Until(e *Entry) int64 {
	if e.Mine {
		return l.counts.Ends(e.At)
	}
	return l.counts.Ends(e.At) + l.late
}

// counted is how much of e counts at t.
func (l *Ledger) counted(e *Entry, t int64) int64 {
	if t >= l.Until(e) {
		return 0
	}
	if !e.Mine {
		t -= l.late
	}
	return l.counts.Counted(e.At, e.Amount, t)
}

// Used is how much counts at t.
func (l *Ledger) Used(t int64) int64 {
	l.now = max(l.now, t)
	if l.usedFrom <= l.now && l.now < l.usedUntil {
		return l.used
	}
	l.prune()
	l.used, l.usedFrom, l.usedUntil = l.sum(l.now), l.now, math.MaxInt64
	for i := range l.entries {
		end := l.Until(&l.entries[i])
		l.usedUntil, l.end = min(l.usedUntil, end), max(l.end, end)
	}
	for i := range l.holds {
		h := &l.holds[i]
		end := h.ends(l.counts, l.late)
		for _, at := range [...]int64{h.frees(l.late), end} {
			if at > l.now {
				l.usedUntil = min(l.usedUntil, at)
			}
		}
		l.end = max(l.end, end)
	}
	if !l.counts.Steps() {
		l.usedUntil = 0
	}
	return l.used
}

// sum adds up what counts at t.
func (l *Ledger) sum(t int64) (used int64) {
	for i := range l.entries {
		used += l.counted(&l.entries[i], t)
	}
	for i := range l.holds {
		used += l.holds[i].counted(l.counts, l.late, t)
	}
	return used
}

// prune drops what counts no more.
func (l *Ledger) prune() {
	for _, h := range l.holds.fold(l.now, l.late) {
		if amount := h.Charged(h.clock(l.now, l.late)); amount > 0 && l.now < h.ends(l.counts, l.late) {
			l.join(h.At, amount, h.Mine)
		}
	}
	l.entries = slices.DeleteFunc(l.entries, func(e Entry) bool { return e.Amount == 0 || l.now >= l.Until(&e) })
}

// Time is the time that t counts as: t, or the latest before.
func (l *Ledger) Time(t int64) int64 { return max(l.now, t) }

// Free is how much may be admitted at t; below 0 after the limit was lowered.
func (l *Ledger) Free(t int64) int64 { return l.limit - l.Used(t) }

// FreeAt is the first time from t on at which an admission of amount fits, if nothing else is admitted. The amount is at most the limit.
func (l *Ledger) FreeAt(t, amount int64) int64 {
	if l.Free(t) >= amount {
		return l.now
	}
	switch {
	case l.amount == amount && l.freeAt > l.now:
	case l.counts.Steps():
		l.amount, l.freeAt = amount, l.opens(amount)
	default:
		l.amount, l.freeAt = amount, l.halve(amount)
	}
	return l.freeAt
}

// opens is FreeAt of an amount that is not free now, where entries count in full until they end. Denials of a full ledger ask for it
// again and again, of whatever amounts: so what opens when is worked out once, and stays right as entries end.
func (l *Ledger) opens(amount int64) int64 {
	if len(l.openings) == 0 {
		for i := range l.entries {
			e := &l.entries[i]
			l.openings = append(l.openings, opening{at: l.Until(e), free: e.Amount})
		}
		for i := range l.holds {
			l.openings = l.holds[i].open(l.openings, l.counts, l.late, l.now)
		}
		slices.SortFunc(l.openings, func(a, b opening) int { return cmp.Compare(a.at, b.at) }) // what others have entered ends later
		free := l.limit - l.used
		for i := range l.openings {
			free += l.openings[i].free
			l.openings[i].free = free
		}
	}
	i, _ := slices.BinarySearchFunc(l.openings, amount, func(o opening, amount int64) int { return cmp.Compare(o.free, amount) })
	if i == len(l.openings) {
		return l.End(l.now)
	}
	return l.openings[i].at
}

// halve is FreeAt of an amount that is not free now, where entries count less and less: there are few of them. What counts never
// grows, so the time can be halved in on.
func (l *Ledger) halve(amount int64) int64 {
	from, to := l.now, l.End(l.now)
	for to-from > 1 {
		if middle := from + (to-from)/2; l.limit-l.sum(middle) >= amount {
			to = middle
		} else {
			from = middle
		}
	}
	return to
}

// End is from when on nothing counts: t or later.
func (l *Ledger) End(t int64) int64 {
	l.Used(t)
	return max(l.end, l.now)
}

// KeptUntil is until when the ledger must be stored: while something counts, or a hold is listed.
func (l *Ledger) KeptUntil(t int64) int64 {
	until := l.End(t)
	for i := range l.holds {
		until = max(until, l.holds[i].listedUntil(l.late))
	}
	return until
}

// Outcome describes to a caller what was decided at t of a check of cost. What of the ledger the owner holds for further checks, held,
// remains to be had.
func (l *Ledger) Outcome(r *Rule, t, cost, held int64, allowed bool) Outcome {
	o := Outcome{
		Name: r.Name, Allowed: allowed, Limit: r.Capacity, Remaining: max(l.Free(t)+held, 0),
		ResetAfter: time.Duration(l.End(t) - l.now),
	}
	switch {
	case cost > r.Capacity:
		o.Allowed, o.Never = false, true
	case !allowed:
		o.RetryAfter = time.Duration(l.FreeAt(t, max(cost-held, 0)) - l.now)
	}
	return o
}

// Enter adds an admission of amount at t by the owner, as a permit of that id or, if it is 0, to the entry of its slot. It returns the
// time of the entry.
func (l *Ledger) Enter(t, amount int64, id uint64) (at int64) {
	l.now = max(l.now, t)
	l.forget()
	at, _ = l.counts.Slot(l.now)
	if id == 0 {
		for i := len(l.entries) - 1; i >= 0 && l.entries[i].At >= at; i-- {
			if e := &l.entries[i]; e.At == at && e.Mine && e.ID == 0 {
				e.Amount += amount
				return at
			}
		}
	}
	l.insert(Entry{At: at, Amount: amount, ID: id, Mine: true})
	return at
}

func (l *Ledger) insert(e Entry) {
	i, _ := slices.BinarySearchFunc(l.entries, e, func(a, b Entry) int {
		return cmp.Or(cmp.Compare(a.At, b.At), -1) // behind those of the same time
	})
	l.entries = slices.Insert(l.entries, i, e)
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

// Take takes amount out of what the owner itself has entered at that time, as far as it is there, and says how much that was.
func (l *Ledger) Take(at, amount int64) int64 {
	for i := range l.entries {
		if e := &l.entries[i]; e.At == at && e.Mine && e.ID == 0 {
			taken := min(amount, e.Amount)
			e.Amount -= taken
			l.forget()
			return taken
		}
	}
	return 0
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

// Remove takes a permit or a hold out and says whether it was there.
func (l *Ledger) Remove(id uint64) bool {
	n := len(l.entries)
	l.entries = slices.DeleteFunc(l.entries, func(e Entry) bool { return e.ID == id && id != 0 })
	l.forget()
	return l.holds.remove(id) || len(l.entries) < n
}

// Prefetch brings the ledger into the processor's caches, and returns a meaningless number.
func (l *Ledger) Prefetch() int {
	if len(l.entries) == 0 {
		return 0
	}
	return int(l.entries[0].At)
}

// Entries are what counts, by time.
func (l *Ledger) Entries() []Entry { return l.entries }
