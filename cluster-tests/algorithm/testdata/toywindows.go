package limit

import "time"

// ToyWindows is the name of windows whose length follows from the refill.
const ToyWindows = "toy-windows"

// toyWindows are aligned to multiples of the time in which a whole bucket refills, the period. In each of them as much can be spent as
// the bucket holds, and what is left at its end is lost. The window that lasts from k to k+1 periods spends the line from k+1
// to k+2 periods, which then lies ahead:
//
//	           t
//	──┬────────┴─────┬──────────────┬──────▶
//	  k             k+1            k+2         in periods
//	                 │◀ can be spent▶│
type toyWindows struct {
	n      uint64
	tau    Pos // the line of a whole bucket
	period int64
}

func newToyWindows(l Limit) (*Rule, error) {
	r, err := newRefilled(l)
	if err != nil {
		return nil, err
	}
	w := toyWindows{n: r.n, tau: r.tau, period: r.tau.Ceil()}
	r.spends(w, 2*w.period)
	return r, nil
}

// Begin is the end of the window that t lies in.
func (w toyWindows) Begin(t int64) int64 {
	k := t / w.period
	if t%w.period < 0 {
		k--
	}
	return (k + 1) * w.period
}

// Bound is a whole bucket further.
func (w toyWindows) Bound(t int64) Pos { return add(At(w.Begin(t)), w.tau, w.n) }

// Affordable is when the first window begins whose line reaches up to end.
func (w toyWindows) Affordable(end Pos) Pos {
	first := sub(end, w.tau, w.n).Ceil()
	k := first / w.period
	if first%w.period > 0 {
		k++
	}
	return At((k - 1) * w.period)
}

// Fill is a period.
func (w toyWindows) Fill() time.Duration { return time.Duration(w.period) }

// Window is what is left of the window, or a whole one if nothing was spent.
func (w toyWindows) Window(_ int64, resetAfter time.Duration) time.Duration {
	if resetAfter == 0 {
		return time.Duration(w.period)
	}
	return resetAfter
}

// Part is a window as long, up to rounding, with a part of the tokens.
func (toyWindows) Part(l Limit, n int) (part Limit, ok bool) {
	part = l
	part.Capacity = max(l.Capacity/int64(n), 1)
	part.Refill, ok = l.Refill.part(n)
	return part, ok
}

// Envelope is two buckets: one at the end of a window, and one at the beginning of the next.
func (toyWindows) Envelope(l Limit) Envelope {
	return Envelope{Burst: 2 * l.Capacity, Refill: l.Refill}
}
