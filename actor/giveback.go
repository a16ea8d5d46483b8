package actor

import (
	"fmt"
	"slices"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/actor/owner"
)

// findPermits finds the permits among the receipts of a return, with their rules: any owner takes them back, and a key that sleeps is
// woken for them. A permit of a lease that its limit has no more is in a register that no check looks at, so nothing is to be done.
func (s *System) findPermits(m *mail) error {
	doc, o := s.cfg.Limits(), m.other
	for i, r := range o.receipts {
		if !r.Permit {
			continue
		}
		rule, err := doc.Resolve(limit.Named(r.Limit))
		if err != nil { // a request may have defined it
			rule, err = limit.PermitRule(r)
		}
		if err != nil || !rule.Permits() || rule.Ends(r.Start) != r.End || rule.Inline && rule.Fill() > s.cfg.InlineFill {
			continue
		}
		switch at := slices.IndexFunc(m.rules, func(other *limit.Rule) bool { return other.Name == rule.Name }); {
		case at >= 0 && m.rules[at].Register() != rule.Register():
			continue // one limit has one lease
		case at >= 0:
		case len(m.rules) == limit.MaxLimits:
			return &limit.FieldError{Field: "receipts", Problem: fmt.Sprintf("are permits of more than %d limits: return them in several calls", limit.MaxLimits)}
		default:
			if rule.Inline {
				m.inline |= 1 << len(m.rules)
			}
			m.rules = append(m.rules, rule)
		}
		o.permits, o.places = append(o.permits, owner.Permit{Rule: rule, ID: r.Serial}), append(o.places, i)
	}
	return nil
}

// giveBack gives all receipts but the permits back to the key's actor.
func (m *mail) giveBack(a *actor, now int64, out *owner.Out) {
	for i, r := range m.other.receipts {
		if !r.Permit {
			m.returned(a, i, a.owner.Return(r, now, out))
		}
	}
}

// tookOut notes which permits the key's actor has taken out.
func (m *mail) tookOut(a *actor) {
	for i, p := range m.other.permits {
		m.returned(a, m.other.places[i], p.Out)
	}
}

// returned notes whether the i-th receipt was taken back. Its request is decided anew if it is repeated.
func (m *mail) returned(a *actor, i int, took bool) {
	r := &m.other.receipts[i]
	if m.other.returned[i] = took; (took || r.Permit) && a.requests != nil { // who returns a permit has left, whoever took it out
		a.requests.returned(r)
	}
}

// settledFor notes at the requests of holds what settlements say of these.
func (m *mail) settledFor(a *actor) {
	if a.requests == nil {
		return
	}
	for i := range m.other.settles {
		s := &m.other.settles[i]
		a.requests.settled(s.Held, &s.Settled)
	}
}
