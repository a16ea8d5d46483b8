package limit

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"time"
	"unicode/utf8"
)

// LeaseTerms tells rules from one another that decide differently about the same bucket; 0 for a rule whose checks only owners decide.
func (r *Rule) LeaseTerms() uint64 { return r.terms }

// leaseTerms are those of r, once all else is known.
func (r *Rule) leaseTerms() uint64 {
	h := fnv.New64a()
	var number [8]byte
	for _, n := range []uint64{uint64(r.Capacity), r.n, r.p} {
		binary.LittleEndian.PutUint64(number[:], n)
		_, _ = h.Write(number[:]) // it never fails
	}
	_, _ = h.Write([]byte(r.Algorithm + "\x00" + r.Register()))
	return max(h.Sum64(), 1)
}

// LeasedWhenHot says that edges get leases of a bucket of r while its key is hot, and only then.
func (r *Rule) LeasedWhenHot() bool { return r.Hot == LeaseHot }

// AllowsLease refuses a lease that r never gives. Its error is a *FieldError.
func (r *Rule) AllowsLease() error {
	if r.Consistency != Leased && !r.LeasedWhenHot() {
		return &FieldError{Field: "lease", Problem: fmt.Sprintf("limit %s is not leased: its owner decides every check", Quote(r.Name))}
	}
	return nil
}

// checkLease checks what a request asks of a lease, by itself.
func (r *Request) checkLease() error {
	a := r.Lease
	switch {
	case a == nil:
		return nil
	case a.Life < time.Millisecond || int64(a.Life) > LongestLease:
		return &FieldError{Field: "lease.life", Problem: fmt.Sprintf("%s is not from 1ms to %s", durationText(a.Life), durationText(time.Duration(LongestLease)))}
	case a.After < 0 || int64(a.After) > LongestLease:
		return &FieldError{Field: "lease.after", Problem: fmt.Sprintf("%s is not from 0s to %s", durationText(a.After), durationText(time.Duration(LongestLease)))}
	case r.Least < 0 || r.Least > r.Tokens():
		return &FieldError{Field: "least", Problem: fmt.Sprintf("%d is not from 1 to the cost, %d", r.Least, r.Tokens())}
	case a.Held < 0:
		return &FieldError{Field: "lease.held", Problem: fmt.Sprintf("%d is negative", a.Held)}
	case a.Now <= 0:
		return &FieldError{Field: "lease.now", Problem: "is missing: say what the edge's clock shows, in nanoseconds since the Unix epoch"}
	case len(a.Edge) > MaxEdge || !utf8.ValidString(a.Edge):
		return &FieldError{Field: "lease.edge", Problem: fmt.Sprintf("is not a text of at most %d bytes", MaxEdge)}
	case len(r.Limits) != 1 || r.Limits[0].Inline != nil:
		return &FieldError{Field: "limits", Problem: "a lease is of one limit that is stored"}
	case r.Look || r.Extend != 0 || r.Receipt || r.Wait != 0 || r.Hold != 0 || r.ID != "":
		return &FieldError{Field: "lease", Problem: "takes tokens ahead, and nothing else: leave look, extend, receipt, wait, hold and request_id out"}
	}
	return nil
}
