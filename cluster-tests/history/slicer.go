package history

import "slices"

// sliceCalls is how many calls a slice has at most, and crowdCalls how many of them may be under way at once.
const sliceCalls, crowdCalls = 20, 12

// nowhere is before every position.
var nowhere = wide{hi: -1 << 60}

// A slicer cuts the calls of a bucket into slices, and keeps what is known of the bucket from one to the next.
type slicer struct {
	*view
	bucket   *bucket
	troubled stretches
	barred   stretches // two generations, or two limits, may stand side by side
	every    int       // of so many slices one is looked at
	turn     int
	unknown  int // calls that are in no slice

	all   []*slice
	open  *slice
	known known
	owner string // the owner that was seen to decide last
	end   int64  // of the calls so far
}

// slices are those that are to be looked at.
func (s *slicer) slices() []*slice {
	s.barred = merge(s.bars())
	s.end = s.bucket.calls[0].Start
	s.forget()
	var crowd []*Call // that are under way together
	until := int64(0)
	for _, c := range s.bucket.calls {
		switch {
		case c.Kind == KindCheck && (c.Outcome == Failed || c.Cost == 0), c.Kind == KindReset, c.Outcome == Ignored:
			continue // it constrains no other call
		case c.Outcome == Denied && s.troubled.meets(c.Start, c.End):
			s.unknown++
			continue
		case len(crowd) > 0 && c.Start > until:
			s.add(crowd, until)
			crowd, until = nil, 0
		}
		crowd, until = append(crowd, c), max(until, c.End)
	}
	s.add(crowd, until)
	s.cut()
	return s.all
}

// bars are the times at which more than one bucket may have been spent.
func (s *slicer) bars() []Span {
	var bars []Span
	aside := s.bucket.largest() + Ahead + 2*s.epsilon
	for _, t := range s.bucket.versions[1:] {
		bars = append(bars, Span{t.from, t.sure})
	}
	for _, f := range s.clocks {
		bars = append(bars, Span{f.Start, f.End})
	}
	generations, resets, first := map[int64]bool{}, 0, int64(forever)
	for _, c := range s.bucket.calls {
		switch {
		case c.Kind != KindCheck && c.Outcome == Failed:
			bars = append(bars, Span{c.Start, forever})
		case c.Outcome == Done:
			bars = append(bars, Span{c.Start, c.End + aside})
			resets++
			first = min(first, c.Start)
		case c.Outcome == Admitted && c.Receipt != nil:
			generations[c.Receipt.Generation] = true
		}
	}
	if resets > 0 && len(generations) > 1+resets { // a reset was tried again, and may happen again
		bars = append(bars, Span{first, forever})
	}
	return bars
}

// add adds calls that are under way together, until some time.
func (s *slicer) add(crowd []*Call, until int64) {
	if len(crowd) == 0 {
		return
	}
	isBarred := func(c *Call) bool { return s.barred.meets(c.Start, c.End) }
	if s.barred.meets(s.end, until) {
		s.forget()
		s.known.lo = nowhere
	}
	if slices.ContainsFunc(crowd, isBarred) { // what it has spent or given back may explain the others
		s.unknown += len(crowd)
		s.end = until
		return
	}
	if s.troubled.meets(s.end, until) || s.moved(crowd) {
		s.forget()
	}
	s.end = until
	if s.open == nil {
		s.start(crowd[0])
	}
	switch {
	case len(crowd) > crowdCalls:
		s.unknown += len(crowd)
		s.learn(crowd, until)
		s.cut()
		return
	case len(s.open.calls)+len(crowd) > sliceCalls:
		s.cut()
		s.start(crowd[0])
	}
	s.open.calls = append(s.open.calls, crowd...)
	s.learn(crowd, until)
}

// terms are those that are in force at c, which is not while they change.
func (s *slicer) terms(c *Call) *terms {
	t := &s.bucket.versions[0]
	for i := range s.bucket.versions {
		if s.bucket.versions[i].from <= c.Start {
			t = &s.bucket.versions[i]
		}
	}
	return t
}

// moved says whether another owner decides than before: what the old one had reserved may be lost.
func (s *slicer) moved(crowd []*Call) bool {
	moved := false
	for _, c := range crowd {
		if c.Outcome == Admitted && c.Receipt != nil && c.Receipt.Owner != s.owner {
			moved = moved || s.owner != ""
			s.owner = c.Receipt.Owner
		}
	}
	return moved
}

// start begins a slice with c.
func (s *slicer) start(c *Call) {
	s.open = &slice{terms: s.terms(c), base: s.bucket.calls[0].Start, epsilon: s.epsilon, before: s.known}
	if s.known.hi == nowhere { // the bucket may be empty, and a segment lost
		s.known.hi = product(c.Start+2*s.epsilon+s.bucket.largest()+Ahead-s.open.base, s.open.terms.n)
		s.open.before.hi = s.known.hi
	}
}

// forget ends the slice: from here on the bucket may be as empty as can be.
func (s *slicer) forget() {
	s.cut()
	if s.end == s.bucket.calls[0].Start {
		s.known.lo = nowhere
	}
	s.known.hi = nowhere
}

// cut ends the slice.
func (s *slicer) cut() {
	if s.open == nil || len(s.open.calls) == 0 {
		s.open = nil
		return
	}
	if s.turn%s.every == 0 {
		s.all = append(s.all, s.open)
	} else {
		s.unknown += len(s.open.calls)
	}
	s.turn++
	s.open = nil
}

// learn is what is known after calls that were decided in any order.
func (s *slicer) learn(crowd []*Call, until int64) {
	t, base := s.open.terms, s.open.base
	last := product(until+2*s.epsilon-base, t.n)
	spent, back := wide{}, wide{}
	for _, c := range crowd {
		switch {
		case c.Kind == KindReturn:
			back = back.plus(t.returned(c))
		case c.Outcome == Admitted:
			length := t.line(c.Cost)
			spent = spent.plus(length)
			s.known.lo = larger(s.known.lo, product(c.Start-2*s.epsilon-base, t.n)).plus(length)
		}
	}
	if spent.positive() {
		s.known.hi = smaller(larger(s.known.hi, last).plus(spent), last.plus(t.line(t.Capacity)))
	}
	s.known.lo = s.known.lo.minus(back)
}
