package limit

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"time"

	"github.com/jeton-dev/jeton/actor/limit/calendar"
)

// A fixedWindow admits its limit in each window of time, and what is left at the end of one is lost. The window that lasts from S to
// E spends the line behind E, which lies ahead of it. A token takes p whole nanoseconds, so that the limit fits into the shortest
// window: L = limit · p, and the lines of successive windows never overlap.
//
//	             t
//	──┬──────────┴──┬──────────────┬───────────────▶
//	  S             E          E+L │ the next window's E
//	                 │◀ spent at t▶│
//
// So line that was spent never lies before now, and a bucket is full again as soon as the next window begins.
type fixedWindow struct {
	tau      Pos               // the line of a whole window: L
	length   int64             // of windows that are aligned to the Unix epoch; 0 for those of a calendar
	inverse  uint64            // 2⁶⁴/length, rounded down: a division takes longer than all else of a decision
	calendar calendar.Calendar // equal for equal limits
}

// soon is how long a window may be at most of which line is reserved ahead. What an owner had reserved of it is lost with the owner
// until the window ends: of a longer window that would not come back soon.
const soon = int64(10 * time.Minute)

func newFixedWindow(l Limit) (*Rule, error) {
	w, err := windowsOf(&l)
	if err != nil {
		return nil, err
	}
	if l.Holds.Longest != 0 && w.longest() > soon {
		return newCountedWindow(l, w)
	}
	if shortest := w.shortest(); l.Capacity > shortest {
		return nil, &FieldError{Field: "limit", Problem: fmt.Sprintf("%d is too large for a window of %s: at most %d, a token a nanosecond",
			l.Capacity, durationText(time.Duration(shortest)), shortest)}
	}
	r, err := newRule(l, 1, uint64(w.shortest()/l.Capacity))
	if err != nil {
		return nil, err
	}
	r.exact = w.longest() > soon
	r.register = l.Name + "@" + w.shape()
	w.tau = r.tau
	r.spends(w, w.longest()+w.shortest())
	return r, nil
}

// windowsOf are the windows that l describes, in one form for all that mean the same.
func windowsOf(l *Limit) (w fixedWindow, err error) {
	switch {
	case l.Window != 0 && l.Per != "":
		return w, &FieldError{Field: "per", Problem: "stands beside window: windows are either aligned or those of the calendar: leave one of them out"}
	case l.Window != 0:
		if err = checkWindow(l.Window); err == nil {
			w.length, w.inverse = int64(l.Window), math.MaxUint64/uint64(l.Window)
		}
	case l.Per != "":
		if w.calendar, err = calendar.New(l.Per, l.Timezone, l.Anchor); err == nil {
			l.Per, l.Timezone, l.Anchor = w.calendar.Per(), w.calendar.Timezone(), w.calendar.Anchor()
		}
		if wrong := (*calendar.Error)(nil); errors.As(err, &wrong) {
			err = &FieldError{Field: wrong.Field, Problem: Quote(wrong.Value) + " " + wrong.Problem}
		}
		return w, err
	default:
		return w, &FieldError{Field: "window", Problem: "is missing: say how long a window lasts, such as 1m, or write per: day, week, month or year"}
	}
	for name, text := range map[string]string{"timezone": l.Timezone, "anchor": l.Anchor} {
		if text != "" && err == nil {
			err = &FieldError{Field: name, Problem: "belongs to windows of the calendar, and this one is aligned to the Unix epoch: leave it out, or write per: day, week, month or year in place of window"}
		}
	}
	return w, err
}

func (w fixedWindow) shortest() int64 {
	if w.length != 0 {
		return w.length
	}
	return w.calendar.Shortest()
}

func (w fixedWindow) longest() int64 {
	if w.length != 0 {
		return w.length
	}
	return w.calendar.Longest()
}

// shape is a name for the windows that no others have.
func (w fixedWindow) shape() string {
	if w.length != 0 {
		return durationText(time.Duration(w.length))
	}
	return w.calendar.String()
}

// window is the one that t lies in. At the ends of the range of time it is cut off.
func (w fixedWindow) window(t int64) (start, end int64) {
	if w.length == 0 {
		return w.calendar.Window(t)
	}
	into := w.into(t)
	start, end = t-into, t+(w.length-into)
	if start > t {
		start = math.MinInt64
	}
	if end < t {
		end = math.MaxInt64
	}
	return start, end
}

// into is how long before t the window began that t lies in.
func (w fixedWindow) into(t int64) int64 {
	if t < 0 {
		return (t%w.length + w.length) % w.length
	}
	windows, _ := bits.Mul64(uint64(t), w.inverse) // t/length, or one less
	if into := t - int64(windows)*w.length; into < w.length {
		return into
	}
	return t - int64(windows+1)*w.length
}

// Begin is the end of the window that t lies in.
func (w fixedWindow) Begin(t int64) int64 {
	_, end := w.window(t)
	return min(end, math.MaxInt64-1)
}

// Bound is the line of a whole window further.
func (w fixedWindow) Bound(t int64) Pos {
	bound := add(At(w.Begin(t)), w.tau, 1)
	return At(min(bound.NS, math.MaxInt64-1))
}

// Affordable is when the first window begins whose line reaches up to end.
func (w fixedWindow) Affordable(end Pos) Pos {
	start, _ := w.window(sub(end, w.tau, 1).NS - 1)
	return At(start)
}

// Fill is how long a window usually lasts at most: a day has 24 hours.
func (w fixedWindow) Fill() time.Duration {
	if w.length == 0 {
		return time.Duration(w.calendar.Usual())
	}
	return time.Duration(w.length)
}

// Window is what is left of the window, or a whole one if nothing was spent.
func (w fixedWindow) Window(_ int64, resetAfter time.Duration) time.Duration {
	if resetAfter == 0 {
		return w.Fill()
	}
	return resetAfter
}

// Part is the same window with that part of the limit, rounded down but at least 1.
func (fixedWindow) Part(l Limit, n int) (part Limit, ok bool) {
	part = l
	part.Capacity = max(l.Capacity/int64(n), 1)
	return part, true
}

// Envelope is what two windows admit, one at its end and the next at its beginning, and the limit in each window's length after that.
func (w fixedWindow) Envelope(l Limit) Envelope {
	return Envelope{Burst: 2 * l.Capacity, Refill: Refill{Tokens: l.Capacity, Per: time.Duration(w.shortest())}}
}

// A countedWindow is a fixed window whose admissions are counted as one entry for each window, with the holds beside it: so whichever
// owner settles a hold knows of it, in windows that are too long to wait for the next one after an owner has died.
type countedWindow struct{ fixedWindow }

func newCountedWindow(l Limit, w fixedWindow) (*Rule, error) {
	r, err := newCounted(l, MaxCount)
	if err != nil {
		return nil, err
	}
	r.exact = true
	r.register = l.Name + "@counted/" + w.shape()
	r.counts(countedWindow{w})
	return r, nil
}

// Slot is the window that t lies in.
func (w countedWindow) Slot(t int64) (at, until int64) { return w.window(t) }

// Ends is the end of the window.
func (w countedWindow) Ends(at int64) int64 {
	_, end := w.window(at)
	return end
}

// Lasts is the length of the longest window.
func (w countedWindow) Lasts() int64 { return w.longest() }

// Counted is the whole amount.
func (countedWindow) Counted(_, amount, _ int64) int64 { return amount }

// Steps is true.
func (countedWindow) Steps() bool { return true }

// Permits is false.
func (countedWindow) Permits() bool { return false }
