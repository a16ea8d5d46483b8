package owner

import (
	"slices"

	"github.com/jeton-dev/jeton/actor/limit"
)

// passed is a lease that an owner has given, and to which edge.
type passed struct {
	limit.Lease
	edge string
	id   uint64 // of the edge
}

// passedDown are the leases of a bucket that may not be over, in the order of their line, as far as this owner has given them. They decide nothing: people
// are told how much edges hold.
type passedDown struct {
	all []passed
	sum int64 // nanoseconds of line
}

// maxPassed is how many leases of a bucket are remembered: of more, the oldest are forgotten.
const maxPassed = 512

// add adds a lease to those of its edge, which has so much line left of them.
func (p *passedDown) add(l passed, has int64) {
	for i := range slices.Backward(p.all) {
		of := &p.all[i]
		if of.id != l.id {
			continue
		}
		left := min(of.End-of.Start, max(has, 0))
		has -= left
		p.sum -= of.End - of.Start - left
		of.Start = of.End - left
	}
	if len(p.all) == maxPassed {
		p.drop(1)
	}
	p.all = append(p.all, l)
	p.sum += l.End - l.Start
}

// forget forgets the leases that are over at now.
func (p *passedDown) forget(now int64) {
	over := 0
	for over < len(p.all) && p.all[over].Until <= now {
		over++
	}
	p.drop(over)
}

// until is when the last of them is over; 0 for none.
func (p *passedDown) until() (at int64) {
	if p == nil {
		return 0
	}
	for i := range p.all {
		at = max(at, p.all[i].Until)
	}
	return at
}

// drop forgets the first n.
func (p *passedDown) drop(n int) {
	for i := range n {
		p.sum -= p.all[i].End - p.all[i].Start
	}
	p.all = slices.Delete(p.all, 0, n)
}

// giveBack notes that the line of a receipt behind its From came back, if it is that of a lease.
func (p *passedDown) giveBack(r *limit.Receipt) {
	if p == nil {
		return
	}
	for i := range p.all {
		if l := &p.all[i]; l.Serial == r.Serial && l.Generation == r.Generation {
			from := max(l.Start, min(r.From, l.End))
			p.sum -= l.End - from
			l.End = from
			return
		}
	}
}

// seen are the leases that are not over at now, as people see them.
func (p *passedDown) seen(now int64) (all []limit.LeaseSeen) {
	if p == nil {
		return nil
	}
	for i := range p.all {
		if l := &p.all[i]; l.Until > now && l.End > l.Start {
			all = append(all, limit.LeaseSeen{Edge: l.edge, Span: l.Span, Until: l.Until})
		}
	}
	return all
}
