package limit

import (
	"cmp"
	"time"
)

// MaxFill is the longest time that an empty bucket may take to fill: 2⁶¹ ns, about 73 years. So the sum of a time and a few such
// lengths fits in 64 bits.
const MaxFill = time.Duration(1 << 61)

// A Rule is a Limit made ready to decide: its algorithm, and the arithmetic of its positions. It is immutable. Two Rules that are
// equal (==) decide alike; those that decide alike are Equal.
type Rule struct {
	Limit
	price           // the line of a token
	tau      Pos    // the line of a whole bucket
	reach    int64  // how far ahead of now what is admitted lies at most, on a line or in the ledger of a bucket
	debt     Pos    // see Debt
	lead     int64  // the longest reach under any numbers of the limit, if that is known to be longer: see Lasting
	register string // see Register; empty for the name
	// penalties is the rule of the bucket of its penalties, which follows from the Limit; nil if it has none.
	penalties *Rule
	line      line     // the algorithm, if it spends a line; nil otherwise
	counting  counting // the algorithm, if it counts entries; nil otherwise

	Inline bool // a request has defined the limit
	shared bool // so have others, and it is remembered for them
	exact  bool // see Exact
	// See Spare, and SpareLine.
	spare, spareLine int64

	ofPenalties bool // see OfPenalties

	terms uint64 // see LeaseTerms
}

// Defined is the limit as a request has defined it; nil for a stored one.
func (r *Rule) Defined() *Limit {
	if !r.Inline {
		return nil
	}
	return &r.Limit
}

// errTooLong refuses a limit whose line would reach further ahead than positions can.
var errTooLong = &FieldError{
	Field:   "capacity",
	Problem: "at this refill an empty bucket takes more than 73 years to fill: lower the capacity or refill faster",
}

// newRule makes a rule by which n tokens are p nanoseconds of line. The caller says what they spend or how they count.
func newRule(l Limit, n, p uint64) (*Rule, error) {
	r := &Rule{Limit: l, price: newPrice(n, p)}
	r.tau = r.Length(l.Capacity)
	if r.tau.Ceil() > int64(MaxFill) {
		return nil, errTooLong
	}
	return r, nil
}

// newRefilled is newRule by the limit's refill.
func newRefilled(l Limit) (*Rule, error) {
	if l.Refill == (Refill{}) {
		return nil, &FieldError{Field: "refill", Problem: "is missing: write n/duration, such as 5/s"}
	}
	if err := l.Refill.validate(); err != nil {
		return nil, err
	}
	return newRule(l, uint64(l.Refill.Tokens), uint64(l.Refill.Per))
}

// spends makes r a rule of an algorithm that spends a line, and that far ahead of now at most.
func (r *Rule) spends(a line, reach int64) { r.line, r.reach = a, reach }

// counts makes r a rule of an algorithm that counts entries.
func (r *Rule) counts(a counting) { r.counting = a }

// algorithm is how r decides.
func (r *Rule) algorithm() algorithm {
	if r.line != nil {
		return r.line
	}
	return r.counting
}

// Length is the line that cost tokens consume. If that is out of range, it is the greatest length.
func (r *Rule) Length(cost int64) Pos { return r.length(cost) }

// Begin is the start of the line that a check at t may spend: t or later.
func (r *Rule) Begin(t int64) int64 { return r.line.Begin(t) }

// Bound is the last position at which a span may end that is spent at t. It always lies before the end of the range, where
// [Rule.Add] stops.
func (r *Rule) Bound(t int64) Pos { return r.line.Bound(t) }

// End is where the span of a check of that length ends when it is decided at t in a bucket at tat.
func (r *Rule) End(tat Pos, t int64, length Pos) Pos {
	return r.Add(Later(tat, At(r.Begin(t))), length)
}

// Decide is the whole decision on a bucket held in memory: the TAT after a check of cost at t, and whether it was
// admitted. A denied check leaves the TAT as it is.
func (r *Rule) Decide(tat Pos, t, cost int64) (Pos, bool) {
	end := r.End(tat, t, r.Length(cost))
	if end.After(r.Bound(t)) {
		return tat, false
	}
	if cost == 0 {
		return tat, true
	}
	return end, true
}

// Start is when a check of that length, of which there is no more than in a full bucket, is admitted first: at t or later, in a
// bucket at tat that nobody else spends from. At any later time it is admitted too.
func (r *Rule) Start(tat Pos, t int64, length Pos) int64 {
	return t + int64(r.Wait(r.End(tat, t, length), t))
}

// Wait is how long after t a span that ends at end can be spent; 0 if it can be at t.
func (r *Rule) Wait(end Pos, t int64) time.Duration {
	return r.Sub(r.line.Affordable(end), At(t)).duration()
}

// Fill is how long an empty bucket takes to fill at most, rounded up to the nanosecond.
func (r *Rule) Fill() time.Duration { return r.algorithm().Fill() }

// Reach is how far ahead of now this rule may ever spend line, in nanoseconds: by a check that waits as long as it may. It is 0 where
// entries are counted.
func (r *Rule) Reach() int64 {
	if r.line == nil {
		return 0
	}
	return r.reach
}

// Lead is how long before a position of the line an owner can have reserved what lies behind it at the earliest, in nanoseconds: as
// far as Ahead, or how long an entry counts. A generation lies as far ahead, so what is reserved behind a floor lies behind the resets
// that the floor has forgotten.
func (r *Rule) Lead() int64 {
	switch {
	case r.line != nil:
		return r.Ahead()
	case r.OfPenalties(): // none is kept from who lost what a majority had stored: that would close every bucket for as long
		return 0
	}
	return max(r.counting.Lasts(), r.Lasting())
}

