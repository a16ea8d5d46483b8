package actor

import "github.com/jeton-dev/jeton/actor/limit"

// vary puts the rules of plans and overrides in the place of those of their limits, and keeps what overrides deny or let pass from the
// owner. An override counts before the plan.
func (m *mail) vary(doc *limit.Document, now func() int64) {
	var j *judgement
	count := len(m.rules)
	kept, inline := 0, uint32(0)
	for i, rule := range m.rules {
		given := m.inline & (1 << i)
		var by limit.Cause
		if given == 0 {
			by = doc.CauseOf(rule.Name, m.key, m.plan, now)
		}
		if by != (limit.Cause{}) && m.kind == check {
			m.note(i, count, by)
		}
		if by.Verdict() != limit.Decides && m.kind == check {
			if j == nil {
				j = &judgement{outcomes: make([]limit.Outcome, count), inline: m.inline}
			}
			j.judge(i, by.Override, m.cost, now)
			continue
		}
		m.rules[kept] = by.Rule(rule)
		if given != 0 {
			inline |= 1 << kept
		}
		kept++
	}
	if j == nil {
		return
	}
	m.rules, m.inline, m.judged = m.rules[:kept], inline, j
	m.id = "" // what is remembered by an id is the decision on all limits
	if j.denied {
		m.cost, m.receipt = 0, false
		m.wait, m.hold, m.least = 0, 0, 0
	}
}

// note keeps the cause of the i-th limit of that many.
func (m *mail) note(i, count int, by limit.Cause) {
	switch {
	case m.causes != nil:
	case count == 1:
		m.causes = m.cause[:]
	default:
		m.causes = make([]limit.Cause, count)
	}
	m.causes[i] = by
}
