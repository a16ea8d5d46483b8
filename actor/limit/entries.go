package limit

import (
	"cmp"
	"slices"
)

// A Ledger is what counts in one bucket of a limit with a counting algorithm. It belongs to one owner, which has written it at the
// replicas or read it there. Its times are of the clock of the owner that made the entry: what another owner has entered counts
// longer, by the difference that clocks may have.
//
// The time of its methods never goes back: an earlier t counts as the latest.
type Ledger struct {
	counts  counting
	queue   *countedBucket // counts, of a bucket: then a queue takes the place of the entries; nil otherwise
	limit   int64
	late    int64 // by how much longer the entries of other owners count
	entries []Entry
	line    queue
	holds   holdList // which entries have what they take
	numbers HoldNumbers
	now     int64
	reset   int64 // see Reset
	dropped int64 // what has ended later may have been dropped: see TellsOf

	// What was worked out of the entries, until they change.
	used      int64 // at usedFrom, and until usedUntil if entries count in full until they end
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

// forget forgets what was worked out.
func (l *Ledger) forget() {
	l.used, l.usedFrom, l.usedUntil, l.end, l.amount, l.freeAt = 0, 0, 0, 0, 0, 0
	l.openings = l.openings[:0]
}

// Until is from when on e counts no more, by the clock of the owner.
func (l *Ledger) Until(e *Entry) int64 {
	switch {
	case l.queue != nil:
		return l.line.tat.Ceil()
	case e.Mine:
		return l.counts.Ends(e.At)
	}
	return l.counts.Ends(e.At) + l.late
}

// counted is how much of e counts at t.
func (l *Ledger) counted(e *Entry, t int64) int64 {
	switch {
	case t >= l.Until(e):
		return 0
	case !e.Mine:
		t -= l.late
	}
	return l.counts.Counted(e.At, e.Amount, t)
}

// sum adds up what counts at t.
func (l *Ledger) sum(t int64) (used int64) {
	if l.queue != nil {
		return l.queued(t)
	}
	for i := range l.entries {
		used += l.counted(&l.entries[i], t)
	}
	return used
}

func (l *Ledger) entryOf(at int64, mine bool) int {
	for i := len(l.entries) - 1; i >= 0 && l.entries[i].At >= at; i-- {
		if e := &l.entries[i]; e.At == at && e.Mine == mine && e.ID == 0 {
			return i
		}
	}
	return -1
}

func (l *Ledger) insert(e Entry) {
	i, _ := slices.BinarySearchFunc(l.entries, e, func(a, b Entry) int {
		return cmp.Or(cmp.Compare(a.At, b.At), -1) // behind those of the same time
	})
	l.entries = slices.Insert(l.entries, i, e)
}
