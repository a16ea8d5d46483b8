package limit

// A slidingLog admits at most the limit in any window of its length, exactly: every admission is an entry. So its memory grows with
// the limit.
type slidingLog struct{ windows }

// maxLog is the most that a sliding log admits in a window: so many entries are a few kilobytes, which are written with every
// admission.
const maxLog = 1000

func newSlidingLog(l Limit) (*Rule, error) {
	w := windows{int64(l.Window)}
	if err := w.check(l.Window, minWindow); err != nil {
		return nil, err
	}
	r, err := newCounted(l, maxLog)
	if err != nil {
		return nil, err
	}
	r.exact = true
	r.register = l.Name + "@log/" + durationText(l.Window)
	r.counts(slidingLog{w})
	return r, nil
}

// Slot is t alone.
func (slidingLog) Slot(t int64) (at, until int64) { return t, t + 1 }

// Ends is the time at which an admission is as old as the window.
func (s slidingLog) Ends(at int64) int64 { return at + s.length }

// Lasts is the length of the window.
func (s slidingLog) Lasts() int64 { return s.length }

// Counted is the whole amount.
func (slidingLog) Counted(_, amount, _ int64) int64 { return amount }

// Steps is true.
func (slidingLog) Steps() bool { return true }

// Permits is false.
func (slidingLog) Permits() bool { return false }
