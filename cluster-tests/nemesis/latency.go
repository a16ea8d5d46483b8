package nemesis

import (
	"math/bits"
	"time"
)

// latencies counts how long calls took, in classes that are at most 1/16 wide: little memory for any number of calls.
type latencies struct {
	classes [64 * 16]int64
	n       int64
	longest time.Duration
}

// class is where a length of so many microseconds belongs.
func class(us uint64) int {
	if us < 16 {
		return int(us)
	}
	exponent := bits.Len64(us) - 5
	return exponent*16 + int(us>>exponent)
}

// upper is the longest length of a class.
func upper(class int) time.Duration {
	if class < 16 {
		return time.Duration(class) * time.Microsecond
	}
	exponent := class/16 - 1
	return time.Duration(uint64(class%16+16+1)<<exponent-1) * time.Microsecond
}

// add counts one.
func (l *latencies) add(d time.Duration) {
	l.classes[class(uint64(max(0, d.Microseconds())))]++
	l.n++
	l.longest = max(l.longest, d)
}

// at is the length that a share q of all did not exceed.
func (l *latencies) at(q float64) time.Duration {
	rank := int64(q*float64(l.n)) + 1
	for class, n := range &l.classes {
		if rank -= n; n > 0 && rank <= 0 {
			return min(upper(class), l.longest)
		}
	}
	return l.longest
}
