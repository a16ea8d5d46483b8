package limit

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// MaxAll is how many requests [AllChecker.CheckAll] takes at once.
const MaxAll = 16

// An AllDecision answers the requests of one [AllChecker.CheckAll].
type AllDecision struct {
	Allowed bool // every request was allowed, and charged
	// Wait is how long the caller must wait before it begins: the longest wait of the Decisions, if Allowed.
	Wait   time.Duration
	Denied *Denial // what denied; nil if Allowed
	// Decisions are the answers to the requests, in their order, as each was given when it was asked. Those after the one that
	// denied were not asked: they have no Limits. Receipts and holds are there if all were allowed.
	Decisions []Decision
}

// RetryAfterSeconds is what [Decision.RetryAfterSeconds] is for one request: the longest wait of the limits that were asked. Those
// of the requests that were not asked may make the wait longer.
func (a AllDecision) RetryAfterSeconds() (seconds int64, ok bool) {
	var asked []Outcome
	for _, d := range a.Decisions {
		asked = append(asked, d.Limits...)
	}
	return Decision{Allowed: a.Allowed, Limits: asked}.RetryAfterSeconds()
}

// A Denial says which limit of which key denied the requests of an [AllChecker.CheckAll].
type Denial struct {
	Check int    `json:"check"` // the index of the request
	Key   string `json:"key"`
	Limit string `json:"limit"` // its first limit that denied
}

// Taken is what one check took of a key, which may have to be given back.
type Taken struct {
	Key      string
	Receipts []Receipt
	Hold     *Hold // of a hold, which has no receipts: it is settled with nothing used
}

// TakenBy is what a check of r has taken by d, if that may have to be given back.
func TakenBy(r *Request, d *Decision) (t Taken, ok bool) {
	t = Taken{Key: r.Key, Receipts: d.Receipts, Hold: d.Hold}
	return t, len(t.Receipts) > 0 || t.Hold != nil
}

// A Taking is what the checks of one request have taken so far, such as a [Taken] of each: all of them admit, or what was taken is given back.
// It ends with End, which is deferred, so that a panic gives back too:
//
//	defer taking.End(giveBack)
//	for … {
//		… // a check; return if it does not admit
//		taking.Add(taken)
//	}
//	taking.Keep()
//
// The zero Taking has taken nothing.
type Taking[T any] struct {
	Taken []T
	kept  bool
}

// Add notes what a check has taken.
func (t *Taking[T]) Add(taken T) { t.Taken = append(t.Taken, taken) }

// Keep says that all checks admit: nothing is given back.
func (t *Taking[T]) Keep() { t.kept = true }

// End gives back what was taken, unless it is kept. GiveBack is called at most once, and not for nothing.
func (t *Taking[T]) End(giveBack func([]T)) {
	if t.kept || len(t.Taken) == 0 {
		return
	}
	taken := t.Taken
	t.Taken = nil
	giveBack(taken)
}

// An AllPlan is how the requests of a CheckAll are asked: as few checks as possible, since each is decided at one moment.
type AllPlan struct {
	// Checks are asked in this order. Their Receipt says whether what they take may have to be given back, or a caller wants it.
	Checks   []Request
	requests []Request
	of       [][]int // for each of Checks, the indexes of the requests that it decides
}

// PlanAll checks everything about rs that does not depend on the stored limits, and makes one check of requests that have the
// same key, plan, cost and wait, and hold in the same way. Its errors are *FieldErrors that name the request, as in "checks[1].key".
func PlanAll(rs []Request) (*AllPlan, error) {
	if err := ValidateAll(len(rs)); err != nil {
		return nil, err
	}
	p := &AllPlan{requests: rs, Checks: make([]Request, 0, len(rs)), of: make([][]int, 0, len(rs))}
	for i := range rs {
		if err := p.admit(i); err != nil {
			return nil, under(checkName(i), err)
		}
		p.add(i)
	}
	for i := range p.Checks[:len(p.Checks)-1] { // nothing comes after the last one for which it would be given back
		p.Checks[i].Receipt = p.Checks[i].Hold == 0 // a hold is settled
	}
	return p, nil
}

// ValidateAll checks how many requests there are for one CheckAll. Its error is a *FieldError.
func ValidateAll(n int) error {
	switch {
	case n == 0:
		return &FieldError{Field: "checks", Problem: "is empty: name at least one check"}
	case n > MaxAll:
		return &FieldError{Field: "checks", Problem: fmt.Sprintf("%d checks are too many: at most %d", n, MaxAll)}
	}
	return nil
}

func checkName(i int) string { return fmt.Sprintf("checks[%d]", i) }

