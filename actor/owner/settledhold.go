package owner

import (
	"time"
	"unsafe"

	"github.com/jeton-dev/jeton/actor/limit"
)

// settledHolds are the latest holds of a line that were settled for what was used; a repeated settlement gets the same answer. Each has the
// place of its number, modulo how many places there are, and a later one takes it.
type settledHolds struct {
	places []settledHold // a power of two of them
	until  int64         // when the last one may be forgotten
}

// A settledHold is what is remembered of a hold that was settled for what was used; the zero value, of 1970, is none.
type settledHold struct {
	id     uint64
	amount int64 // tokens that it held
	used   int64 // which is what it was charged
	at     int64 // when it was taken
	until  int64 // when it would have expired
	overAt int64 // when it was settled
}

const (
	// minSettled and maxSettled are how many places there are, once there are any.
	minSettled = 16
	maxSettled = 4096

	// rememberSettled is how long they are remembered: as long as the longest deadline of a call, and the time in which its answer comes back.
	rememberSettled = int64(31 * time.Second)

	settledHoldBytes = int64(unsafe.Sizeof(settledHold{}))
)

// remembered says whether a repeated settlement is still answered by h.
func (h *settledHold) remembered(now int64) bool { return now < h.overAt+rememberSettled }

func (s *settledHolds) place(number uint64) *settledHold {
	return &s.places[number&uint64(len(s.places)-1)]
}

// find is the hold with that id, which numbers have given; or nil.
func (s *settledHolds) find(id uint64, numbers *limit.HoldNumbers, now int64) *settledHold {
	number, ok := numbers.Number(id)
	if !ok || len(s.places) == 0 {
		return nil
	}
	if h := s.place(number); h.id == id && h.remembered(now) {
		return h
	}
	return nil
}

// add remembers h, which has that number, at now. Where its place is that of a hold that is still remembered, there are made twice as many places;
// once there are as many as may be, that hold is forgotten.
func (s *settledHolds) add(h *settledHold, number uint64, numbers *limit.HoldNumbers, now int64) {
	if now >= s.until && len(s.places) != minSettled { // none is remembered
		s.places = make([]settledHold, minSettled)
	}
	for len(s.places) < maxSettled && s.place(number).remembered(now) {
		s.double(numbers, now)
	}
	*s.place(number) = *h
	s.until = max(s.until, h.overAt+rememberSettled)
}

// double makes twice as many places.
func (s *settledHolds) double(numbers *limit.HoldNumbers, now int64) {
	before := s.places
	s.places = make([]settledHold, 2*len(before))
	for i := range before {
		if h := &before[i]; h.remembered(now) {
			if number, ok := numbers.Number(h.id); ok {
				*s.place(number) = *h
			}
		}
	}
}

func (s *settledHolds) bytes() int64 { return settledHoldBytes * int64(cap(s.places)) }
