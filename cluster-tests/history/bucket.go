package history

import (
	"cmp"
	"slices"
)

// A terms is one version of a limit, made ready to reckon with: a token is p/n nanoseconds of line.
type terms struct {
	*Limit
	n, p int64 // refill in lowest terms: n tokens every p nanoseconds
	from int64 // it may have been in force from here on
	to   int64 // and up to here
	sure int64 // from here on up to the next one's from nothing else was in force
}

// forever is after every time.
const forever = 1 << 62

func newTerms(l *Limit) terms {
	tokens, per := l.Tokens, l.PerNS
	if l.Algorithm != TokenBucket { // a fixed window has a line, of whole nanoseconds for each token
		tokens, per = 1, l.Length/l.Capacity
	}
	a, b := tokens, per
	for b != 0 {
		a, b = b, a%b
	}
	return terms{Limit: l, n: tokens / a, p: per / a, from: l.At, sure: max(l.At, l.By), to: forever}
}

// line is the length of cost tokens, in n-ths of a nanosecond.
func (t *terms) line(cost int64) wide { return product(t.p, cost) }

// fill is how long an empty bucket takes to fill, in nanoseconds, rounded up.
func (t *terms) fill() int64 {
	if t.Algorithm != TokenBucket {
		return t.counted()
	}
	return divideUp(t.p, t.Capacity, t.n)
}

// counted is how long what was admitted may count, in nanoseconds, for whatever process decides.
func (t *terms) counted() int64 {
	switch t.Algorithm {
	case FixedWindow, Weighted:
		return 2*t.Length + Late
	case SlidingWindow:
		return t.Length + t.Length/parts + Late
	}
	return t.Length + Late
}

// A bucket is what was asked of one key and limit, in the order in which the calls began.
type bucket struct {
	key      string
	versions []terms
	calls    []*Call
	wait     int64 // the longest of a check
}

// inForce are the versions of the limit of which any may have been in force at some time of a call.
func (b *bucket) inForce(c *Call) []terms {
	if len(b.versions) == 1 {
		return b.versions
	}
	var some []terms
	for _, v := range b.versions {
		if v.from <= c.End && c.Start <= v.to {
			some = append(some, v)
		}
	}
	if len(some) == 0 { // before the first
		return b.versions[:1]
	}
	return some
}

// admitted are the checks that were, in the order in which they began.
func (b *bucket) admitted() []*Call { return b.only(KindCheck, Admitted) }

func (b *bucket) only(k Kind, o ...Outcome) []*Call {
	var some []*Call
	for _, c := range b.calls {
		if c.Kind == k && slices.Contains(o, c.Outcome) {
			some = append(some, c)
		}
	}
	return some
}

// buckets sorts the calls of h by bucket; the buckets are in the order of their names.
func buckets(h *History) []*bucket {
	versions := map[string][]terms{}
	for i := range h.Limits {
		l := &h.Limits[i]
		v := newTerms(l)
		if before := versions[l.Name]; len(before) > 0 {
			before[len(before)-1].to = v.sure
		}
		versions[l.Name] = append(versions[l.Name], v)
	}
	type name struct{ limit, key string }
	found := map[name]*bucket{}
	var all []*bucket
	for i := range h.Calls {
		c := &h.Calls[i]
		b := found[name{c.Limit, c.Key}]
		if b == nil {
			b = &bucket{key: c.Key, versions: versions[c.Limit]}
			found[name{c.Limit, c.Key}] = b
			all = append(all, b)
		}
		b.calls = append(b.calls, c)
		b.wait = max(b.wait, c.Wait)
	}
	slices.SortFunc(all, func(a, b *bucket) int {
		return cmp.Or(cmp.Compare(a.versions[0].Name, b.versions[0].Name), cmp.Compare(a.key, b.key))
	})
	for _, b := range all {
		slices.SortStableFunc(b.calls, func(a, b *Call) int { return cmp.Compare(a.Start, b.Start) })
	}
	return all
}

// largest is how long the bucket takes to fill, in nanoseconds, under the limit under which that takes longest, and behind the check that
// waited longest.
func (b *bucket) largest() int64 {
	ns := int64(0)
	for i := range b.versions {
		ns = max(ns, b.versions[i].fill()+b.versions[i].owing())
	}
	return ns + b.wait
}

// takesHolds says whether the bucket's limit does.
func (b *bucket) takesHolds() bool { return b.versions[0].Holds != "" }

// leased says whether others than owners spend line of it.
func (b *bucket) leased() bool { return b.versions[0].Leased }

// durable says whether any process knows of the holds of a limit: where what one has lost would not come back within ten minutes.
func (t *terms) durable() bool {
	const soon = int64(600e9)
	switch t.Algorithm {
	case TokenBucket:
		return t.fill() > soon
	case FixedWindow:
		return t.Length > soon
	}
	return true
}

// debt is the most that may be charged beyond the limit.
func (b *bucket) debt() (most int64) {
	for i := range b.versions {
		most = max(most, b.versions[i].Debt)
	}
	return most
}

// bounded says whether the debt of the bucket has a bound, at any time.
func (b *bucket) bounded() bool {
	return slices.ContainsFunc(b.versions, func(t terms) bool { return t.Debt < Boundless })
}

// owing is how long a bucket that is in debt as deep as may be takes to come out of it, in nanoseconds, rounded up.
func (t *terms) owing() int64 {
	const longest = 1 << 60
	if debt := t.line(t.Debt); t.Algorithm == TokenBucket && debt.less(product(longest, t.n)) {
		return divideUp(t.p, t.Debt, t.n)
	} else if debt.positive() && t.Algorithm == TokenBucket {
		return longest
	}
	return 0
}