// Ahead is how far ahead of now line can be reserved under any numbers of the limit, in nanoseconds: its own, its plans' or its
// overrides'. All of them spend the line of the same bucket. It is 0 where entries are counted.
func (r *Rule) Ahead() int64 {
	if r.line == nil {
		return 0
	}
	return r.Lasting()
}

// Lasting is how long what was admitted may matter under any numbers of the limit, in nanoseconds, where that follows from its numbers: on
// a line, and in the ledger of a bucket, until it has come back. It is 0 of windows, whose register says how long they are.
func (r *Rule) Lasting() int64 { return max(r.reach, r.lead) }

// leading is r as one of several rules of a limit, of which the longest reach is lead.
func (r *Rule) leading(lead int64) *Rule {
	if lead <= r.reach {
		lead = 0
	}
	if r.reach == 0 || r.lead == lead {
		return r
	}
	other := *r
	other.lead = lead
	return &other
}

// Equal says whether r and o are the same in all that decides.
func (r *Rule) Equal(o *Rule) bool {
	a, b := *r, *o
	a.penalties, b.penalties = nil, nil
	a.shared, b.shared = false, false
	a.Reserve, b.Reserve = 0, 0 // Exact and Spare decide
	a.Gauges, b.Gauges = 0, 0
	return a == b
}

// SameNumbers says whether r, which has the register of o, has the same numbers: as one plan of a limit may, and another one may not.
func (r *Rule) SameNumbers(o *Rule) bool {
	return r == o || r.Capacity == o.Capacity && r.Refill == o.Refill
}

// alike says whether r and o decide alike, whatever else the limit reaches.
func (r *Rule) alike(o *Rule) bool {
	a, b := *r, *o
	a.lead, b.lead = 0, 0
	return a.Equal(&b)
}

// Penalties is the rule of the bucket beside the limit's own in which its penalties stand, or nil if it has none.
func (r *Rule) Penalties() *Rule { return r.penalties }

// OfPenalties says whether r is the rule of a bucket of penalties.
func (r *Rule) OfPenalties() bool { return r.ofPenalties }

// Exact says that nothing may be reserved of a bucket's line beyond what checks spend: what is lost with an owner would take too long
// to come back.
func (r *Rule) Exact() bool { return r.exact }

// Register is the name of a bucket's register: the limit's name, and for windows also which windows these are, as in
// "page@1m" and "monthly@month/15/Europe/Berlin". A position of one shape of windows says nothing about the line of another.
func (r *Rule) Register() string { return cmp.Or(r.register, r.Name) }

// PerToken is the line that a token consumes, in nanoseconds, for what need not be exact.
func (r *Rule) PerToken() float64 { return float64(r.p) / float64(r.n) }

// Window is the time over which a client can spread the tokens that remain; when none remains, the time until the next one.
// ResetAfter is the time until the bucket is full.
func (r *Rule) Window(remaining int64, resetAfter time.Duration) time.Duration {
	return r.algorithm().Window(remaining, resetAfter)
}

// Envelope is what the rule admits at most in any window of time.
func (r *Rule) Envelope() Envelope { return r.algorithm().Envelope(r.Limit) }

// Tokens is how many whole tokens fit in the line between tat and the bound of t.
func (r *Rule) Tokens(tat Pos, t int64) int64 { return r.TokensUpTo(r.Bound(t), tat, t) }

// TokensUpTo is Tokens for another bound.
func (r *Rule) TokensUpTo(bound, tat Pos, t int64) int64 {
	from := Later(tat, At(r.Begin(t)))
	if from.After(bound) {
		return 0
	}
	return r.tokensIn(r.Sub(bound, from))
}

// TokensIn is how many whole tokens so many nanoseconds of line are.
func (r *Rule) TokensIn(ns int64) int64 { return r.tokensIn(Pos{NS: ns}) }

// TokensFor is how many tokens pay for a length of line: rounded up, and none for one of less than nothing.
func (r *Rule) TokensFor(length Pos) int64 { return r.tokensFor(length) }

// Outcome describes to a caller what was decided at t. tat is the bucket after the decision, end where the check's span
// ends or would have ended, and allowed whether this rule lets it pass.
func (r *Rule) Outcome(tat Pos, t int64, cost int64, end Pos, allowed bool) Outcome {
	o := Outcome{
		Name:       r.Name,
		Allowed:    allowed,
		Limit:      r.Capacity,
		Remaining:  r.Tokens(tat, t),
		ResetAfter: r.Wait(r.Add(tat, r.tau), t), // when a whole bucket can be spent behind tat
	}
	switch {
	case cost > r.Capacity:
		o.Allowed, o.Never = false, true
	case !allowed:
		o.RetryAfter = r.Wait(end, t)
	}
	return o
}

// Same says whether positions of r and o can be compared: whether both divide the nanosecond into as many parts.
func (r *Rule) Same(o *Rule) bool { return r.n == o.n }

// Carry turns a position of the rule from into one of r, for a bucket whose limit was changed. The TAT stays where it is, since debt
// is measured in time. It is rounded up to a whole nanosecond if the rules divide the nanosecond differently.
func (r *Rule) Carry(from *Rule, a Pos) Pos {
	if r.Same(from) {
		return a
	}
	return At(a.Ceil())
}
