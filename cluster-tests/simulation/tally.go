package simulation

import (
	"fmt"
	"math"
	"math/big"
	"slices"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cluster-tests/history"
	"github.com/jeton-dev/jeton/cluster-tests/load"
)

// A tally holds what is admitted of limits that count entries against their bounds. It writes a history, as owners decide it, by
// the true time, and lets the checkers of histories judge in the end.
type tally struct {
	seen []history.Call
	by   []*limit.Rule // by which each of them was decided; nil for one that takes nothing
}

// add adds a call that was decided by a rule, and says where.
func (t *tally) add(call *history.Call, by *limit.Rule) (at int) {
	t.seen, t.by = append(t.seen, *call), append(t.by, by)
	return len(t.seen) - 1
}

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
	if w.varied(q.rules[i]) {
		w.count("counted admissions by a plan or an override")
	}
	w.say(c.key, "%s admits %s, read at %s", p.name, c, w.clockTime(q.reading))
	t.add(&call, q.rules[i])
}

// leaves takes in that a permit comes back: from now on its caller is not inside, whatever becomes of it.
func (t *tally) leaves(w *World, key int, r limit.Receipt) {
	l := slices.IndexFunc(w.limits, func(l limits) bool { return l.name == r.Limit })
	call := w.seenOf(key, l, history.KindReturn, history.Failed, w.now)
	call.Receipt = load.Receipt(r)
	t.add(&call, nil)
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
	t.add(&call, nil)
}

// reset takes in that a bucket may be reset from now on.
func (t *tally) reset(w *World, key, limit int) {
	if limit >= w.lines() {
		call := w.seenOf(key, limit, history.KindReset, history.Failed, w.now)
		t.add(&call, nil)
	}
}

// judge lets the checkers judge. All versions and plans of a limit count as the largest, since nodes follow a change when they hear of it: with the
// most debt of all, which has no bound only if that of none has. And of what was decided by smaller numbers, no more may be admitted than
// these allow, whatever was by larger ones.
func (t *tally) judge(w *World) {
	if len(t.seen) == 0 || w.violation != nil {
		return
	}
	all := &history.History{Calls: t.seen}
	for i := w.lines(); i < len(w.limits); i++ {
		all.Limits = append(all.Limits, asOne(w.limits[i].all(), math.MaxInt64))
	}
	t.run(w, all, "windows", "counts", "inside", "settled")
	for i := w.lines(); i < len(w.limits); i++ {
		rules := w.limits[i].all()
		for _, capacity := range capacitiesOf(rules) {
			h := &history.History{Calls: t.within(w.limits[i].name, capacity), Limits: []history.Limit{asOne(rules, capacity)}}
			if len(h.Calls) > 0 {
				w.count("limits judged by smaller numbers")
				t.run(w, h, "windows", "counts", "inside")
			}
		}
	}
}

// run runs checkers.
func (t *tally) run(w *World, h *history.History, checkers ...string) {
	if w.violation != nil {
		return
	}
	if !w.exact {
		h.Faults = []history.Fault{{Start: origin, End: w.now, What: "what the scenario has"}}
	}
	results, err := history.Run(h, w.mayBeAhead(), checkers...)
	if err != nil {
		panic("simulation: a history that cannot be: " + err.Error())
	}
	for i := range results {
		for _, v := range results[i].Violations {
			w.violate(slices.IndexFunc(w.keys, func(k key) bool { return k.name == v.Key }), "%s", v.String())
		}
	}
}

// asOne is a limit that allows what any of the rules does whose capacity is no more than that.
func asOne(rules []*limit.Rule, capacity int64) (one history.Limit) {
	for _, r := range rules {
		if r.Capacity > capacity {
			continue
		}
		l := load.Limit(r)
		if one.Name == "" {
			one = l
			continue
		}
		if one.Capacity = max(one.Capacity, l.Capacity); l.Tokens > 0 && big.NewRat(l.Tokens, l.PerNS).Cmp(big.NewRat(one.Tokens, one.PerNS)) > 0 {
			one.Tokens, one.PerNS = l.Tokens, l.PerNS
		}
		if l.Debt != one.Debt {
			one.Debt = min(max(one.Debt, l.Debt), history.Boundless-1)
		}
	}
	return one
}

// capacitiesOf are those of the rules but for the largest one.
func capacitiesOf(rules []*limit.Rule) (all []int64) {
	for _, r := range rules {
		all = append(all, r.Capacity)
	}
	slices.Sort(all)
	all = slices.Compact(all)
	return all[:len(all)-1]
}

// within are the calls of a limit that were decided by no larger capacity, and what became of what they were given. A hold that was settled by a larger
// one counts as if it was taken by that.
func (t *tally) within(name string, capacity int64) (calls []history.Call) {
	larger := map[string]bool{} // permits and holds
	for i := range t.seen {
		if c := &t.seen[i]; c.Limit == name && t.by[i] != nil && t.by[i].Capacity > capacity {
			larger[given(c)] = true
		}
	}
	for i := range t.seen {
		c := &t.seen[i]
		if by := t.by[i]; c.Limit == name && (by == nil || by.Capacity <= capacity) && (given(c) == "" || !larger[given(c)]) {
			calls = append(calls, *c)
		}
	}
	return calls
}

// given is what tells apart what a call was given, or is about; empty if nothing does.
func given(c *history.Call) string {
	switch {
	case c.Hold != nil:
		return c.Hold.ID
	case c.Receipt != nil:
		return fmt.Sprintf("%s/%x", c.Receipt.Owner, c.Receipt.Serial)
	}
	return ""
}
