package simulation

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jeton-dev/jeton/actor/limit"
)

// drawPlans gives limits plans and overrides, with dice of its own, so that all else is as it was.
func (s *scenario) drawPlans() {
	d, kinds := throw(s.seed, forPlans), throw(s.seed, forPlans, 1<<33)
	if s.theme == tardy || !d.percent(30) {
		return
	}
	s.leads = map[*limit.Rule]int64{}
	varied := make([]bool, len(s.limits))
	for l := range s.limits {
		switch {
		case l < s.lines():
			varied[l] = d.percent(70) && (!s.exact || !resized(s.limits[l].rules[0]))
		case !s.exact:
			varied[l] = kinds.percent(70)
		}
	}
	for version := range s.limits[0].rules {
		var text strings.Builder
		text.WriteString("limits:\n")
		for l := range s.limits {
			text.WriteString(written(s.limits[l].rules[version]))
			if varied[l] {
				text.WriteString(drawVariants(&d, s.limits[l].rules[version]))
			}
		}
		doc, err := limit.ParseDocument([]byte(text.String()))
		if err != nil {
			panic(fmt.Sprintf("simulation: a document that cannot be: %v\n%s", err, text.String()))
		}
		s.documents = append(s.documents, doc)
		for l := range s.limits {
			s.take(&s.limits[l], doc, version)
		}
	}
}

// resized says whether a plan's numbers make other windows of a limit. A reset then makes a key's line free from where the windows of its last
// check begin, which a check by shorter ones may not reach: that is stricter than a bucket that never fails.
func resized(r *limit.Rule) bool {
	const within = 1 // a time at which no window begins
	return r.Begin(within) > within && slices.Contains(limit.Fields(r.Algorithm), "refill")
}

// written is a limit as a document has it.
func written(r *limit.Rule) string {
	doc, err := limit.NewDocument(r.Limit)
	if err != nil {
		panic(fmt.Sprintf("simulation: a limit that cannot be: %v", err))
	}
	text, err := doc.YAML()
	if err != nil {
		panic(fmt.Sprintf("simulation: a limit that cannot be written: %v", err))
	}
	_, fields, _ := strings.Cut(string(text), "\n")
	return fields
}

// drawVariants are plans and overrides of a limit, as a document has them.
func drawVariants(d *die, r *limit.Rule) string {
	text := fmt.Sprintf("    plans: {free: {%s}, pro: {%s}}\n", drawNumbers(d, r), drawNumbers(d, r))
	if d.percent(10) {
		text = fmt.Sprintf("    plans: {pro: {%s}}\n", drawNumbers(d, r))
	}
	if d.percent(50) {
		text += fmt.Sprintf("    overrides: [{key: key-0, %s}, {key: \"key-1*\", %s}]\n", drawNumbers(d, r), drawNumbers(d, r))
	}
	return text
}

// drawNumbers are those of a plan or an override of a limit. One that takes holds takes as long to fill by all of them: it counts entries by all, or
// by none.
func drawNumbers(d *die, r *limit.Rule) string {
	fields := limit.Fields(r.Algorithm)
	capacity := max(1, r.Capacity*pick(d, int64(1), 1, 2, 5)/pick(d, int64(1), 2, 5))
	switch refills := slices.Contains(fields, "refill"); {
	case r.Permits(), r.Algorithm == limit.SlidingLog:
		return fmt.Sprintf("%s: %d", fields[0], min(capacity, mostListed))
	case !refills:
		return fmt.Sprintf("%s: %d", fields[0], min(capacity, int64(r.Limit.Window)))
	case r.Holds.Longest > 0:
		return fmt.Sprintf("%s: %d, refill: %s", fields[0], capacity, limit.Refill{Tokens: capacity, Per: r.Refill.Per})
	}
	return fmt.Sprintf("%s: %d, refill: %s", fields[0], capacity, limit.Refill{Tokens: r.Refill.Tokens * pick(d, int64(1), 2, 3), Per: r.Refill.Per})
}

// take takes the rules of a limit in a version of the document.
func (s *scenario) take(l *limits, doc *limit.Document, version int) {
	own, _ := doc.Rule(l.name)
	l.rules[version] = own
	var others []*limit.Rule
	for _, p := range doc.Plans(l.name) {
		others = append(others, p.Rule)
	}
	for _, o := range doc.Written(l.name) {
		others = append(others, o.Rule)
	}
	lead := own.Reach()
	for _, r := range others {
		lead = max(lead, r.Reach())
	}
	for _, r := range append(others, own) {
		s.leads[r] = lead
	}
	l.others = append(l.others, others...)
}

// lead is how far ahead of now line can be reserved under any rule of the limit in the same version.
func (s *scenario) lead(r *limit.Rule) int64 { return max(s.leads[r], r.Reach()) }

// plans gives checks a plan, or none: most keys have one, some ask by several.
func (p *planner) plans() {
	for i := range p.items {
		c := p.items[i].call
		if len(p.documents) == 0 || c == nil || c.what != checks {
			continue
		}
		key := throw(p.seed, forPlans, uint64(c.key)) //nolint:gosec // an index
		one, mixed := pick(&key, "", "free", "pro", "pro"), key.percent(30)
		if d := throw(p.seed, forPlans, 1<<32+p.items[i].id); mixed {
			one = pick(&d, "", "free", "pro")
		}
		if p.documents[0].CheckPlan(one, p.refs(c.limits)) == nil {
			c.plan = one
		}
	}
}

// refs are limits as requests name them.
func (s *scenario) refs(limits []int) (refs []limit.Ref) {
	for _, l := range limits {
		refs = append(refs, limit.Named(s.limits[l].name))
	}
	return refs
}

// varied says whether a rule is that of a plan or an override.
func (s *scenario) varied(r *limit.Rule) bool {
	return slices.ContainsFunc(s.limits, func(l limits) bool { return slices.Contains(l.others, r) })
}

// ruleOf is by what a version of the document decides about a key: an override, a plan, or the limit itself.
func (s *scenario) ruleOf(version, l, key int, plan string) *limit.Rule {
	if len(s.documents) == 0 {
		return s.limits[l].rules[version]
	}
	doc, name := s.documents[version], s.limits[l].name
	if over := doc.Override(name, s.keys[key].name, func() int64 { return 0 }); over != nil {
		return over.Rule
	}
	if found, ok := doc.Plan(name, plan); ok && plan != "" {
		return found.Rule
	}
	return s.limits[l].rules[version]
}
