package actor

import (
	"fmt"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

// DefaultInlineFill is how long an empty bucket may take to fill by a limit that a request defines, unless the System is told
// otherwise: 366 days.
const DefaultInlineFill = 366 * 24 * time.Hour

// resolve finds the rules of a mail, and refuses those that a request defines out of bounds. No sweep removes a register before
// its bucket would be full again, so that whoever may check would decide how long the disk is taken.
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
