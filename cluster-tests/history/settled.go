package history

import (
	"fmt"
	"slices"
)

// settled finds holds of which settlements were answered with what cannot be:
//
//   - A settlement for good charges what one has said. It may charge less where the debt of the limit has a bound, and there was no room for
//     what was used beyond the hold, or, of a hold that was free again by then, for any of it.
//   - What it charges stays so, however often it is repeated, and at any owner where every process knows of the hold. One that says
//     something else than was charged may be answered with that: nobody remembers for ever what the first one has said.
//   - A hold that is open, and one that has expired and is charged then, is charged at least what it holds. No hold is charged more than that
//     and what settlements have said.
//   - A hold is lost only where one process alone knows of it, and is charged at least what it holds.
//   - Where every process knows of a hold, it is known for ten minutes after it has expired, unless a fault or a reset came between.
func settled(v *view, r *Result) {
	r.Things = "settlements"
	states := map[string]int{}
	for _, b := range v.buckets {
		for _, t := range b.tabs() {
			var first *Call
			for _, s := range t.settles {
				if s.Outcome != Done {
					continue
				}
				r.Checked++
				states[s.Hold.State]++
				if wrong := v.wrongly(b, t, first, s); wrong != "" {
					v.found(r, b, shownTab(t, first, s), "%s", wrong)
				}
				if first == nil && s.Hold.State == Settled {
					first = s
				}
			}
		}
	}
	if r.Checked > 0 {
		r.Note = fmt.Sprintf("%d lost, %d unknown", states[Lost], states[Unknown])
	}
}

// shownTab are the calls that show what is wrong with an answer.
func shownTab(t *tab, first, s *Call) []*Call {
	if first == nil {
		return []*Call{t.hold, s}
	}
	return []*Call{t.hold, first, s}
}

// wrongly says what is wrong with the answer to a settlement, or nothing. first is the first one by which the hold was settled for good.
func (v *view) wrongly(b *bucket, t *tab, first, s *Call) string {
	h, granted, durable := s.Hold, t.hold.Cost, b.versions[0].durable()
	switch {
	case h.State == Unknown && durable && v.known(b, t, s):
		return "a hold is unknown that can still be settled"
	case h.State == Unknown:
		return ""
	case h.Charged > max(granted, t.said(s)):
		return fmt.Sprintf("%d were charged, and no settlement had said so", h.Charged)
	case h.State == Settled:
		return t.wronglySettled(b, first, s)
	case h.State == Lost && durable:
		return "a hold is lost that every process must know of"
	case h.State == Lost && h.Charged < granted:
		return fmt.Sprintf("a hold of %d is lost and charged %d", granted, h.Charged)
	case h.State == Lost:
		return ""
	case !h.Open:
		return fmt.Sprintf("a hold is %s after a settlement for good", h.State)
	case first != nil && first.End < s.Start && durable:
		return fmt.Sprintf("a hold was settled for good, and is %s again", h.State)
	case (h.State == Open || b.versions[0].Holds == Charge) && h.Charged < granted:
		return fmt.Sprintf("a hold of %d that is %s is charged %d", granted, h.State, h.Charged)
	}
	return ""
}

// known says whether a hold must be known when it is settled.
func (v *view) known(b *bucket, t *tab, s *Call) bool {
	begun := t.hold.Start
	between := func(f Fault) bool { return !f.Healed() && f.Start <= s.End && begun <= f.End+Fade }
	return s.End < begun+t.hold.Hold.For+settleLate-Late && !slices.ContainsFunc(v.Faults, between) && len(b.only(KindReset, Done, Failed)) == 0
}

// said is the most that settlements have said by the end of this one.
func (t *tab) said(s *Call) (most int64) {
	for _, o := range t.settles {
		if o.Start <= s.End {
			most = max(most, o.Cost)
		}
	}
	return most
}

// earlier says whether s was answered with what an earlier settlement for good had said, and not with what s says itself.
func (t *tab) earlier(s *Call) bool {
	return s.Hold.Charged != s.Cost && slices.ContainsFunc(t.settles, func(o *Call) bool {
		return !o.Hold.Open && o.Start <= s.End && o.Cost == s.Hold.Charged
	})
}

// wronglySettled says what is wrong with what a settlement for good has charged, or nothing.
func (t *tab) wronglySettled(b *bucket, first, s *Call) string {
	charged := s.Hold.Charged
	if first != nil && first.Hold.Charged != charged && (charged != s.Cost || s.Cost == first.Cost && !t.earlier(first)) {
		return fmt.Sprintf("a settlement charged %d, and another one of the same hold %d", first.Hold.Charged, charged)
	}
	for _, o := range t.settles {
		less := charged < o.Cost && b.bounded() && (o.Cost > t.hold.Cost || b.versions[0].Holds == Free)
		if !o.Hold.Open && o.Start <= s.End && (charged == o.Cost || less) {
			return ""
		}
	}
	return fmt.Sprintf("%d were charged, and no settlement for good had said so", charged)
}
