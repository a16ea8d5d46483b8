package simulation

import (
	"slices"

	"github.com/jeton-dev/jeton/actor/limit"
)

// A meter asserts the promise from outside: for every window, the net cost admitted in it is at most C + r·w + 2·r·ε. It
// is that of one bucket in one generation by one capacity and refill: a change of these, or a reset, begins another one. What was admitted
// before other fields were changed can be returned after.
//
// All windows that end at a moment are looked at together: the level is the most by which what was admitted in one of
// them exceeds what comes back in it. It is counted in tokens times nanoseconds, which are whole numbers.
type meter struct {
	generation int64
	rule       *limit.Rule
	name       string
	key        int
	waiting    []metered // what is not in the level yet: a check may be decided later than one that came after it
	all        []metered
	late       bool // something came that belonged before what is in the level
	level      int64
	at         int64
}

// A metered is an admission, or a return with a negative cost, at a true time.
type metered struct{ at, cost int64 }

// settleAfter is after how long nothing is decided any more that came before.
const settleAfter = maxWait + second

// meter is that of a generation under a rule.
func (account *account) meter(w *World, generation int64, rule *limit.Rule) *meter {
	for _, m := range slices.Backward(account.meters) {
		if m.generation == generation && sameNumbers(m.rule, rule) {
			return m
		}
	}
	m := &meter{generation: generation, rule: rule, name: w.bucketName(account.key, account.limit), key: account.key}
	account.meters = append(account.meters, m)
	return m
}

// sameNumbers says whether receipts of one rule are good under the other.
func sameNumbers(a, b *limit.Rule) bool {
	return a.Capacity == b.Capacity && a.Refill == b.Refill && a.Register() == b.Register()
}

// most is the level that must not be exceeded.
func (m *meter) most(w *World) int64 {
	envelope := m.rule.Envelope()
	return envelope.Burst*int64(envelope.Refill.Per) + 2*w.mayBeAhead()*envelope.Refill.Tokens
}

// counts is the true time at which a check counts that does not wait: as late as the clock shows what was read for it, since a coarse
// clock does not tell whether line was given back before or after.
func (q *ask) counts(w *World) int64 {
	if max(q.ahead, -q.ahead) > w.mayBeAhead() {
		return min(max(q.reading, q.at), w.now) // any time within the call will do
	}
	return min(q.shows, w.now)
}

// admit takes in an admission, at the time at which its caller may begin. Where the clock was so far off that no replica accepts
// anything by it, it may only have been made from what was reserved before, or while the call was long on its way: the former is
// asserted elsewhere, and does not count here. Nor does one whose clock was held at what was read: it was made at some time while it
// was.
func (m *meter) admit(w *World, q *ask, cost int64) {
	if q.held {
		w.count("admissions by clocks that stood still, checked by segment only")
		return
	}
	if off := q.reading - q.counts(w); max(q.ahead, -q.ahead) > w.mayBeAhead() && max(off, -off) > w.mayBeAhead() {
		w.count("admissions by wrong clocks, checked by segment only")
		return
	}
	m.add(w, q.begins, cost)
}

// giveBack takes in a return. An admission whose caller could not have begun yet never begins; any other one counts until it is
// returned.
func (m *meter) giveBack(w *World, begins, cost int64) {
	if begins <= w.now {
		m.add(w, w.now, -cost)
		return
	}
	w.count("places given up")
	m.remove(metered{begins, cost})
}

// remove takes out an admission that lies ahead, if it counts at all.
func (m *meter) remove(e metered) {
	for _, in := range []*[]metered{&m.all, &m.waiting} {
		if i := slices.Index(*in, e); i >= 0 {
			*in = slices.Delete(*in, i, i+1)
		}
	}
}

// add takes in an admission at a true time, or with a negative cost a return.
func (m *meter) add(w *World, at, cost int64) {
	e := metered{at, cost}
	m.all = append(m.all, e)
	if at < m.at {
		m.late = true
	}
	m.waiting = append(m.waiting, e)
	if len(m.waiting) >= 64 && w.now > m.waiting[0].at+2*settleAfter {
		m.settle(w, w.now-settleAfter)
	}
}

// settle brings what came before a time into the level.
func (m *meter) settle(w *World, before int64) {
	slices.SortStableFunc(m.waiting, func(a, b metered) int { return int(a.at - b.at) })
	n := 0
	for _, e := range m.waiting {
		if e.at >= before {
			break
		}
		n++
		m.fill(w, e)
	}
	m.waiting = slices.Delete(m.waiting, 0, n)
}

func (m *meter) fill(w *World, e metered) {
	passed, back := max(e.at-m.at, 0), m.rule.Envelope().Refill
	m.at = max(m.at, e.at)
	if refill := back.Tokens; m.level <= 0 || passed > m.level/refill {
		m.level = 0
	} else {
		m.level -= passed * refill
	}
	m.level += e.cost * int64(back.Per)
	if most := m.most(w); m.level > most {
		w.violate(m.key, "%s of %s: in a window that ends at %s, %.3f tokens more are admitted than come back in it, and %.3f are allowed",
			m.name, back, w.clockTime(e.at), float64(m.level)/float64(back.Per), float64(most)/float64(back.Per))
	}
}

// close settles everything, and goes through it from the beginning if something came late.
func (m *meter) close(w *World) {
	if m.late {
		w.count("meters replayed")
		m.waiting, m.level, m.at = slices.Clone(m.all), 0, 0
	}
	m.settle(w, 1<<62)
}
