package simulation

import (
	"slices"

	"github.com/jeton-dev/jeton/actor/limit"
)

// How long checks come that may take something in vain, and until all of that is back.
const (
	vainFor    = 3 * second
	backWithin = 12 * second
)

// vain asserts that checks which another limit denies, or whose callers leave, take nothing of a limit that counts entries, in the end: what a
// majority has stored is what was admitted, to the token, and all the rest can be had.
func (w *World) vain() {
	of := w.lines() + slices.IndexFunc(w.limits[w.lines():w.lines()+w.counting], func(l limits) bool {
		return !l.rules[0].Weighted && int64(l.rules[0].Fill()) >= 2*(vainFor+backWithin)
	})
	if w.violation != nil || of < w.lines() {
		return
	}
	w.run(w.now + 2*int64(w.limits[of].rules[0].Fill()) + second) // until nothing counts
	d := throw(w.seed, forHealing, 2)
	w.ledger.writers = map[int][]limit.OwnerID{}
	from, evicted := len(w.ledger.tally.seen), w.counts["keys evicted to free memory"]
	for key := range w.honest() {
		w.askInVain(&d, key, of)
	}
	w.run(w.now + vainFor + backWithin)
	for key := range w.honest() {
		if w.violation == nil && w.counts["keys evicted to free memory"] == evicted {
			w.nothingInVain(key, of, from)
		}
	}
}

// askInVain has a few checks ask for a key's bucket and for one of a line. Some of their callers leave when it has just been reserved what they wait for.
func (w *World) askInVain(d *die, key, of int) {
	other, at := int(d.below(int64(w.lines()))), int64(0)
	for range d.between(1, 8) {
		at += d.spread(ms, vainFor/8)
		c := w.newCall(key, of, nil)
		if c.silent, c.until = 2*second, c.until+at; d.percent(50) {
			c.until = w.now + at + d.between(300*us, 3*ms)
		}
		if c.limits = []int{of, other}; d.percent(30) {
			slices.Reverse(c.limits)
		}
		if plan := pick(d, "", "free", "pro"); plan != "" && len(w.documents) > 0 && w.documents[w.raft.state.limits].CheckPlan(plan, w.refs(c.limits)) == nil {
			c.plan = plan
		}
		most := w.ruleOf(w.raft.state.limits, of, key, c.plan).Capacity
		if c.cost = d.between(1, min(most, 3)); d.percent(20) {
			c.cost = d.between(1, most)
		}
		w.after(at, func() { w.begin(c) })
	}
	w.after(at+50*ms, func() {
		if w.storedOf(key, of) > w.admittedOf(key, of, 0) {
			w.count("buckets of which something was taken in vain")
		}
	})
}

// nothingInVain compares what is stored of a bucket with what was admitted of it since.
func (w *World) nothingInVain(key, of, since int) {
	if len(w.ledger.writers[w.bucket(key, of)]) > 1 { // what one has on its way back may be lost where another one writes
		w.count("buckets that two owners wrote in the end")
		return
	}
	w.count("buckets compared with what was admitted")
	admitted := w.admittedOf(key, of, since)
	if stored := w.storedOf(key, of); stored != admitted {
		w.violate(key, "%d of %s count, and %d were admitted: checks that were denied, or whose callers left, took the rest", stored, w.bucketName(key, of), admitted)
		return
	}
	rest := w.ruleOf(w.raft.state.limits, of, key, "").Capacity - admitted
	switch {
	case rest <= 0:
		return
	case w.minorityHas(key, of):
		w.count("buckets of which only a minority has stored the latest ledger")
		return
	}
	c := w.newCall(key, of, func(c *call) {
		if !c.ok || !c.admitted {
			w.violate(key, "of %s %d are left, and are not admitted: decided %v", w.bucketName(key, of), rest, c.ok)
		}
	})
	c.cost, c.order = rest, byChance
	w.begin(c)
	w.run(w.now + 100*ms)
}

// minorityHas says whether a replica has a later ledger than a majority: the next owner may go on from it, and what it has counts.
func (w *World) minorityHas(key, of int) bool {
	bucket := w.bucket(key, of)
	return slices.ContainsFunc(w.nodes, func(n node) bool {
		return n.proc != nil && n.proc.store.cells[bucket].Version > w.ledger.latest[bucket].from
	})
}

// storedOf is how much counts of a bucket, by the latest ledger that a majority has stored.
func (w *World) storedOf(key, of int) int64 {
	r := w.ledger.latest[w.bucket(key, of)]
	if r.ledger == nil {
		return 0
	}
	l := w.ruleOf(w.raft.state.limits, of, key, "").NewLedger(2 * tolerance)
	if err := l.Read(r.ledger, r.owner); err != nil {
		w.violate(key, "a ledger of %s cannot be read: %v", w.bucketName(key, of), err)
	}
	return l.Used(w.now)
}

// admittedOf is how much of a bucket was admitted since, and counts.
func (w *World) admittedOf(key, of, since int) (sum int64) {
	from := w.now - int64(w.limits[of].rules[0].Fill())
	for _, c := range w.ledger.tally.seen[since:] {
		if c.Limit == w.limits[of].name && c.Key == w.keys[key].name && c.End > from {
			sum += c.Cost
		}
	}
	return sum
}
