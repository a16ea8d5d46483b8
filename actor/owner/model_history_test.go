package owner

import (
	"fmt"
	"math/bits"
	"slices"

	"github.com/jeton-dev/jeton/actor/limit"
)

// A history is all that was ever spent, of every generation.
type history struct{ eras []era }

// An era is what was spent in one generation. A piece of line is a set of bits, one for each tick.
type era struct {
	generation int64
	position   int64  // everything of earlier eras counts up to here, and no further
	spent      uint64 // by admissions that were not returned
	free       uint64 // by admissions that were returned, and not spent again since
	leased     uint64 // passed down to edges, and neither spent nor given back
	over       uint64 // up to the position of a later era's reset that was done: nothing of this is reserved here any more …
	held       uint64 // … but what was when the reset was done, and may yet be spent
	agreed     uint64 // what a majority accepted in the first epoch, of two
	level      int8   // net admitted before the tick from, less what came back since; see settle
	from       int8
	net        [32]int8 // net admitted at each tick from then on
}

func (h *history) copyTo(d *history) { d.eras = append(d.eras[:0], h.eras...) }

// era is the one of that generation.
func (h *history) era(generation int64) *era {
	i, found := slices.BinarySearchFunc(h.eras, generation, func(e era, g int64) int { return int(e.generation - g) })
	if !found {
		h.eras = slices.Insert(h.eras, i, era{generation: generation, position: generation})
	}
	return &h.eras[i]
}

// line is the set of ticks in (from, to]; ok is false if the ends are no whole ticks.
func line(from, to int64) (set uint64, ok bool) {
	if from%tick != 0 || to%tick != 0 || from < 0 || to < from || to/tick > 62 {
		return 0, false
	}
	return uint64(2)<<(to/tick) - uint64(2)<<(from/tick), true
}

// spend writes an admission down and says what is wrong with it, if anything is.
func (h *history) spend(r limit.Receipt, at reading, s *setting) (broken string) {
	e := h.era(r.Generation)
	fresh, ok := line(r.Start, r.End)
	length := bits.OnesCount64(fresh)
	for _, p := range r.Reuses {
		reused, whole := line(p.Start, p.End)
		if reused&^e.free != 0 {
			return fmt.Sprintf("the receipt reuses %s, which was not returned or has been spent again since", span(p))
		}
		e.free &^= reused
		e.spent |= reused
		length += bits.OnesCount64(reused)
		ok = ok && whole
	}
	if !ok || int64(length) != at.cost {
		return fmt.Sprintf("the receipt of a cost of %d proves a line of %d", at.cost, length)
	}
	if fresh&(e.spent|e.free|e.leased) != 0 {
		return fmt.Sprintf("%s is spent twice in one generation", span(r.Span))
	}
	if late := fresh & e.over &^ e.held; late != 0 {
		return fmt.Sprintf("%s is spent in a generation that was over when it was reserved", span(r.Span))
	}
	e.spent |= fresh
	for i := range h.eras {
		other := &h.eras[i]
		beyond := ^uint64(0) << (max(other.position, e.position)/tick + 1)
		if other != e && other.spent&fresh&beyond != 0 {
			return fmt.Sprintf("%s is spent in two generations, beyond the reset between them at %d", span(r.Span),
				max(other.position, e.position)/tick)
		}
	}
	e.net[at.at/tick] += int8(at.cost)
	return e.window(s)
}

// giveBack writes down that the admission of r was returned, with effect.
func (h *history) giveBack(r limit.Receipt, at reading) (broken string) {
	e := h.era(r.Generation)
	for _, p := range append([]limit.Span{r.Span}, r.Reuses...) {
		returned, _ := line(p.Start, p.End)
		if returned&^e.spent != 0 {
			return fmt.Sprintf("the return of %s took effect, and it was not spent", span(p))
		}
		e.spent &^= returned
		e.free |= returned
	}
	e.net[at.at/tick] -= int8(at.cost)
	return ""
}

// reset writes down that the reset which began a generation is done. held is the line that owners had reserved by then
// in each of the generations before.
func (h *history) reset(generation int64, held func(generation int64) uint64) {
	position := h.era(generation).position
	h.era(0) // of owners that have not heard of any reset
	for i := range h.eras {
		if e := &h.eras[i]; e.generation < generation {
			e.over |= ^(^uint64(0) << (position/tick + 1))
			e.held |= held(e.generation)
		}
	}
}

// window asserts the promise for every window that ends where something was admitted: net at most C + r·w + 2·r·ε.
func (e *era) window(s *setting) (broken string) {
	slack := int64(0)
	for _, c := range append(s.clock[:], s.edgeClock[:]...) {
		slack = max(slack, 2*c)
	}
	level, burst := int64(e.level), s.burst()
	for t := int64(e.from); t < int64(len(e.net)); t++ {
		level = max(level-1, 0) + int64(e.net[t])
		if level > burst+slack {
			return fmt.Sprintf("in a window that ends at %d, %d more is admitted than comes back in it: the bucket holds %d",
				t, level, burst)
		}
	}
	return ""
}

// settle sums up what was admitted before a time from which on nothing is admitted any more, and forgets line that no
// span can touch any more: all begin after the time at which their check came. level is the most by which the net of a
// window that ends there exceeds what comes back in it, which is all that a longer window needs to know of it.
func (h *history) settle(before int64, reuse bool) {
	for i := range h.eras {
		e := &h.eras[i]
		for ; int64(e.from) < before/tick; e.from++ {
			e.level = max(e.level-1, 0) + e.net[e.from]
			e.net[e.from] = 0
		}
		if !reuse {
			e.spent &= ^uint64(0) << (before/tick + 1)
		}
		e.agreed &= ^uint64(0) << (before/tick + 1)
	}
}
