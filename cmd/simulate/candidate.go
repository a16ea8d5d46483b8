package simulate

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

// A candidate is a limit with a bucket for every key.
type candidate struct {
	rule   *limit.Rule
	keys   []bucket // by number
	delays delays
	doc    *limit.Document
	plans  []*limit.Rule // of each plan that a line may name; the limit's own where it has none of that name
	total  Result
}

// candidatesOf are limits of a document; all of them if none is named.
func candidatesOf(doc *limit.Document, names []string) (all []*candidate, err error) {
	for _, name := range names {
		if _, ok := doc.Rule(name); !ok {
			return nil, fmt.Errorf("--limit: the document has no limit %s", limit.Quote(name))
		}
	}
	fields := map[string][]limit.FieldChange{}
	for _, f := range limit.Difference(new(limit.Document), doc).Fields {
		fields[f.Limit] = append(fields[f.Limit], f)
	}
	for _, rule := range doc.Rules() {
		if len(names) == 0 || slices.Contains(names, rule.Name) {
			c := &candidate{rule: rule, doc: doc}
			c.total.Name, c.total.Limit, c.total.fields = rule.Name, rule.Limit, fields[rule.Name]
			all = append(all, c)
		}
	}
	if len(all) == 0 {
		return nil, errors.New("there are no limits to try: name a document with -f, or a limit with --try")
	}
	return all, nil
}

// plansOf are the names of the plans that any of the candidates has, sorted. Each of them gets to know them.
func plansOf(candidates []*candidate) (names []string) {
	for _, c := range candidates {
		for _, p := range c.doc.Plans(c.rule.Name) {
			names = append(names, p.Name)
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	for _, c := range candidates {
		for _, name := range names {
			rule := c.rule
			if p, ok := c.doc.Plan(c.rule.Name, name); ok {
				rule = p.Rule
			}
			c.plans = append(c.plans, rule)
		}
	}
	return names
}

// ruleOf is by what a check is decided: an override of its key, its plan, or the limit itself.
func (c *candidate) ruleOf(asked check, key string) (rule *limit.Rule, verdict limit.Verdict) {
	if o := c.doc.Override(c.rule.Name, key, func() int64 { return asked.at }); o != nil {
		return o.Rule, o.Verdict
	}
	if asked.plan > 0 {
		return c.plans[asked.plan-1], limit.Decides
	}
	return c.rule, limit.Decides
}

// A bucket is that of one key, and what it did.
type bucket struct {
	memory  limit.Memory
	closing *limit.Closing // of a limit with a penalty

	admitted, denied int64
	delayed          int64 // of those that were admitted
}

// decide decides c, which is not earlier than the one before.
func (c *candidate) decide(asked check, key string) bool {
	for int(asked.key) >= len(c.keys) {
		c.keys = append(c.keys, bucket{})
	}
	b := &c.keys[asked.key]
	rule, verdict := c.ruleOf(asked, key)
	var o limit.Outcome
	switch verdict {
	case limit.Passes:
		o.Allowed = true
	case limit.Denies:
		o.RetryAfter = limit.RetryOfBlock
	default:
		o = c.outcome(rule, b, asked)
	}
	return c.note(b, asked, o)
}

// note counts what was decided, and says whether it was admitted.
func (c *candidate) note(b *bucket, asked check, o limit.Outcome) bool {
	if o.Allowed {
		b.admitted++
		c.total.Admitted++
		c.total.AdmittedTokens += asked.cost
		return true
	}
	if b.denied++; b.denied == 1 {
		c.total.KeysDenied++
	}
	c.total.Denied++
	c.total.DeniedTokens += asked.cost
	if o.Never {
		c.total.Never++
	}
	c.total.LongestWait = Step(max(time.Duration(c.total.LongestWait), o.RetryAfter))
	return false
}

// outcome decides a check by a rule and the key's bucket, which a penalty may have closed.
func (c *candidate) outcome(rule *limit.Rule, b *bucket, asked check) limit.Outcome {
	penalty := rule.Penalty
	if penalty == (limit.Penalty{}) {
		return c.take(rule, b, asked)
	}
	if b.closing == nil {
		b.closing = new(limit.Closing)
	}
	if closed := b.closing.For(asked.at); closed > 0 {
		o := b.memory.Look(rule, asked.at, asked.cost)
		if o.Close(closed, asked.cost); !o.Allowed && !o.Never {
			c.total.Closed++
		}
		return o
	}
	o := c.take(rule, b, asked)
	switch {
	case o.Never, asked.cost == 0:
	case o.Allowed:
		b.closing.Admit()
	case b.closing.Deny(asked.at, penalty):
		c.total.Penalties++
		o.Close(b.closing.For(asked.at), asked.cost)
	}
	return o
}

// take decides a check by what the bucket holds, now or as much later as the limit lets it wait.
func (c *candidate) take(rule *limit.Rule, b *bucket, asked check) limit.Outcome {
	wait := waitOf(rule, &b.memory, asked)
	o := b.memory.Decide(rule, asked.at+int64(wait), asked.cost)
	if wait > 0 {
		c.delays.add(wait)
		b.delayed++
	}
	o.RetryAfter = max(o.RetryAfter-rule.MaxWait, 0)
	return o
}

// waitOf is how long a check waits until it is admitted; 0 if it need not, or would have to wait longer than the limit allows.
func waitOf(rule *limit.Rule, m *limit.Memory, asked check) time.Duration {
	if rule.MaxWait == 0 || asked.cost > rule.Capacity {
		return 0
	}
	if wait := m.Wait(rule, asked.at, asked.cost); wait <= rule.MaxWait {
		return wait
	}
	return 0
}

// key is the bucket of a key, which may have none.
func (c *candidate) key(id int32) bucket {
	if int(id) >= len(c.keys) {
		return bucket{}
	}
	return c.keys[id]
}

// result is what it did, with the keys that it denied and delayed most.
func (c *candidate) result(keys *intern, top int) Result {
	r := c.total
	r.Delay = c.delays.result(c.rule.MaxWait)
	r.Top = c.most(keys, top, func(b *bucket) int64 { return b.denied })
	if r.Delay != nil {
		r.TopDelayed = c.most(keys, top, func(b *bucket) int64 { return b.delayed })
	}
	return r
}

// most are the keys of which it did that most often, those of which it did so at all.
func (c *candidate) most(keys *intern, top int, did func(*bucket) int64) []Key {
	var ids []int32
	for id := range c.keys {
		if did(&c.keys[id]) > 0 {
			ids = append(ids, int32(id)) //nolint:gosec // a number of the intern
		}
	}
	slices.SortFunc(ids, func(a, b int32) int {
		return cmp.Or(cmp.Compare(did(&c.keys[b]), did(&c.keys[a])), cmp.Compare(keys.names[a], keys.names[b]))
	})
	all := []Key{}
	for _, id := range ids[:min(top, len(ids))] {
		b := &c.keys[id]
		all = append(all, Key{Key: keys.names[id], Admitted: b.admitted, Denied: b.denied, Delayed: b.delayed})
	}
	return all
}
