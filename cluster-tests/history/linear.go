package history

import (
	"fmt"
	"time"

	"github.com/anishathalye/porcupine"
)

const (
	// linearCalls is how many calls are compared, about: of a longer history some slices of every key.
	linearCalls = 400_000
	// sliceCalls is how many calls stand in a slice, at most, and crowdCalls how many of them may be under way at once.
	sliceCalls, crowdCalls = 20, 12
	// sliceTime is how long a slice is looked at, and linearTime how long all together.
	sliceTime  = 100 * time.Millisecond
	linearTime = 20 * time.Second
)

// linear compares short slices of the history of a key with one bucket that decides call after call: there must be an order
// of them, in keeping with when they began and ended, in which this bucket could have decided so. It is the only checker
// that says whether a denial was right. A denial is right if less was there than was asked for, even after a segment of the
// length [Ahead] had gone to waste; and where something was in trouble, every denial is: during a fault, or a call of the
// bucket that failed or was slow (see [Slow]), and as long afterwards as it takes to fill, and [Fade].
//
// A slice begins and ends where no call of the key is under way. What is known of the bucket then is the range in which its
// position on the line can be. Counted as unknown are denials in trouble; calls of which too many were under way at once; all
// that follow a reset or a return that failed, since it may happen later; those that were decided while two generations or
// two limits may have stood side by side; slices for which [porcupine] needs too long; and of a long history most slices.
func linear(v *view, r *Result) {
	r.Things = "calls"
	faulty := perLimit(v.faulty)
	every := 1 + len(v.Calls)/linearCalls
	slow, began := 0, time.Now()
	for i, b := range v.buckets {
		s := slicer{view: v, bucket: b, troubled: b.troubled(faulty(b)), every: every, turn: i}
		for _, one := range s.slices() {
			result := porcupine.Unknown
			if time.Since(began) < linearTime {
				result = one.compare()
			}
			if result == porcupine.Unknown {
				r.Unknown += len(one.calls)
				slow++
				continue
			}
			if result == porcupine.Illegal {
				v.found(r, b, one.calls, "no order of these calls explains their decisions")
			}
			r.Checked += len(one.calls)
		}
		r.Unknown += s.unknown
	}
	if all := r.Checked + r.Unknown; all > 0 {
		r.Note = fmt.Sprintf("%.4f of the calls were compared", float64(r.Checked)/float64(all))
	}
	if slow > 0 {
		r.Note += fmt.Sprintf("; %d slices took too long", slow)
	}
}

// A known is what can be said of a bucket: its position on the line is at least lo and at most hi.
type known struct{ lo, hi wide }

// A slice is some calls in a row, and what is known of the bucket before them.
type slice struct {
	terms   *terms
	base    int64 // positions count from here
	epsilon int64
	before  known
	calls   []*Call
}

func (s *slice) compare() porcupine.CheckResult {
	operations := make([]porcupine.Operation, len(s.calls))
	for i, c := range s.calls {
		operations[i] = porcupine.Operation{ClientId: i, Call: c.Start, Return: c.End, Input: c}
	}
	return porcupine.CheckOperationsTimeout(porcupine.Model{
		Init: func() any { return s.before },
		Step: func(state, input, _ any) (bool, any) {
			return s.step(state.(known), input.(*Call)) //nolint:forcetypeassert // Init and the operations above made them
		},
	}, operations, sliceTime)
}

// step is what is known after a call, if it can have been decided so. It is decided at some time between first and last,
// which leave room for a clock that is epsilon off at each of two owners. An admission needs
//
//	position + length ≤ time + fill
//
// and a denial the opposite.
func (s *slice) step(k known, c *Call) (bool, known) {
	t := s.terms
	first, last := product(c.Start-2*s.epsilon-s.base, t.n), product(c.End+2*s.epsilon-s.base, t.n)
	length, fill := t.line(c.Cost), t.line(t.Capacity)
	switch {
	case c.Kind == KindReturn:
		k.lo = k.lo.minus(t.returned(c))
		return true, k
	case c.Outcome == Denied && c.Cost > t.Capacity:
		return true, k
	case c.Outcome == Denied:
		spent := first.plus(fill).minus(length).minus(product(Ahead, t.n)) // at least
		k.lo = larger(k.lo, spent)
		return spent.less(k.hi), k
	case c.Cost > t.Capacity:
		return false, k
	}
	at := larger(first, k.lo.plus(length).minus(fill))
	if last.less(at) {
		return false, k
	}
	k.lo = larger(k.lo, at).plus(length)
	k.hi = smaller(larger(k.hi, last).plus(length), last.plus(fill))
	return true, k
}

// returned is the line that a return can have given back, at most.
func (t *terms) returned(c *Call) wide {
	return product(c.Receipt.length()+1+int64(len(c.Receipt.Reuses)), t.n)
}
