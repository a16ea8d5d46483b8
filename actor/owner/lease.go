package owner

import (
	"github.com/jeton-dev/jeton/actor/limit"
)

// A lease is line that the owner passes down to an edge, which spends it by itself. Like a check that waits, it is decided now and begins at times
// that this owner does not choose, until it ends: so until then, line that came back is spent in its place. See docs/protocol.md, "Leases".
//
//	────────┬──────────────┬──────────────┬──────────────▶ line
//	        TAT  skipped   a    leased    b = t + life
//
// Line ahead of t lasts until time has passed it. Behind TAT alone, a bucket that refills fast would pass down line that is over before the
// edge has it. What is skipped is spent by nobody.

// leaseOf fits a lease for c into the bucket: how much of the line, from where on. It is no more than half of what is left, so that others find
// something, and nothing if c's least is more than that. It lowers the cost of c to what it is.
//
// A holder that knows no positions spends its line anywhere up to t + after: the line lies behind that, so that it is ahead of the holder whenever it spends. In
// windows that works as long as the window of t lasts.
func (b *bucket) leaseOf(c *Check) (from, length int64) {
	r := b.rule
	begin, bound := r.Begin(c.At), r.Bound(c.At).NS
	from = max(b.tat.Ceil(), r.Begin(c.At+c.LeaseAfter))
	half := (bound - from) / 2
	tokens := min(c.Cost, r.TokensUpTo(limit.At(from+half), limit.At(from), c.At))
	if tokens < max(c.Least, 1) {
		return from, 0
	}
	c.Cost = tokens
	length = min(r.Length(tokens).Ceil(), half)
	if life := min(c.Lease, (bound-begin)/2); begin == c.At {
		from = max(from, c.At+life-length)
	}
	return from, length
}

// testLease is test for a lease.
func (b *bucket) testLease(c *Check, cfg *Config) (length limit.Pos, _ result) {
	from, ns := b.leaseOf(c)
	if ns == 0 {
		end := b.rule.Add(limit.At(from), b.rule.Length(max(c.Least, 1)))
		return limit.Pos{}, result{verdict: deny, end: limit.Later(end, b.rule.Add(b.rule.Bound(c.At), limit.At(1)))}
	}
	length = limit.Pos{NS: ns}
	end := limit.At(from + ns)
	if !end.After(limit.At(b.held.to)) {
		return length, result{verdict: admit, end: end}
	}
	switch next := b.next(); {
	case next.to > next.from:
		return length, result{verdict: enter, end: end}
	case b.pending() != nil:
		return length, result{verdict: stay, end: end}
	}
	start := b.start(c.At, c.At, cfg)
	end = limit.At(max(from, start) + ns)
	if end.After(b.rule.Bound(c.At)) {
		return length, result{verdict: deny, end: end}
	}
	return length, result{verdict: wait, end: end, need: end, from: start}
}
