package edge

import (
	"sync"
	"time"

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
	doc, edges := e.cfg.Limits(), int(e.edges.Load())
	at := e.limited.Load()
	if at != nil && at.of == doc && at.edges == edges {
		return at
	}
	at = &edgeLimits{of: doc, edges: edges}
	if doc != nil {
		for _, rule := range doc.Rules() {
			if !rule.Decentral() {
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

// A choice is by what this edge decides about a limit of a request. Its rule is nil where it does not.
type choice struct {
	rule  *limit.Rule
	whole int64 // the capacity of the limit of which the rule is all, or a part
	by    limit.Cause
}

// choose is by what a limit is decided for a key and a plan. An override that says of every check what becomes of it is the owner's to know, and so is one of a
// bucket of the owner's: nobody else spends of that by the override's numbers.
func (l *edgeLimits) choose(name, key, plan string) choice {
	rule := l.rules[name]
	if rule == nil {
		return choice{}
	}
	by := l.of.CauseOf(name, key, plan, func() int64 { return 0 }) // overrides of the document have no end
	if by.Override != nil && (by.Verdict() != limit.Decides || rule.Consistency != limit.OfEdge) {
		return choice{}
	}
	c := choice{rule: by.Rule(rule), by: by}
	c.whole = c.rule.Capacity
	if rule.Share == limit.Divided && l.edges > 1 {
		c.rule = l.part(c.rule)
	}
	return c
}

// part is that of a rule which an edge has of one that is divided.
func (l *edgeLimits) part(whole *limit.Rule) *limit.Rule {
	part, ok := l.parts.Load(whole)
	if !ok {
		part, _ = l.parts.LoadOrStore(whole, whole.Part(l.edges))
	}
	return part.(*limit.Rule) //nolint:forcetypeassert // nothing else is stored
}

// plan is by which c decides; empty for none.
func (c *choice) plan() string {
	if c.by.Plan == nil {
		return ""
	}
	return c.by.Plan.Name
}

// tell writes into an outcome by what it was decided. What only costs more than the part passes where the part is larger: it is not said never to pass.
func (c *choice) tell(o *limit.Outcome, cost int64) {
	c.by.Tell(o)
	if o.Never && cost <= c.whole {
		o.Never, o.RetryAfter = false, time.Duration(c.rule.Length(cost-o.Remaining).Ceil())
	}
}

// knows says whether edges decide about the limit of a rule still, as they did.
func (l *edgeLimits) knows(rule *limit.Rule) bool {
	now := l.rules[rule.Name]
	return now != nil && now.Consistency == rule.Consistency
}

// overridden says whether an override decides about a bucket. What its owner says then is nothing to go by: this edge may not know of the override's end, or its numbers.
func overridden(o *limit.Outcome) bool { return o.Override != "" }
