package simulation

import (
	"slices"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cluster-tests/history"
	"github.com/jeton-dev/jeton/cluster-tests/load"
)

// A tally holds what is admitted of limits that count entries against their bounds. It writes a history, as owners decide it, by
// the true time, and lets the checkers of histories judge in the end.
type tally struct{ seen []history.Call }

// seenOf is a call of a bucket that ends now.
func (w *World) seenOf(key, limit int, kind history.Kind, outcome history.Outcome, start int64) history.Call {
	return history.Call{
		Kind: kind, Outcome: outcome, Limit: w.limits[limit].name, Key: w.keys[key].name, Start: start, End: w.now,
	}
}

// admitted takes in an admission by the i-th limit of a call. One by a clock that was wrong, or stood still, is not: it can have been
// made only from room that was taken before.
func (t *tally) admitted(p *process, q *ask, d limit.Decision, i int) {
	w, c := p.w, q.call
	if q.held || max(q.ahead, -q.ahead) > w.mayBeAhead() {
		w.count("counted admissions by wrong clocks")
		return
	}
	call := w.seenOf(c.key, c.limits[i], history.KindCheck, history.Admitted, q.at)
	call.Cost, call.Via = c.cost, p.name
	if len(d.Receipts) > 0 {
		call.Receipt = load.Receipt(d.Receipts[i])
	}
	if c.what == extends {
		call.Kind, call.Cost = history.KindExtend, 0
		w.count("permits extended")
	}
	w.count("counted admissions")
	w.say(c.key, "%s admits %s, read at %s", p.name, c, w.clockTime(q.reading))
	t.seen = append(t.seen, call)
}

// leaves takes in that a permit comes back: from now on its caller is not inside, whatever becomes of it.
func (t *tally) leaves(w *World, key int, r limit.Receipt) {
	l := slices.IndexFunc(w.limits, func(l limits) bool { return l.name == r.Limit })
	call := w.seenOf(key, l, history.KindReturn, history.Failed, w.now)
	call.Receipt = load.Receipt(r)
	t.seen = append(t.seen, call)
}

// left counts what became of permits that came back.
func (t *tally) left(p *process, q *ask) {
	for _, permit := range q.permits {
		at := slices.IndexFunc(q.call.receipts, func(r limit.Receipt) bool { return r.Serial == permit.ID })
		switch {
		case !permit.Out:
			p.w.count("returns without effect")
		case q.call.receipts[at].Owner != p.owner:
			p.w.count("permits that another owner took out")
			fallthrough
		default:
			p.w.count("counted returns with effect")
		}
	}
}

// returned takes in a return that took effect.
func (t *tally) returned(w *World, key int, r limit.Receipt) {
	l := slices.IndexFunc(w.limits, func(l limits) bool { return l.name == r.Limit })
	call := w.seenOf(key, l, history.KindReturn, history.Taken, w.now)
	call.Receipt = load.Receipt(r)
	w.count("counted returns with effect")
	t.seen = append(t.seen, call)
}

// reset takes in that a bucket may be reset from now on.
func (t *tally) reset(w *World, key, limit int) {
	if limit >= w.lines() {
		t.seen = append(t.seen, w.seenOf(key, limit, history.KindReset, history.Failed, w.now))
	}
}

// judge lets the checkers judge. All versions of a limit count as the largest, since nodes follow a change when they hear of it: with the
// most debt of all, which has no bound only if that of none has.
func (t *tally) judge(w *World) {
	if len(t.seen) == 0 || w.violation != nil {
		return
	}
	h := &history.History{Calls: t.seen}
	if !w.exact {
		h.Faults = []history.Fault{{Start: origin, End: w.now, What: "what the scenario has"}}
	}
	for _, l := range w.limits[w.lines():] {
		most := slices.MaxFunc(l.rules, func(a, b *limit.Rule) int { return int(a.Capacity - b.Capacity) })
		one := load.Limit(most)
		for _, r := range l.rules {
			if debt := load.Limit(r).Debt; debt != one.Debt {
				one.Debt = min(max(one.Debt, debt), history.Boundless-1)
			}
		}
		h.Limits = append(h.Limits, one)
	}
	results, err := history.Run(h, w.mayBeAhead(), "windows", "counts", "inside", "settled")
	if err != nil {
		panic("simulation: a history that cannot be: " + err.Error())
	}
	for i := range results {
		for _, v := range results[i].Violations {
			w.violate(slices.IndexFunc(w.keys, func(k key) bool { return k.name == v.Key }), "%s", v.String())
		}
	}
}
