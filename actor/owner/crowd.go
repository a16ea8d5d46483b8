package owner

import (
	"slices"

	"github.com/jeton-dev/jeton/actor/limit"
)

// A crowd is what an owner has beyond its first bucket: those of further limits, and the checks that wait.
type crowd struct {
	queue
	buckets []*bucket
	tidyAt  int    // how many buckets there are when tidy looks again
	didSeq  uint64 // of the last reset that a majority accepted while anybody waited
}

// crowded is the owner's crowd, which begins with the first who needs it.
func (o *Owner) crowded(out *Out) *crowd {
	if o.crowd == nil {
		o.crowd = out.spare.crowd()
	}
	return o.crowd
}

// disperse gives the crowd up once there is none.
func (o *Owner) disperse(out *Out) {
	switch c := o.crowd; {
	case c == nil || c.len() > 0:
	case len(c.buckets) == 0:
		o.crowd = nil
		out.spare.keepCrowd(c)
	default:
		c.queue = queue{}
	}
}

func (o *Owner) await(w waiter, out *Out) { o.crowded(out).push(w) }

// Waiting is how many checks and resets wait.
func (o *Owner) Waiting() int {
	if o.crowd == nil {
		return 0
	}
	return o.crowd.len()
}

// Tags calls f with the tag of every check and reset that waits.
func (o *Owner) Tags(f func(tag any)) {
	if o.crowd == nil {
		return
	}
	for i := range o.crowd.waiting() {
		f(o.crowd.waiting()[i].Tag)
	}
}

// size is how many buckets there are.
func (o *Owner) size() int {
	switch {
	case o.bucket.rule == nil:
		return 0
	case o.crowd == nil:
		return 1
	}
	return 1 + len(o.crowd.buckets)
}

// Buckets is how many buckets the owner holds.
func (o *Owner) Buckets() int { return o.size() }

// at is one of the buckets, which are numbered from 0. They move when buckets are forgotten.
func (o *Owner) at(i int) *bucket {
	if i == 0 {
		return &o.bucket
	}
	return o.crowd.buckets[i-1]
}

func (o *Owner) find(name string) *bucket {
	for i := range o.size() {
		if b := o.at(i); b.rule.Name == name {
			return b
		}
	}
	return nil
}

// of finds the bucket of rule, or makes one that knows nothing. A rule that was changed takes effect here.
func (o *Owner) of(rule *limit.Rule, out *Out) *bucket {
	if o.bucket.rule == rule { // mostly
		return &o.bucket
	}
	b := o.find(rule.Name)
	switch {
	case o.bucket.rule == nil:
		o.bucket.rule = rule
		return &o.bucket
	case b == nil:
		b = &bucket{rule: rule}
		c := o.crowded(out)
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
	c := o.crowd
	if c == nil || o.size() < max(c.tidyAt, roomFor) || c.len() > 0 {
		return
	}
	o.forgetIdle(now)
}

// forgetIdle forgets the buckets of the crowd that lose nothing by it. Nobody must wait.
func (o *Owner) forgetIdle(now int64) {
	c := o.crowd
	c.buckets = slices.DeleteFunc(c.buckets, func(b *bucket) bool { return b.busyUntil(now, o.cfg) <= now })
	if len(c.buckets) < cap(c.buckets)/4 {
		c.buckets = slices.Clone(c.buckets)
	}
	c.tidyAt = 2 * o.size()
}
