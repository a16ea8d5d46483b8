package fallback

import (
	"context"
	"errors"

	"github.com/jeton-dev/jeton/actor/limit"
)

// reason is why the cluster did not decide, as metrics and logs have it.
type reason string

const (
	unavailable  reason = "unavailable"   // nodes cannot be reached, or have no majority
	timeout      reason = "timeout"       // no answer within the budget
	overloaded   reason = "overloaded"    // the node or the client sheds load
	unknownLimit reason = "unknown_limit" // the cluster has no limit of that name
	invalid      reason = "invalid"       // a request that can never be decided
	canceled     reason = "canceled"      // whoever asked did not wait
	other        reason = "other"
)

// reasons are all of them.
var reasons = []reason{unavailable, timeout, overloaded, unknownLimit, invalid, canceled, other}

// reasonOf says why a check with ctx, the context without the budget, met err.
func reasonOf(ctx context.Context, err error) reason {
	_, field := errors.AsType[*limit.FieldError](err)
	switch {
	case ctx.Err() != nil:
		return canceled
	case field:
		return invalid
	case errors.Is(err, limit.ErrUnknownLimit):
		return unknownLimit
	case errors.Is(err, limit.ErrOverloaded):
		return overloaded
	case errors.Is(err, context.DeadlineExceeded):
		return timeout
	case errors.Is(err, limit.ErrUnavailable):
		return unavailable
	}
	return other
}

// mistake says whether it is one in a configuration: the cluster did answer, and waiting does not help.
func (r reason) mistake() bool { return r == unknownLimit || r == invalid }
