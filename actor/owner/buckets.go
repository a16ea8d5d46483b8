package owner

import (
	"slices"

	"github.com/jeton-dev/jeton/actor/limit"
)

// size is how many buckets there are.
func (o *Owner) size() int {
	switch {
	case o.bucket.rule == nil:
		return 0
	case o.overflow == nil:
		return 1
	}
	return 1 + len(o.overflow.buckets)
}

// Buckets is how many buckets the owner holds.
func (o *Owner) Buckets() int { return o.size() }

// at is one of the buckets, which are numbered from 0. They move when buckets are forgotten.
func (o *Owner) at(i int) *bucket {
	if i == 0 {
		return &o.bucket
	}
	return o.overflow.buckets[i-1]
}

func (o *Owner) find(name string) *bucket {
	for i := range o.size() {
		if b := o.at(i); b.rule.Name == name {
			return b
		}
	}
	return nil
}

// withRegister is the bucket that has that register, or nil.
func (o *Owner) withRegister(name string) *bucket {
	for i := range o.size() {
		if b := o.at(i); b.rule.Register() == name {
			return b
		}
	}
	return nil
}

// bucketOf finds the bucket of rule, or makes one that knows nothing. A rule that was changed takes effect here.
func (o *Owner) bucketOf(rule *limit.Rule, out *Out) *bucket {
	if o.bucket.rule == rule { // mostly
		return &o.bucket
	}
	b := o.find(rule.Name)
	switch {
	case o.bucket.rule == nil:
		o.bucket.begin(rule, o.cfg)
		return &o.bucket
	case b == nil:
		b = &bucket{}
		b.begin(rule, o.cfg)
		c := o.withOverflow(out)
		c.buckets = append(c.buckets, b)
	case b.differs(rule):
		b.change(rule, o.cfg)
	}
	return b
}

// changes says whether one of the rules would take the place of another one.
func (o *Owner) changes(rules []*limit.Rule) bool {
	return slices.ContainsFunc(rules, func(rule *limit.Rule) bool {
		b := o.find(rule.Name)
		return b != nil && b.differs(rule)
	})
}

// roomFor is how many buckets a key may have before those are looked for that can be forgotten: callers invent the names
// of limits that they define themselves.
const roomFor = 2 * limit.MaxLimits

// tidy forgets the buckets that lose nothing by it, once there are many. The first one has its room anyway.
func (o *Owner) tidy(now int64) {
	c := o.overflow
	if c == nil || o.size() < max(c.tidyAt, roomFor) || c.len() > 0 {
		return
	}
	o.forgetIdle(now)
}

// forgetIdle forgets the buckets besides the first that lose nothing by it. No check may wait.
func (o *Owner) forgetIdle(now int64) {
	c := o.overflow
	c.buckets = slices.DeleteFunc(c.buckets, func(b *bucket) bool { return b.busyUntil(now, o.cfg) <= now })
	if len(c.buckets) < cap(c.buckets)/4 {
		c.buckets = slices.Clone(c.buckets)
	}
	c.tidyAt = 2 * o.size()
}

// withOverflow is the owner's overflow, which is made when it is first needed.
func (o *Owner) withOverflow(out *Out) *overflow {
	if o.overflow == nil {
		o.overflow = out.reusable.overflow()
	}
	return o.overflow
}

// release gives the overflow back once nothing is in it.
func (o *Owner) release(out *Out) {
	switch c := o.overflow; {
	case c == nil || c.len() > 0:
	case len(c.buckets) == 0:
		o.overflow = nil
		out.reusable.keepOverflow(c)
	default:
		c.queue = queue{}
	}
}

func (o *Owner) await(w waiter, out *Out) { o.withOverflow(out).push(w) }

// Waiting is how many checks and resets wait.
func (o *Owner) Waiting() int {
	if o.overflow == nil {
		return 0
	}
	return o.overflow.len()
}

// Tags calls f with the tag of every check and reset that waits.
func (o *Owner) Tags(f func(tag any)) {
	if o.overflow == nil {
		return
	}
	for i := range o.overflow.waiting() {
		f(o.overflow.waiting()[i].Tag)
	}
}