// admit says what is wrong with the request at i, by itself and beside those before it.
func (p *AllPlan) admit(i int) error {
	r := &p.requests[i]
	if err := r.Validate(); err != nil {
		return err
	}
	if r.ID != "" {
		return &FieldError{Field: "request_id", Problem: "checks that are taken together have none: when they are repeated, they are charged again"}
	}
	if r.Extend != 0 {
		return &FieldError{Field: "extend", Problem: "a permit is extended by a check of its own"}
	}
	for j := range i {
		before := &p.requests[j]
		if before.Key != r.Key {
			continue
		}
		for n, ref := range r.Limits {
			if slices.ContainsFunc(before.Limits, func(b Ref) bool { return b.Name == ref.Name }) {
				return &FieldError{
					Field:   fmt.Sprintf("limits[%d]", n),
					Problem: fmt.Sprintf("%s has the limit %s of this key already: name it once, with the whole cost", checkName(j), Quote(ref.Name)),
				}
			}
		}
	}
	return nil
}

// add puts the request at i into the check that asks for the same key, cost and wait and holds in the same way, or into one of its own.
func (p *AllPlan) add(i int) {
	r := p.requests[i]
	at := slices.IndexFunc(p.Checks, func(c Request) bool {
		return c.Key == r.Key && c.Plan == r.Plan && c.Tokens() == r.Tokens() && c.Wait == r.Wait && c.Hold == r.Hold && c.Least == r.Least &&
			len(c.Limits)+len(r.Limits) <= MaxLimits
	})
	if at < 0 {
		p.Checks, p.of = append(p.Checks, r), append(p.of, []int{i})
		return
	}
	c := &p.Checks[at]
	c.Limits = slices.Concat(c.Limits, r.Limits)
	c.Receipt = c.Receipt || r.Receipt
	p.of[at] = append(p.of[at], i)
}

// Answer is the answer to the requests when the first of the checks were decided like that. All of them were allowed but the last
// one, which denied, or was allowed too and is the last one of all.
func (p *AllPlan) Answer(decided []Decision) AllDecision {
	a := AllDecision{Decisions: make([]Decision, len(p.requests))}
	a.Allowed = len(decided) == len(p.Checks) && decided[len(decided)-1].Allowed
	for at, d := range decided {
		from := 0
		for _, i := range p.of[at] {
			to := from + len(p.requests[i].Limits)
			a.Decisions[i] = d.part(from, to, a.Allowed && p.requests[i].Receipt)
			if d.Hold != nil && a.Allowed {
				a.Decisions[i].Hold = d.Hold.part(p.requests[i].Limits)
			}
			from = to
		}
	}
	if a.Allowed {
		for i := range decided {
			a.Wait = max(a.Wait, decided[i].Wait)
		}
	} else {
		a.Denied = p.denial(len(decided)-1, a.Decisions)
	}
	return a
}

// part is what a Decision says of some of its limits.
func (d *Decision) part(from, to int, receipts bool) Decision {
	part := Decision{Allowed: true, Wait: d.Wait, Node: d.Node}
	part.Limits = slices.Clip(d.Limits[min(from, len(d.Limits)):min(to, len(d.Limits))])
	for _, o := range part.Limits {
		part.Allowed = part.Allowed && o.Allowed
	}
	if receipts {
		part.Receipts = receiptsOf(part.Limits, d.Receipts)
	}
	return part
}

// part is what h holds of some of its limits: a hold of its own.
func (h *Hold) part(of []Ref) *Hold {
	part := *h
	part.Limits = nil
	for _, l := range h.Limits {
		if slices.ContainsFunc(of, func(ref Ref) bool { return ref.Name == l.Limit }) {
			part.Limits = append(part.Limits, l)
		}
	}
	return &part
}

// receiptsOf are those of some limits. There is none of a limit that an override lets pass.
func receiptsOf(of []Outcome, all []Receipt) (found []Receipt) {
	for _, r := range all {
		if slices.ContainsFunc(of, func(o Outcome) bool { return o.Name == r.Limit }) {
			found = append(found, r)
		}
	}
	return found
}

// denial finds the limit that denied the check at at.
func (p *AllPlan) denial(at int, ds []Decision) *Denial {
	d := &Denial{Check: p.of[at][0], Key: p.Checks[at].Key}
	for _, i := range p.of[at] {
		for _, o := range ds[i].Limits {
			if !o.Allowed {
				d.Check, d.Limit = i, o.Name
				return d
			}
		}
	}
	return d
}

// Wrap is the error of the check with index at, which had no decision, as the error of all: it names the request.
func (p *AllPlan) Wrap(at int, err error) error {
	i := p.of[at][0]
	if fe, ok := errors.AsType[*FieldError](err); ok {
		for _, j := range p.of[at] {
			if slices.ContainsFunc(p.requests[j].Limits, func(ref Ref) bool { return strings.HasPrefix(fe.Field+".", "limits."+ref.Name+".") }) {
				i = j
			}
		}
		return under(checkName(i), err)
	}
	return fmt.Errorf("%s, %s: %w", checkName(i), Quote(p.Checks[at].Key), err)
}
