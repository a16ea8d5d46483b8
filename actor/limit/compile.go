package limit

import (
	"cmp"
	"fmt"
	"strings"
	"time"
)

// Rule checks l and makes it ready to decide. Its errors are *FieldError.
func (l Limit) Rule() (*Rule, error) {
	if err := validateName(l.Name); err != nil {
		return nil, err
	}
	if l.Algorithm == "" {
		l.Algorithm = TokenBucket
	}
	if l.OnUnavailable == "" {
		l.OnUnavailable = Allow
	}
	compiler, ok := compilerOf(l.Algorithm)
	if !ok {
		return nil, &FieldError{
			Field:   "algorithm",
			Problem: fmt.Sprintf("unknown algorithm %s: use %s", Quote(l.Algorithm), strings.Join(Algorithms(), " or ")),
		}
	}
	switch err := l.fits(); {
	case err != nil:
		return nil, err
	case l.Capacity == 0:
		return nil, &FieldError{Field: l.countName(), Problem: "is missing or 0: use at least 1 token"}
	case l.Capacity < 0:
		return nil, &FieldError{Field: l.countName(), Problem: fmt.Sprintf("%d is too small: use at least 1 token", l.Capacity)}
	}
	rule, err := compiler.make(l)
	if err != nil {
		return nil, err
	}
	if err := l.checkMaxWait(); err != nil {
		return nil, err
	}
	if err := rule.takesHolds(); err != nil {
		return nil, err
	}
	if err := cmp.Or(l.Penalty.check(), l.checkGauges()); err != nil {
		return nil, err
	}
	if err := rule.penalized(); err != nil {
		return nil, err
	}
	if rule.reach += int64(l.MaxWait); rule.reach > int64(MaxFill) {
		return nil, errTooLong
	}
	if err := rule.spares(); err != nil {
		return nil, err
	}
	if err := rule.consistent(); err != nil {
		return nil, err
	}
	switch l.OnUnavailable {
	case Allow, Deny, Local:
		return rule, nil
	default:
		return nil, &FieldError{
			Field:   "on_unavailable",
			Problem: fmt.Sprintf("unknown policy %s: use allow, deny or local", Quote(string(l.OnUnavailable))),
		}
	}
}

// takesHolds gives r what it needs for the holds of its limit.
func (r *Rule) takesHolds() error {
	h := r.Holds
	if err := h.check(); err != nil || h.Longest == 0 {
		return err
	}
	switch {
	case r.Counts() && r.MaxWait != 0:
		return &FieldError{Field: "wait", Problem: fmt.Sprintf("does not go together with hold in a limit that takes longer than %s to be full again: leave one of them out",
			durationText(time.Duration(soon)))}
	case r.Counts() && (r.reach == 0 || h.MaxDebt == 0): // of windows, which end; or without a bound
		return nil
	}
	debt := r.Length(r.DebtTokens())
	switch room := int64(MaxFill) - r.reach; {
	case r.Counts() && debt.Ceil() > room: // as without a bound
	case r.Counts():
		r.reach += debt.Ceil()
	case debt.Ceil() > room:
		return &FieldError{Field: "max_debt", Problem: fmt.Sprintf("%d tokens take more than 73 years to come back: lower it, or refill faster", r.DebtTokens())}
	default:
		r.debt = debt
		r.reach += debt.Ceil()
	}
	return nil
}

// PermitRule is the rule of the limit that gave a permit, as far as its receipt tells: the name and the lease, which name the register
// of the bucket, and not how many may be inside. The limit may have been changed since, or be one of a request. The error is a
// *FieldError.
func PermitRule(r Receipt) (*Rule, error) {
	rule, err := Limit{Name: strings.Clone(r.Limit), Algorithm: Concurrency, Capacity: 1, Lease: time.Duration(r.End - r.Start)}.Rule()
	if err != nil {
		return nil, err
	}
	rule.Inline = true
	return rule, nil
}

// Part is the n-th part of the limit, for one of n gateways that decide without the cluster, or nil if there is none.
func (r *Rule) Part(n int) *Rule {
	l, ok := r.algorithm().Part(r.Limit, n)
	if !ok {
		return nil
	}
	l.Reserve = 0 // a gateway takes nothing ahead of its part, which may be too slow to have a percentage
	part, err := l.Rule()
	if err != nil { // the part takes too long to fill
		return nil
	}
	return part
}
