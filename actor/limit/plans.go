package limit

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A Plan is other numbers of a limit, which a check asks for by their name.
type Plan struct {
	Name string
	Says string // the numbers that it replaces, as in "capacity: 10, refill: 1/s"
	Rule *Rule
}

// Plan is a plan of a stored limit.
func (d *Document) Plan(name, plan string) (*Plan, bool) {
	if v := d.variants[name]; v != nil {
		return v.plan(plan)
	}
	return nil, false
}

// Plans are those of a stored limit, sorted by name.
func (d *Document) Plans(name string) []*Plan {
	if v := d.variants[name]; v != nil {
		return v.plans
	}
	return nil
}

// PlanOf is the name of the plan of a stored limit that has the numbers of a rule and the limit does not; empty for none.
func (d *Document) PlanOf(r *Rule) string {
	if own := d.rules[r.Name]; own == nil || own.alike(r) {
		return ""
	}
	for _, p := range d.Plans(r.Name) {
		if p.Rule.alike(r) {
			return p.Name
		}
	}
	return ""
}

// CheckPlan refuses a plan that a request asks for. Every limit that has plans must have it, and at least one must; a limit
// without plans goes by its own numbers. The error is a *FieldError; see [IsNoPlan].
func (d *Document) CheckPlan(plan string, refs []Ref) error {
	found := false
	for _, ref := range refs {
		plans := d.Plans(ref.Name)
		if ref.Inline != nil || len(plans) == 0 {
			continue
		}
		if _, found = d.Plan(ref.Name, plan); !found {
			names := make([]string, len(plans))
			for i, p := range plans {
				names[i] = p.Name
			}
			return noPlan(fmt.Sprintf("limit %s has no plan %s: use %s, or leave the plan out", Quote(ref.Name), Quote(plan), either(names)))
		}
	}
	if found {
		return nil
	}
	names := make([]string, len(refs))
	for i, ref := range refs {
		names[i] = Quote(ref.Name)
	}
	return noPlan(fmt.Sprintf("there is no plan %s: %s has no plans: leave the plan out, or add plans to a limit in the limits document",
		Quote(plan), either(names)))
}

// either is "a", "a or b", "a, b or c".
func either(names []string) string {
	if last := len(names) - 1; last > 0 {
		return strings.Join(names[:last], ", ") + " or " + names[last]
	}
	return strings.Join(names, "")
}

// planField is the field that names a plan.
const planField = "plan"

func noPlan(problem string) error { return &FieldError{Field: planField, Problem: problem} }

// IsNoPlan says whether the error of a check means that its plan does not exist. It is known by its field, also on its way from a node.
func IsNoPlan(err error) bool {
	fe, ok := errors.AsType[*FieldError](err)
	return ok && (fe.Field == planField || strings.HasSuffix(fe.Field, "."+planField))
}

// ValidatePlan checks the form of a plan's name: that of a limit's, or empty for none. Its errors are *FieldError.
func ValidatePlan(plan string) error {
	if plan == "" {
		return nil
	}
	err := validateName(plan)
	if fe, ok := errors.AsType[*FieldError](err); ok {
		return noPlan(fe.Problem)
	}
	return err
}

// plan finds a plan by its name.
func (v *variants) plan(name string) (*Plan, bool) {
	at, ok := slices.BinarySearchFunc(v.plans, name, func(p *Plan, name string) int { return strings.Compare(p.Name, name) })
	if !ok {
		return nil, false
	}
	return v.plans[at], true
}
