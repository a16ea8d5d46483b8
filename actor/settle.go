package actor

import (
	"errors"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/actor/owner"
)

// findHeld finds the limits of a hold with their rules, by which it was taken. One that is not stored any more knows nothing of it.
func (s *System) findHeld(m *mail, settlement *limit.Settlement, settled []limit.SettledLimit) error {
	doc, o := s.cfg.Limits(), m.other
	for i, held := range settlement.Hold.Limits {
		rule, err := doc.Resolve(limit.Named(held.Limit))
		if errors.Is(err, limit.ErrUnknownLimit) {
			settled[i] = limit.SettledLimit{Name: held.Limit, State: limit.HoldUnknown}
			continue
		}
		if err != nil {
			return err
		}
		if settlement.For > 0 {
			if err := rule.AllowsHold(settlement.For); err != nil {
				return limit.InField("for", err)
			}
		}
		rule = doc.CauseOf(rule.Name, m.key, m.plan, s.cfg.Now).Rule(rule)
		m.rules, o.places = append(m.rules, rule), append(o.places, i)
		o.settles = append(o.settles, owner.Settle{
			Rule: rule, Held: held, Granted: settlement.Hold.Granted, Used: settlement.Used, Open: settlement.Open, For: settlement.For.Nanoseconds(),
		})
	}
	return nil
}
