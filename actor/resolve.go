package actor

import (
	"fmt"

	"github.com/jeton-dev/jeton/actor/limit"
)

// resolve finds the rules of a mail: every request's limits come this way. A limit that a request defines may not take longer to fill than
// InlineFill: no sweep removes a register before its bucket would be full again, so callers could fill the disk for good.
func (s *System) resolve(m *mail, doc *limit.Document, refs []limit.Ref, before *limit.Rule) error {
	if err := m.resolve(doc, refs, before); err != nil || m.inline == 0 {
		return err
	}
	for _, rule := range m.rules {
		if rule.Inline && rule.Fill() > s.cfg.InlineFill {
			return &limit.FieldError{
				Field: "limits." + rule.Name + ".refill",
				Problem: fmt.Sprintf("an empty bucket of %d takes %v to fill, and by a limit that a request defines it may take %v: "+
					"refill faster, lower the capacity, or have an operator store the limit or raise --inline-fill",
					rule.Capacity, rule.Fill(), s.cfg.InlineFill),
			}
		}
	}
	return nil
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
