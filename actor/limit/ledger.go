package limit

import (
	"cmp"
	"math"
	"slices"
	"time"
	"unsafe"
)

// NewLedger is an empty ledger for buckets of r, which must have a counting algorithm. What other owners have entered counts
// longer by late, in nanoseconds.
func (r *Rule) NewLedger(late int64) *Ledger {
	l := &Ledger{late: late}
	l.Adapt(r)
	return l
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

// KeptUntil is until when, by this limit, a ledger that is written at now must be stored, be it empty: until then an earlier one may count something
// that this one is without, and who has forgotten this one would go on from that. The ledger that it takes the place of may last longer.
func (r *Rule) KeptUntil(now int64) int64 {
	return max(r.Ends(now), now+r.Lasting())
}

// Slot is the entry to which an admission at t belongs: that of the admissions from at to before until.
func (r *Rule) Slot(t int64) (at, until int64) { return r.counting.Slot(t) }

// Reset tells which reset emptied the ledger last; 0 for none. Whoever writes it anew keeps that.
func (l *Ledger) Reset() int64 { return l.reset }

// Empty is an empty ledger that a reset of that number leaves, which is the highest that the bucket has had.
func (l *Ledger) Empty(reset int64) *Ledger {
	return &Ledger{counts: l.counts, queue: l.queue, limit: l.limit, late: l.late, reset: reset}
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
	return int64(cap(l.entries))*int64(unsafe.Sizeof(Entry{})) + int64(cap(l.holds))*int64(unsafe.Sizeof(HoldEntry{})) + int64(cap(l.openings))*int64(unsafe.Sizeof(opening{})) +
		l.numbers.Bytes()
}

// Adapt puts the ledger under another rule with the same algorithm.
func (l *Ledger) Adapt(r *Rule) {
	l.counts, l.limit, l.queue = r.counting, r.Capacity, nil
	if b, ok := r.counting.(countedBucket); ok {
		l.queue = &b
	}
	l.forget()
}

// Used is how much counts at t.
func (l *Ledger) Used(t int64) int64 {
	l.now = max(l.now, t)
	switch known := l.usedFrom <= l.now && l.now < l.usedUntil; {
	case known && l.counts.Steps():
		return l.used
	case known:
		return l.sum(l.now)
	}
	l.prune()
	l.used, l.usedFrom, l.usedUntil = l.sum(l.now), l.now, math.MaxInt64
	l.end = 0 // a hold that was freed leaves less than there was
	if l.queue != nil && l.used > 0 {
		l.usedUntil, l.end = l.line.tat.Ceil(), l.line.tat.Ceil()
	}
	for i := range l.entries {
		if e := &l.entries[i]; e.Amount > 0 {
			end := l.Until(e)
			l.usedUntil, l.end = min(l.usedUntil, end), max(l.end, end)
		}
	}
	for i := range l.holds {
		l.usedUntil = min(l.usedUntil, l.holds[i].frees(l.late))
	}
	return l.used
}

// prune drops what counts no more, and the holds that need not be listed any more.
func (l *Ledger) prune() { l.pruneFor(false) }

// pruneFor is prune, and makes room for a hold.
func (l *Ledger) pruneFor(room bool) {
	for i := range l.holds {
		if h := &l.holds[i]; l.now >= h.frees(l.late) {
			h.Freed = true
			l.giveBack(i, h.Amount-h.Used)
		}
	}
	l.holds.fold(l.now, l.late, &l.numbers, room)
	if l.queue != nil {
		return
	}
	l.entries = slices.DeleteFunc(l.entries, func(e Entry) bool {
		over := e.Amount == 0 || l.now >= l.Until(&e)
		if over && e.ID != 0 {
			l.dropped = max(l.dropped, l.Until(&e))
		}
		return over
	})
}

// Time is the time that t counts as: t, or the latest before.
func (l *Ledger) Time(t int64) int64 { return max(l.now, t) }

// Free is how much may be admitted at t; below 0 after the limit was lowered.
func (l *Ledger) Free(t int64) int64 { return l.limit - l.Used(t) }

// FreeAt is the first time from t on at which an admission of amount fits, if nothing else is admitted. The amount is at most the limit.
// Where entries count less and less, holds that are freed when they expire may let it fit earlier.
func (l *Ledger) FreeAt(t, amount int64) int64 {
	if l.Free(t) >= amount {
		return l.now
	}
	switch {
	case l.queue != nil:
		return l.queuedUntil(l.limit - amount)
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
			l.openings = l.freesOf(&l.holds[i], l.openings)
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

// freesOf adds to the openings of entries the one at which a hold is freed that expires. Then its entry frees so much less.
func (l *Ledger) freesOf(h *HoldEntry, openings []opening) []opening {
	frees := h.frees(l.late)
	if frees == math.MaxInt64 {
		return openings
	}
	e := l.entryOf(h.At, h.Mine)
	if e < 0 || frees >= l.Until(&l.entries[e]) {
		return openings
	}
	amount := min(h.Amount-h.Used, openings[e].free)
	openings[e].free -= amount
	return append(openings, opening{at: frees, free: amount})
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
	case !allowed && l.Free(t)+held < cost:
		o.RetryAfter = time.Duration(l.FreeAt(t, max(cost-held, 0)) - l.now)
	}
	return o
}

// Prefetch brings the ledger into the processor's caches, and returns a meaningless number.
func (l *Ledger) Prefetch() int {
	if len(l.entries) == 0 {
		return int(l.line.tat.NS)
	}
	return int(l.entries[0].At)
}

// Entries are what counts, by time. Of a bucket it is one, of what has still to come back.
func (l *Ledger) Entries() []Entry {
	if l.queue == nil {
		return l.entries
	}
	if used := l.Used(l.now); used > 0 {
		return []Entry{{At: l.now, Amount: used, Mine: l.line.mine}}
	}
	return nil
}
