package simulation

import (
	"bytes"
	"fmt"
	"io"
	"slices"
)

// A shrinker takes away from a scenario what its violation does not need. Since dice are thrown for what they decide, the
// rest goes on as before wherever what was taken away did not matter.
type shrinker struct {
	scenario scenario // the smallest that fails
	variant  *variant
	failed   *Violation
	runs     int // that are left
}

// mostRuns is after how many runs a scenario is small enough.
const mostRuns = 3000

// Explain runs a seed once more, shrinks what goes wrong there, and tells the story of what is left to out. It says what is
// wrong; nil if nothing is.
func Explain(c Config, out io.Writer) *Violation {
	if c.variant == nil {
		c.variant = sound()
	}
	s := draw(c.Seed, int64(c.Duration))
	first := play(s, c.variant, nil).Violation
	if first == nil {
		return nil
	}
	k := &shrinker{scenario: *s, variant: c.variant, failed: first, runs: mostRuns}
	k.shrink()
	fmt.Fprintf(out, "seed %d fails after %v: %s\nOf %d things that were planned these %d are enough:\n", c.Seed, first.After, first.What,
		len(s.items), len(k.scenario.items))
	k.tell(out)
	return first
}

// tell tells the story of the smallest scenario.
func (k *shrinker) tell(out io.Writer) {
	var text bytes.Buffer
	play(&k.scenario, k.variant, &story{to: &text, key: k.failed.key})
	if i := bytes.Index(text.Bytes(), []byte("WRONG")); i >= 0 {
		if end := bytes.IndexByte(text.Bytes()[i:], '\n'); end >= 0 {
			text.Truncate(i + end + 1)
		}
	}
	_, _ = out.Write(text.Bytes()) // an error shows in what is missing
}

// shrink goes from large pieces to small ones, until nothing more can be taken away.
func (k *shrinker) shrink() {
	if !k.failed.after {
		k.try(func(s *scenario) { s.short, s.duration = true, int64(k.failed.After)+1 })
	}
	if key := k.failed.key; key != noKey {
		k.try(func(s *scenario) {
			s.items = without(s.items, func(i *item) bool { return i.call != nil && i.call.key != key })
		})
	}
	for before := -1; before != len(k.scenario.items) && k.runs > 0; {
		before = len(k.scenario.items)
		for kind := asksFor + 1; kind < kinds; kind++ {
			k.try(func(s *scenario) { s.items = without(s.items, func(i *item) bool { return i.kind == kind }) })
		}
		for size := max(1, len(k.scenario.items)/2); size >= 1; size /= 2 {
			for from := 0; from < len(k.scenario.items) && k.runs > 0; {
				if !k.try(func(s *scenario) { s.items = cut(s.items, from, size) }) {
					from += size
				}
			}
		}
		k.simplify()
	}
}

// simplify makes the world plainer.
func (k *shrinker) simplify() {
	for _, change := range []func(*scenario){
		func(s *scenario) { s.rates = rates{} },
		func(s *scenario) { s.rates.slow = 0 },
		func(s *scenario) { s.rates.loss, s.rates.told = 0, 0 },
		func(s *scenario) { s.rates.twice = 0 },
		func(s *scenario) { s.rates.agreement, s.rates.fsync = 0, 0 },
		func(s *scenario) { s.homes = make([]int64, maxSlots) },
		func(s *scenario) { s.grain = 1 },
		func(s *scenario) { s.stale = 0 },
		func(s *scenario) { s.founders = 3 },
	} {
		k.try(change)
	}
	for i := range k.scenario.items {
		c := k.scenario.items[i].call
		if c == nil || len(c.limits) < 2 {
			continue
		}
		for _, l := range c.limits {
			k.try(func(s *scenario) {
				one := *c
				one.limits = []int{l}
				s.items = slices.Clone(s.items)
				s.items[i].call = &one
			})
		}
	}
}

// try keeps a change if the scenario fails with it too, in the same half of its life.
func (k *shrinker) try(change func(*scenario)) bool {
	next := k.scenario
	change(&next)
	same := len(next.items) == len(k.scenario.items)
	if k.runs <= 0 || same && len(next.items) > 0 && &next.items[0] == &k.scenario.items[0] && k.plain(&next) {
		return false
	}
	k.runs--
	v := play(&next, k.variant, nil).Violation
	if v == nil || v.after != k.failed.after {
		return false
	}
	if !v.after && int64(v.After) < next.duration {
		next.short, next.duration = true, int64(v.After)+1
		next.items = without(next.items, func(i *item) bool { return i.at > int64(v.After) })
	}
	k.scenario, k.failed = next, v
	return true
}

// plain says whether a change has made no difference.
func (k *shrinker) plain(next *scenario) bool {
	a, b := next, &k.scenario
	return a.rates == b.rates && slices.Equal(a.homes, b.homes) && a.grain == b.grain && a.stale == b.stale && a.founders == b.founders &&
		a.duration == b.duration
}

// without are the items that are not to go. If none goes, it is the same list.
func without(items []item, goes func(*item) bool) []item {
	var kept []item
	for i := range items {
		if !goes(&items[i]) {
			kept = append(kept, items[i])
		}
	}
	if len(kept) == len(items) {
		return items
	}
	return kept
}

// cut are the items but for so many from there on.
func cut(items []item, from, size int) []item {
	return slices.Concat(items[:from], items[min(from+size, len(items)):])
}
