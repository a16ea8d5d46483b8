package limit

import "time"

// penalties is the algorithm of a bucket of penalties. Such a bucket admits nothing and denies nothing by itself: each entry is a
// penalty, from its time on, whose amount is its length in milliseconds. It is kept until the next penalty would be the first again.
type penalties struct{ windows }

// penalized gives r the rule of its penalties. The name is none that a limit may have.
func (r *Rule) penalized() error {
	if r.Penalty == (Penalty{}) {
		return nil
	}
	own, err := newCounted(Limit{Name: r.Name + "@penalty", Capacity: MaxCount, Penalty: r.Penalty}, MaxCount)
	if err != nil {
		return err
	}
	own.exact = true
	own.counts(penalties{windows{3 * int64(r.Penalty.Max)}})
	own.ofPenalties, r.penalties = true, own
	return nil
}

// Slot is t alone.
func (penalties) Slot(t int64) (at, until int64) { return t, t + 1 }

// Ends is the end of the longest penalty, and twice as long later: then the next one is the first again.
func (p penalties) Ends(at int64) int64 { return at + p.length }

// Lasts is as long as Ends says.
func (p penalties) Lasts() int64 { return p.length }

// Counted is the whole amount.
func (penalties) Counted(_, amount, _ int64) int64 { return amount }

// Steps is true.
func (penalties) Steps() bool { return true }

// Permits is false.
func (penalties) Permits() bool { return false }

// ClosedUntil is the end of the last penalty in a bucket of them, and how long it lasted; 0 and 0 for none. It has ended if that is
// not after now.
func (l *Ledger) ClosedUntil() (end int64, lasted time.Duration) {
	if len(l.entries) == 0 {
		return 0, 0
	}
	e := &l.entries[len(l.entries)-1]
	lasted = time.Duration(e.Amount) * time.Millisecond
	if end = e.At + int64(lasted); !e.Mine {
		end += l.late
	}
	return end, lasted
}

// Close enters a penalty of the rule that begins at t, in place of all before.
func (l *Ledger) Close(t int64, p Penalty) {
	l.Used(t) // what is too old to be remembered goes
	end, lasted := l.ClosedUntil()
	next := p.Next(l.now, lasted, end)
	l.entries = l.entries[:0]
	l.Enter(t, next.Milliseconds(), 0)
}

// Close says of an outcome that the bucket is closed for so long.
func (o *Outcome) Close(d time.Duration, cost int64) {
	o.Closed, o.Remaining, o.ResetAfter = true, 0, max(o.ResetAfter, d)
	if cost > 0 && !o.Never {
		o.Allowed, o.RetryAfter = false, max(o.RetryAfter, d)
	}
}
