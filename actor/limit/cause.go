package limit

// A Cause is by what a stored limit decides about a key in the place of its own numbers: an override, or a plan. The zero Cause is by
// neither.
type Cause struct {
	Override *Overriding
	Plan     *Plan
}

// CauseOf is by what a stored limit decides about a key, in a check that names a plan, or none: an override of the key counts before the
// plan. Now is the clock.
func (d *Document) CauseOf(name, key, plan string, now func() int64) Cause {
	if o := d.Override(name, key, now); o != nil {
		return Cause{Override: o}
	}
	if plan == "" {
		return Cause{}
	}
	p, _ := d.Plan(name, plan)
	return Cause{Plan: p}
}

// Rule is the one that decides in the place of the limit's own.
func (by Cause) Rule(own *Rule) *Rule {
	switch {
	case by.Override != nil:
		return by.Override.Rule
	case by.Plan != nil:
		return by.Plan.Rule
	}
	return own
}

// Verdict is what the override says of every check.
func (by Cause) Verdict() Verdict {
	if by.Override == nil {
		return Decides
	}
	return by.Override.Verdict
}

// Tell writes into an outcome by what it was decided.
func (by Cause) Tell(o *Outcome) {
	if by.Override != nil {
		o.Override = by.Override.Text
	} else if by.Plan != nil {
		o.Plan = by.Plan.Name
	}
}
