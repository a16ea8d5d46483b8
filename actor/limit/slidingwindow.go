package limit

import (
	"math/bits"
	"time"
)

// A slidingWindow admits at most the limit in any window of its length. Admissions of one part of the window, by default a 60th, are
// one entry, which counts until all of them are older than the window: so its memory does not grow with the limit, and what was
// admitted counts for up to a part longer than it must.
//
//	┌─────┬─────┬─────┬─ ─ ─┬─────┐
//	│  3  │     │  7  │     │  1  │ entries, one for each part
//	└─────┴─────┴─────┴─ ─ ─┴─────┘
//	      │◀────── window ──────▶│t   the part that the window begins in counts whole
type slidingWindow struct {
	windows
	part int64
}

// parts is how many parts a window has.
const parts = 60

func newSlidingWindow(l Limit) (*Rule, error) {
	w := windows{int64(l.Window)}
	if err := w.check(l.Window, parts*time.Millisecond); err != nil {
		return nil, err
	}
	r, err := newCounted(l, MaxCount)
	switch {
	case err != nil:
		return nil, err
	case l.Weighted:
		r.counts(weightedWindow{w})
		r.register = l.Name + "@weighted/" + durationText(l.Window)
	default:
		r.counts(slidingWindow{w, int64(l.Window) / parts})
		r.register = l.Name + "@sliding/" + durationText(l.Window)
	}
	r.exact = w.length > soon
	return r, nil
}

// Slot is the part that t lies in.
func (s slidingWindow) Slot(t int64) (at, until int64) {
	at = floor(t, s.part)
	return at, at + s.part
}

// Ends is when the last admission of the part is as old as the window.
func (s slidingWindow) Ends(at int64) int64 { return at + s.part + s.length }

// Lasts is as long as Ends says.
func (s slidingWindow) Lasts() int64 { return s.part + s.length }

// Counted is the whole amount.
func (slidingWindow) Counted(_, amount, _ int64) int64 { return amount }

// Steps is true.
func (slidingWindow) Steps() bool { return true }

// Permits is false.
func (slidingWindow) Permits() bool { return false }

// A weightedWindow estimates what was admitted in the window before t from two windows that are aligned to its length: all of the
// one that t lies in, and of the one before the share that the window before t still overlaps, as if its admissions had been spread
// evenly over it. They may not have been: in some window it admits up to twice the limit.
type weightedWindow struct{ windows }

// Slot is the window that t lies in.
func (w weightedWindow) Slot(t int64) (at, until int64) {
	at = floor(t, w.length)
	return at, at + w.length
}

// Ends is the end of the next window.
func (w weightedWindow) Ends(at int64) int64 { return at + 2*w.length }

// Lasts is two windows.
func (w weightedWindow) Lasts() int64 { return 2 * w.length }

// Counted is the amount in its own window, and its share, rounded up, in the next.
func (w weightedWindow) Counted(at, amount, t int64) int64 {
	left := at + 2*w.length - t
	if left >= w.length {
		return amount
	}
	hi, lo := bits.Mul64(uint64(amount), uint64(left))
	lo, carry := bits.Add64(lo, uint64(w.length-1), 0)
	share, _ := bits.Div64(hi+carry, lo, uint64(w.length))
	return int64(share)
}

// Steps is false.
func (weightedWindow) Steps() bool { return false }

// Permits is false.
func (weightedWindow) Permits() bool { return false }

// Envelope is two limits: all of one at the end of a window, and nearly all of one at the end of the next.
func (w weightedWindow) Envelope(l Limit) Envelope {
	return Envelope{Burst: 2 * l.Capacity, Refill: Refill{Tokens: l.Capacity, Per: w.Fill()}}
}

// floor is t rounded down to a multiple of unit.
func floor(t, unit int64) int64 {
	rest := t % unit
	if rest < 0 {
		rest += unit
	}
	return t - rest
}
