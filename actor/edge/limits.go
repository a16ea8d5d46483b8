package edge

import "github.com/jeton-dev/jeton/actor/limit"

// leasedLimits are those of a document that are leased.
type leasedLimits struct {
	of    *limit.Document
	rules map[string]*limit.Rule
}

// limits are those that are leased, as they are in force.
func (e *Edge) limits() *leasedLimits {
	doc := e.cfg.Limits()
	at := e.leased.Load()
	if at != nil && at.of == doc {
		return at
	}
	at = &leasedLimits{of: doc}
	if doc != nil {
		for _, rule := range doc.Rules() {
			if rule.Consistency != limit.Leased {
				continue
			}
			if at.rules == nil {
				at.rules = make(map[string]*limit.Rule)
			}
			at.rules[rule.Name] = rule
		}
	}
	e.leased.Store(at)
	return at
}

// rule is that of a limit under a plan, or nil if that is not leased.
func (l *leasedLimits) rule(name, plan string) *limit.Rule {
	rule := l.rules[name]
	if rule == nil || plan == "" || len(l.of.Plans(name)) == 0 {
		return rule
	}
	if p, ok := l.of.Plan(name, plan); ok {
		return p.Rule
	}
	return nil // the cluster says that there is no such plan
}

// planOf is the plan by which a limit decides, or empty if it has none.
func planOf(l *leasedLimits, name, plan string) string {
	if l.of == nil || len(l.of.Plans(name)) == 0 {
		return ""
	}
	return plan
}
