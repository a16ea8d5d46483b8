package fallback

import (
	"errors"
	"slices"

	"github.com/jeton-dev/jeton/actor/limit"
)

// A rest is what of a request has no decision: all of it, or some of its limits.
type rest struct {
	limit.Request

	decided limit.Decision // of the other limits
}

// restOf is what of r has no decision, as err says.
func restOf(r *limit.Request, err error) rest {
	left := rest{Request: *r}
	if part, ok := errors.AsType[*limit.UndecidedError](err); ok {
		left.Limits, left.decided = part.Limits, part.Decided
	}
	return left
}

// admitted is the decision about r where the rest is admitted without one.
func (u *rest) admitted(r *limit.Request) limit.Decision {
	d := limit.Decision{Allowed: true}
	if r.Receipt {
		d.Receipts = u.decided.Receipts
	}
	return d
}

// with is the decision about r where that about the rest is d.
func (u *rest) with(r *limit.Request, d limit.Decision) limit.Decision {
	if d.Allowed && r.Receipt {
		d.Receipts = u.decided.Receipts
	}
	for _, o := range u.decided.Limits {
		at := slices.IndexFunc(r.Limits, func(ref limit.Ref) bool { return ref.Name == o.Name })
		d.Limits = slices.Insert(d.Limits, at, o)
	}
	return d
}
