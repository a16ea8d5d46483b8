package agreed

import (
	"cmp"
	"encoding/json"
	"hash/fnv"
	"maps"
	"slices"
	"strings"
)

// What there may be of overrides.
const (
	MaxOverrides = 100_000
	MaxOverride  = 1 << 10 // bytes of the texts of one
	// MaxLengths is how many lengths the prefixes of one limit have: a check looks once for each.
	MaxLengths = 64
)

// An Override gives a key, or all keys that begin alike, something else than a limit says. What it says is opaque to this package.
type Override struct {
	Limit string `json:"limit"`
	Key   string `json:"key"` // or, where it ends in *, the beginning of keys
	Says  string `json:"says"`
	Until int64  `json:"until,omitempty"` // when it ends, in nanoseconds since the Unix epoch; 0 is never
	// Reach is how far ahead of now it has let line of the limit be reserved since it was set, in nanoseconds; 0 if it lets none be.
	Reach int64 `json:"reach,omitempty"`
	// At and Who say when it was set, and by whom.
	At  int64  `json:"at,omitempty"`
	Who string `json:"who,omitempty"`
}

// An OverrideKey tells an override from the others.
type OverrideKey struct{ Limit, Key string }

// Overrides are those that operators have set, immutable: a change copies a small part of them. Nil has none. In JSON they are a
// sorted list.
type Overrides struct {
	parts   [overrideParts]overridePart
	count   int
	lengths lengths
}

// overrideParts is into how many maps they are divided.
const overrideParts = 1024

// An overridePart is one of these maps. Two states share it if it is the same in both.
type overridePart *map[OverrideKey]Override

func partOf(k OverrideKey) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(k.Limit + " " + k.Key)) // never fails
	return int(h.Sum32() % overrideParts)
}

// Len is how many there are, those included that have ended and are not removed yet.
func (o *Overrides) Len() int {
	if o == nil {
		return 0
	}
	return o.count
}

// Find is one of them.
func (o *Overrides) Find(k OverrideKey) (Override, bool) {
	if o == nil || o.parts[partOf(k)] == nil {
		return Override{}, false
	}
	found, ok := (*o.parts[partOf(k)])[k]
	return found, ok
}

// All are all of them, by limit and key.
func (o *Overrides) All() []Override {
	all := []Override{}
	o.EachChange(nil, func(_ OverrideKey, now *Override) { all = append(all, *now) })
	slices.SortFunc(all, func(a, b Override) int {
		return cmp.Or(cmp.Compare(a.Limit, b.Limit), cmp.Compare(a.Key, b.Key))
	})
	return all
}

// ended are those that have ended at a time, in no order.
func (o *Overrides) ended(at int64) (keys []OverrideKey) {
	o.EachChange(nil, func(k OverrideKey, now *Override) {
		if now.Until != 0 && now.Until <= at {
			keys = append(keys, k)
		}
	})
	return keys
}

// Lengths is how many lengths the prefixes of a limit have.
func (o *Overrides) Lengths(limit string) int {
	if o == nil {
		return 0
	}
	return len(o.lengths[limit])
}

// lengths are how many prefixes have a length, by limit.
type lengths map[string]map[int]int

// add notes that n more overrides have a key, if that is a prefix.
func (l lengths) add(k OverrideKey, n int) {
	begin, is := strings.CutSuffix(k.Key, "*")
	if !is {
		return
	}
	of := l[k.Limit]
	if of == nil {
		of = map[int]int{}
		l[k.Limit] = of
	}
	if of[len(begin)] += n; of[len(begin)] == 0 {
		delete(of, len(begin))
	}
	if len(of) == 0 {
		delete(l, k.Limit)
	}
}

// with is a copy that has noted that too.
func (l lengths) with(k OverrideKey, n int) lengths {
	if !strings.HasSuffix(k.Key, "*") {
		return l
	}
	next := maps.Clone(l)
	if next == nil {
		next = lengths{}
	}
	if of := l[k.Limit]; of != nil {
		next[k.Limit] = maps.Clone(of)
	}
	next.add(k, n)
	return next
}

// EachChange calls f with each override that is not as it was in before; with nil for one that is gone. It looks at the parts alone
// that differ.
func (o *Overrides) EachChange(before *Overrides, f func(OverrideKey, *Override)) {
	for i := range overrideParts {
		was, is := part(before, i), part(o, i)
		if was == is {
			continue
		}
		for k, now := range entries(is) {
			if old, had := entries(was)[k]; !had || old != now {
				f(k, &now)
			}
		}
		for k := range entries(was) {
			if _, has := entries(is)[k]; !has {
				f(k, nil)
			}
		}
	}
}

func part(o *Overrides, i int) overridePart {
	if o == nil {
		return nil
	}
	return o.parts[i]
}

func entries(p overridePart) map[OverrideKey]Override {
	if p == nil {
		return nil
	}
	return *p
}

// with is a copy in which the override of a key is another one, or, for nil, gone. Those of the same part that had ended at a time are
// removed along with it.
func (o *Overrides) with(k OverrideKey, set *Override, at int64) *Overrides {
	next := &Overrides{}
	if o != nil {
		*next = *o
	}
	i := partOf(k)
	now := maps.Clone(entries(next.parts[i]))
	if now == nil {
		now = map[OverrideKey]Override{}
	}
	next.count -= len(now)
	for other, e := range now {
		if other == k || e.Until != 0 && e.Until <= at {
			next.lengths = next.lengths.with(other, -1)
			delete(now, other)
		}
	}
	if set != nil {
		next.lengths = next.lengths.with(k, 1)
		now[k] = *set
	}
	next.count += len(now)
	next.parts[i] = &now
	if next.count == 0 {
		return nil
	}
	return next
}

// reaching is a copy in which the overrides of these limits reach so far, those that reach less far.
func (o *Overrides) reaching(longer map[string]int64) *Overrides {
	if o == nil || len(longer) == 0 {
		return o
	}
	next := *o
	for i := range next.parts {
		var now map[OverrideKey]Override
		for k, e := range entries(next.parts[i]) {
			if e.Reach >= longer[k.Limit] {
				continue
			}
			if now == nil {
				now = maps.Clone(entries(next.parts[i]))
			}
			e.Reach = longer[k.Limit]
			now[k] = e
		}
		if now != nil {
			next.parts[i] = &now
		}
	}
	return &next
}

// MarshalJSON is the list of all.
func (o *Overrides) MarshalJSON() ([]byte, error) { return json.Marshal(o.All()) }

// UnmarshalJSON reads what MarshalJSON writes.
func (o *Overrides) UnmarshalJSON(text []byte) error {
	var all []Override
	if err := json.Unmarshal(text, &all); err != nil {
		return err
	}
	*o = Overrides{lengths: lengths{}}
	for _, e := range all {
		k := OverrideKey{e.Limit, e.Key}
		i := partOf(k)
		if o.parts[i] == nil {
			o.parts[i] = &map[OverrideKey]Override{}
		}
		if _, twice := (*o.parts[i])[k]; !twice {
			o.count++
			o.lengths.add(k, 1)
		}
		(*o.parts[i])[k] = e
	}
	return nil
}
