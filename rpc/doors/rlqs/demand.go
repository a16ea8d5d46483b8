package rlqs

import (
	"math"
	"time"
)

// A demand is what the reports of a bucket say is asked for.
type demand struct {
	rate    float64 // requests a second
	known   bool
	heard   int64 // when there was a report last
	every   int64 // how long after one another they come, as far as that is known
	quiet   int64 // since when they have had no request
	pending uint64
}

// unheard is how long no report may come of a bucket that has had one; three times as long as they usually take, within these.
const (
	unheardLeast = 15 * int64(time.Second)
	unheardMost  = 60 * int64(time.Second)
)

// longestElapsed is the longest time that a report may be about: what says more has a wrong clock.
const longestElapsed = 10 * int64(time.Minute)

// report takes in a report of so many requests in the time that Envoy says has elapsed. Envoy cuts that to whole seconds, and says 0 of a bucket that is new. So the time between the reports, as
// they come, counts too: the longer one.
func (d *demand) report(now int64, requests uint64, elapsed int64) {
	if elapsed < 0 || elapsed > longestElapsed {
		elapsed = 0
	}
	if d.heard > 0 {
		d.every = now - d.heard
		elapsed = max(elapsed, d.every)
	}
	d.heard = now
	if requests > 0 || d.quiet == 0 {
		d.quiet = now
	}
	d.pending = saturating(d.pending, requests)
	if elapsed < int64(time.Second) {
		return // it is counted with the next one
	}
	rate := float64(d.pending) * 1e9 / float64(elapsed)
	if d.known && rate < d.rate {
		rate = (d.rate + rate) / 2
	}
	d.rate, d.known, d.pending = rate, true, 0
}

// silent says that no report came for so long that Envoy has the bucket no more.
func (d *demand) silent(now int64) bool {
	return now-d.heard > min(max(3*d.every, unheardLeast), unheardMost)
}

// wants is how many tokens are wanted for that time: what is expected, and as requests do not come evenly, twice its deviation. As long as nothing is known it is a tenth of
// the capacity.
func (d *demand) wants(span, capacity int64) int64 {
	if !d.known {
		return max(capacity/10, 1)
	}
	mean := d.rate * float64(span) / 1e9
	if wanted := math.Ceil(mean + 2*math.Sqrt(mean) + 1); wanted < float64(capacity) {
		return int64(wanted)
	}
	return capacity
}

func saturating(a, b uint64) uint64 {
	if a+b < a {
		return math.MaxUint64
	}
	return a + b
}
