package limit

import "time"

// A Memory is a bucket in the memory of one process that decides alone, without an owner and replicas: a gateway while the
// cluster does not decide, or a program that replays a log. The zero value is a full bucket. It may be moved, and not be
// copied after its first use. The times that it is given do not go back. It is not safe for concurrent use.
//
// Every method is given the rule that counts now, which need not be the one of the method's last call: debt carries over as
// [Rule.Carry] says, unless the windows are others ([Rule.Register]). A check of several limits asks [Memory.Allows] of each bucket, and then [Memory.Decide] of all or of none.
type Memory struct {
	rule *Rule // whose position tat is; nil before the first admission
	tat  Pos

	ledger *Ledger // of a rule that counts entries, in place of the tat
}

// counted is the bucket of a rule that counts entries.
func (m *Memory) counted(rule *Rule) *Ledger {
	switch {
	case m.ledger == nil || m.rule.Register() != rule.Register():
		return rule.NewLedger(0)
	case m.rule != rule:
		m.ledger.Adapt(rule)
		m.rule = rule
	}
	return m.ledger
}

// position is the bucket's TAT as a position of rule.
func (m *Memory) position(rule *Rule) Pos {
	if m.rule == nil || m.ledger != nil || m.rule.Register() != rule.Register() {
		return Pos{}
	}
	return rule.Carry(m.rule, m.tat)
}

// Allows says whether a check of cost at t passes. It takes nothing.
func (m *Memory) Allows(rule *Rule, t, cost int64) bool {
	if rule.Counts() {
		return cost <= rule.Capacity && cost <= max(m.counted(rule).Free(t), 0)
	}
	_, ok := rule.Decide(m.position(rule), t, cost)
	return ok
}

// Look is what a check of cost at t is told as long as it takes nothing, be it because another limit denies it.
func (m *Memory) Look(rule *Rule, t, cost int64) Outcome {
	if rule.Counts() {
		return m.counted(rule).Outcome(rule, t, cost, 0, m.Allows(rule, t, cost))
	}
	tat := m.position(rule)
	end := rule.End(tat, t, rule.Length(cost))
	return rule.Outcome(tat, t, cost, end, !end.After(rule.Bound(t)))
}

// Decide decides a check of cost at t: it takes the cost if that is there, and otherwise nothing.
func (m *Memory) Decide(rule *Rule, t, cost int64) Outcome {
	if rule.Counts() {
		return m.count(rule, t, cost)
	}
	tat := m.position(rule)
	end := rule.End(tat, t, rule.Length(cost))
	next, allowed := rule.Decide(tat, t, cost)
	if allowed && cost > 0 {
		m.rule, m.tat, m.ledger = rule, next, nil
	}
	return rule.Outcome(next, t, cost, end, allowed)
}

// Wait is how long after t the line of cost tokens has come in, even if that is more than the bucket holds.
func (m *Memory) Wait(rule *Rule, t, cost int64) time.Duration {
	if rule.Counts() {
		return time.Duration(m.counted(rule).FreeAt(t, min(cost, rule.Capacity)) - t)
	}
	return rule.Wait(rule.End(m.position(rule), t, rule.Length(cost)), t)
}

// Full says whether at t the bucket is the same as one that never took anything, and can be forgotten.
func (m *Memory) Full(t int64) bool {
	if m.ledger != nil {
		return m.ledger.End(t) <= t
	}
	return !m.tat.After(At(t))
}

// count is Decide for a rule that counts entries.
func (m *Memory) count(rule *Rule, t, cost int64) Outcome {
	allowed := m.Allows(rule, t, cost)
	if allowed && cost > 0 {
		m.ledger, m.rule = m.counted(rule), rule
		m.ledger.Enter(t, cost, 0)
	}
	return m.counted(rule).Outcome(rule, t, cost, 0, allowed)
}
