package history

import (
	"fmt"
	"time"

	"github.com/anishathalye/porcupine"
)

const (
	// linearCalls is how many calls are compared, about: of a longer history some slices of every key.
	linearCalls = 400_000
	// linearTime is how long all slices are looked at together.
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
	var slow []tardy
	began := time.Now()
	for i, b := range v.of(TokenBucket) {
		if b.wait > 0 || b.takesHolds() || b.leased() { // what is leased may lie where nobody asks; checks that come later may begin earlier, where a place was given up; and debt denies
			r.Unknown += len(b.calls)
			continue
		}
		s := slicer{view: v, bucket: b, troubled: b.troubled(faulty(b)), every: every, turn: i}
		for _, one := range s.slices() {
			result := porcupine.Unknown
			if time.Since(began) < linearTime {
				result = one.compare(sliceTime)
			}
			if result == porcupine.Unknown {
				slow = append(slow, tardy{b, one})
				continue
			}
			v.compared(r, b, one, result)
		}
		r.Unknown += s.unknown
	}
	late := 0
	for _, t := range slow { // again, with the time that is left: the machine may have been slow, and not the slice
		result := porcupine.Unknown
		if left := linearTime - time.Since(began); left > sliceTime {
			result = t.slice.compare(min(left, 10*sliceTime))
		}
		if result == porcupine.Unknown {
			r.Unknown += len(t.slice.calls)
			late++
			continue
		}
		v.compared(r, t.bucket, t.slice, result)
	}
	if all := r.Checked + r.Unknown; all > 0 {
		r.Note = fmt.Sprintf("%.4f of the calls were compared", float64(r.Checked)/float64(all))
	}
	if late > 0 {
		r.Note += fmt.Sprintf("; %d slices took too long", late)
	}
}

// A tardy slice of a bucket took longer than sliceTime.
type tardy struct {
	bucket *bucket
	slice  *slice
}

// compared notes what came of a slice.
func (v *view) compared(r *Result, b *bucket, s *slice, result porcupine.CheckResult) {
	if result == porcupine.Illegal {
		v.found(r, b, s.calls, "no order of these calls explains their decisions")
	}
	r.Checked += len(s.calls)
}
