package limit

import (
	"maps"
	"slices"
)

// The overrides of a limit are divided into many maps, so that a change copies one of them and not all. Few are one map: most limits
// have few, and the many would take eight kilobytes of each.
const (
	shardsOf = 512
	fewOf    = 64 // from so many on they are divided
)

// overrides are those of one limit, immutable. A key is looked up once, and once more for each length that a prefix has.
type overrides struct {
	exact, begin shards
	lengths      []int       // of the prefixes, the longest first
	count        map[int]int // how many prefixes have a length
}

// counts is o, or the one of the document that it covers, if that counts at a time; nil otherwise. Now is asked only for one that ends.
func (o *Overriding) counts(now func() int64) *Overriding {
	if o == nil || o.Until == 0 || !o.ended(now()) {
		return o
	}
	return o.under
}

// shards are a map that is divided, into one or shardsOf; none is empty. A copy shares what a change leaves as it is.
type shards []map[string]*Overriding

// of is where a key is. Keys that differ as a rule differ at their ends.
func (s shards) of(key string) int {
	if len(s) == 1 {
		return 0
	}
	h := uint32(2166136261)
	for i := max(0, len(key)-12); i < len(key); i++ {
		h = (h ^ uint32(key[i])) * 16777619
	}
	return int((h ^ h>>15) % shardsOf)
}

// at is what is at a key; nil for nothing.
func (s shards) at(key string) *Overriding {
	if len(s) == 0 {
		return nil
	}
	return s[s.of(key)][key]
}

// find is the override of a key at a time: that of the key itself, or else of its longest prefix. Now is asked only for one that ends.
func (o *overrides) find(key string, now func() int64) *Overriding {
	if found := o.exact.at(key).counts(now); found != nil {
		return found
	}
	for _, n := range o.lengths {
		if n > len(key) {
			continue
		}
		begin := key[:n]
		if found := o.begin.at(begin).counts(now); found != nil {
			return found
		}
	}
	return nil
}

// changing are overrides that are being changed: the shards that have been copied already, and the rules that were made.
type changing struct {
	overrides

	own   map[*map[string]*Overriding]bool
	rules map[Limit]*Rule
}

// share gives overrides with equal numbers one of rules.
func share(rules map[Limit]*Rule, o *Overriding) {
	if same, ok := rules[o.Rule.Limit]; ok {
		o.Rule = same
		return
	}
	rules[o.Rule.Limit] = o.Rule
}

// lead makes all rules ones of that longest reach.
func (c *changing) lead(lead int64) {
	rules := leader(lead)
	for _, in := range []*shards{&c.exact, &c.begin} {
		for i, shard := range *in {
			for _, key := range slices.Collect(maps.Keys(shard)) {
				in.mine(c, i)[key] = shard[key].leading(rules)
			}
		}
	}
}

// leading is o with other rules.
func (o *Overriding) leading(rules func(*Rule) *Rule) *Overriding {
	if o == nil {
		return nil
	}
	other := *o
	other.Rule, other.under = rules(o.Rule), o.under.leading(rules)
	return &other
}

// divide makes the shards ready for one more: from fewOf on many maps.
func (s *shards) divide(c *changing) {
	switch {
	case len(*s) == 0:
		*s = make(shards, 1)
	case len(*s) == 1 && len((*s)[0]) >= fewOf:
		few := (*s)[0]
		*s = make(shards, shardsOf)
		for key, o := range few {
			s.mine(c, s.of(key))[key] = o
		}
	}
}

// mine is a shard of which c has a copy of its own.
func (s *shards) mine(c *changing, i int) map[string]*Overriding {
	shard := &(*s)[i]
	if !c.own[shard] {
		if *shard = maps.Clone(*shard); *shard == nil {
			*shard = map[string]*Overriding{}
		}
		c.own[shard] = true
	}
	return *shard
}

// order notes which lengths the prefixes have.
func (c *changing) order() {
	c.lengths = slices.Sorted(maps.Keys(c.count))
	slices.Reverse(c.lengths)
}

func newChanging(from *overrides) *changing {
	c := &changing{own: map[*map[string]*Overriding]bool{}, rules: map[Limit]*Rule{}}
	if from != nil {
		c.overrides = *from
		c.exact, c.begin = slices.Clone(from.exact), slices.Clone(from.begin)
	}
	if c.count = maps.Clone(c.count); c.count == nil {
		c.count = map[int]int{}
	}
	return c
}

// put sets what is at a pattern; nil removes it. The document's own stays below, and comes back when another one is removed.
func (c *changing) put(pattern string, o *Overriding) {
	in, key := &c.exact, pattern
	begin, is := prefix(pattern)
	if is {
		in, key = &c.begin, begin
	}
	in.divide(c)
	shard := in.mine(c, in.of(key))
	before, was := shard[key]
	written := before
	if was && !before.Written {
		written = before.under
	}
	switch {
	case o == nil:
		o = written
	case !o.Written:
		o.under = written
	}
	if o != nil {
		shard[key] = o
	} else {
		delete(shard, key)
	}
	if !is || was == (o != nil) {
		return
	}
	if was {
		c.count[len(key)]--
	} else {
		c.count[len(key)]++
	}
	if c.count[len(key)] == 0 {
		delete(c.count, len(key))
	}
}
