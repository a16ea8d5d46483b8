package actor

import (
	"fmt"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

// resolve finds the rules of a mail: every request's limits come this way. A limit that a request defines may not take longer to fill than
// InlineFill: no sweep removes a register before its bucket would be full again, so callers could fill the disk for good.
func (s *System) resolve(m *mail, doc *limit.Document, refs []limit.Ref, before *limit.Rule) error {
	if err := m.resolve(doc, refs, before); err != nil {
		return err
	}
	if m.extend != 0 && !m.rules[0].Permits() {
		return &limit.FieldError{Field: "extend", Problem: fmt.Sprintf("limit %s has no permits: only those of the algorithm concurrency can be extended",
			limit.Quote(m.rules[0].Name))}
	}
	if m.wait > 0 {
		for _, rule := range m.rules {
			if err := rule.AllowsWait(time.Duration(m.wait)); err != nil {
				return err
			}
		}
	}
	if err := m.allowsHold(); err != nil {
		return err
	}
	if m.plan != "" {
		if err := doc.CheckPlan(m.plan, refs); err != nil {
			return err
		}
	}
	if m.plan != "" || doc.HasOverrides() {
		m.vary(doc, s.cfg.Now)
	}
	if m.lease != nil {
		return s.allowsLease(m)
	}
	if m.charge && len(m.rules) > 0 { // otherwise an override decides
		return m.rules[0].AllowsCharge()
	}
	if m.inline == 0 {
		return nil
	}
	for _, rule := range m.rules {
		if rule.Inline {
			if err := s.allowsFill(rule); err != nil {
				return err
			}
		}
	}
	return nil
}

// allowsFill refuses a limit that a request defines if it takes too long to fill.
func (s *System) allowsFill(rule *limit.Rule) error {
	if rule.Fill() <= s.cfg.InlineFill {
		return nil
	}
	return &limit.FieldError{
		Field: "limits." + rule.Name + "." + paceField(rule),
		Problem: fmt.Sprintf("an empty bucket of %d takes %v to fill, and by a limit that a request defines it may take %v: "+
			"%s, or have an operator store the limit or raise --inline-fill",
			rule.Capacity, rule.Fill(), s.cfg.InlineFill, quicken[paceField(rule)]),
	}
}

// quicken says how a limit is changed so that its bucket is full again sooner, by the field that says how soon it is.
var quicken = map[string]string{
	"refill": "refill faster, lower the capacity",
	"window": "make the window shorter",
	"per":    "use a shorter window",
}

// paceField is the field of a rule that says how soon a bucket is full again.
func paceField(r *limit.Rule) string {
	switch {
	case r.Per != "":
		return "per"
	case r.Refill == (limit.Refill{}):
		return "window"
	}
	return "refill"
}

// resolve finds the rules that refs name in doc. It tries the rule of the request before first, if there is one.
func (m *mail) resolve(doc *limit.Document, refs []limit.Ref, before *limit.Rule) error {
	m.rules = m.one[:0]
	for i, ref := range refs {
		if before != nil && ref.Inline == nil && ref.Name == before.Name {
			m.rules = append(m.rules, before)
			continue
		}
		rule, err := doc.Resolve(ref)
		if err != nil {
			return err
		}
		if ref.Inline != nil {
			m.inline |= 1 << i
		}
		m.rules = append(m.rules, rule)
	}
	return nil
}

// allowsHold says what is wrong with the hold of m, beside its limits.
func (m *mail) allowsHold() error {
	if m.hold == 0 {
		return nil
	}
	for _, rule := range m.rules {
		if err := rule.AllowsHold(m.hold); err != nil {
			return err
		}
	}
	return nil
}

// allowsLease says what is wrong with the lease that m asks for, beside its limit: the edge goes by other numbers, or its clock is off.
func (s *System) allowsLease(m *mail) error {
	if m.judged != nil {
		return &limit.FieldError{Field: "lease", Problem: "an override of the key decides, whatever its bucket holds: nothing is leased"}
	}
	rule := m.rules[0]
	if err := rule.AllowsLease(); err != nil {
		return err
	}
	if rule.LeaseTerms() != m.lease.Terms {
		return &limit.FieldError{Field: "lease.terms", Problem: fmt.Sprintf("are not those by which this node decides about limit %s: it was changed a moment ago, or an override of the key counts",
			limit.Quote(rule.Name))}
	}
	if off := m.lease.Now - s.cfg.Now(); max(off, -off) > s.cfg.Bounds.EpsMax {
		return &limit.FieldError{Field: "lease.now", Problem: fmt.Sprintf("differs from this node's clock by %v, of which the way here is a part, and may by %v: set the clock of the edge",
			time.Duration(off).Round(time.Millisecond), time.Duration(s.cfg.Bounds.EpsMax))}
	}
	return nil
}
