package limit

import (
	"fmt"
	"time"
)

// A concurrency limit admits while fewer than the limit are inside. Every admission is a permit. It ends when it is returned, or by
// itself after its lease, which can be extended before that: a client that dies is forgotten.
type concurrency struct{ lease int64 }

// The range of a lease. A shorter one ends while the answer is on its way; a longer one keeps the place of a client that died for
// more than a day.
const (
	minLease = time.Second
	maxLease = 24 * time.Hour
)

// maxPermits is how many may be inside at most: so many entries are some kilobytes, which are written with every change.
const maxPermits = 500

func newConcurrency(l Limit) (*Rule, error) {
	switch {
	case l.Lease == 0:
		return nil, &FieldError{Field: "lease", Problem: "is missing: say after how long a client that has died is forgotten, such as 30s"}
	case l.Lease < minLease || l.Lease > maxLease:
		return nil, &FieldError{Field: "lease", Problem: fmt.Sprintf("%s is not between %s and %s", durationText(l.Lease), durationText(minLease), durationText(maxLease))}
	}
	r, err := newCounted(l, maxPermits)
	if err != nil {
		return nil, err
	}
	r.exact = true
	r.register = l.Name + "@concurrency/" + durationText(l.Lease)
	r.counts(concurrency{int64(l.Lease)})
	return r, nil
}

// Fill is the lease.
func (c concurrency) Fill() time.Duration { return time.Duration(c.lease) }

// Window is the time until a place is sure to be free.
func (concurrency) Window(_ int64, resetAfter time.Duration) time.Duration { return resetAfter }

// Part is a part of the places, rounded down but at least 1.
func (concurrency) Part(l Limit, n int) (part Limit, ok bool) {
	l.Capacity = max(l.Capacity/int64(n), 1)
	return l, true
}

// Envelope is what is admitted if no permit is returned: the limit in each lease.
func (c concurrency) Envelope(l Limit) Envelope {
	return Envelope{Burst: l.Capacity, Refill: Refill{Tokens: l.Capacity, Per: c.Fill()}}
}

// Slot is t alone.
func (concurrency) Slot(t int64) (at, until int64) { return t, t + 1 }

// Ends is the end of the lease.
func (c concurrency) Ends(at int64) int64 { return at + c.lease }

// Lasts is the lease.
func (c concurrency) Lasts() int64 { return c.lease }

// Counted is the whole amount.
func (concurrency) Counted(_, amount, _ int64) int64 { return amount }

// Steps is true.
func (concurrency) Steps() bool { return true }

// Permits is true.
func (concurrency) Permits() bool { return true }
