package edge

import (
	"sync"

	"github.com/jeton-dev/jeton/actor/limit"
)

// edgeLimits are those of a document about which an edge may decide.
type edgeLimits struct {
	of    *limit.Document
	rules map[string]*limit.Rule

	edges int      // that share those that are divided
	parts sync.Map // from *limit.Rule to *limit.Rule: the parts of those
}

// limits are those about which this edge may decide, as they are in force.
func (e *Edge) limits() *edgeLimits {
	doc := e.cfg.Limits()
	at := e.limited.Load()
	if at != nil && at.of == doc {
		return at
	}
	at = &edgeLimits{of: doc, edges: e.cfg.Edges}
	if doc != nil {
		for _, rule := range doc.Rules() {
			if (rule.Consistency == "" || rule.Consistency == limit.Strong) && !rule.LeasedWhenHot() {
				continue
			}
			if at.rules == nil {
				at.rules = make(map[string]*limit.Rule)
			}
			at.rules[rule.Name] = rule
		}
	}
	e.limited.Store(at)
	return at
}

// rule is that of a limit under a plan, or nil if only the owner decides.
func (l *edgeLimits) rule(name, plan string) *limit.Rule {
	rule := l.rules[name]
	if rule != nil && plan != "" && len(l.of.Plans(name)) > 0 {
		p, ok := l.of.Plan(name, plan)
		if !ok {
			return nil // the cluster says that there is no such plan
		}
		rule = p.Rule
	}
	if rule == nil || rule.Share != limit.Divided || l.edges <= 1 {
		return rule
	}
	part, ok := l.parts.Load(rule)
	if !ok {
		part, _ = l.parts.LoadOrStore(rule, rule.Part(l.edges))
	}
	return part.(*limit.Rule) //nolint:forcetypeassert // nothing else is stored
}

// planOf is the plan by which a limit decides, or empty if it has none.
func planOf(l *edgeLimits, name, plan string) string {
	if l.of == nil || len(l.of.Plans(name)) == 0 {
		return ""
	}
	return plan
}
