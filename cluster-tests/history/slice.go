package history

import (
	"time"

	"github.com/anishathalye/porcupine"
)

// sliceTime is the timeout for comparing one slice at first.
const sliceTime = 100 * time.Millisecond

// A slice is some calls in a row, and what is known of the bucket before them.
type slice struct {
	terms   *terms
	base    int64 // positions count from here
	epsilon int64
	before  known
	calls   []*Call
}

// A known is what can be said of a bucket: its position on the line is at least lo and at most hi.
type known struct{ lo, hi wide }

// compare looks for an order of the calls that explains their decisions, for so long.
func (s *slice) compare(within time.Duration) porcupine.CheckResult {
	operations := make([]porcupine.Operation, len(s.calls))
	for i, c := range s.calls {
		operations[i] = porcupine.Operation{ClientId: i, Call: c.Start, Return: c.End, Input: c}
	}
	return porcupine.CheckOperationsTimeout(porcupine.Model{
		Init: func() any { return s.before },
		Step: func(state, input, _ any) (bool, any) {
			return s.step(state.(known), input.(*Call)) //nolint:forcetypeassert // Init and the operations above made them
		},
	}, operations, within)
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
