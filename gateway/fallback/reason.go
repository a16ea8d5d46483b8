package fallback

import (
	"context"
	"errors"

	"github.com/jeton-dev/jeton/actor/limit"
)

// reason is why the cluster did not decide: a label of metrics and a field of the log.
type reason string

const (
	unavailable  reason = "unavailable"   // nodes cannot be reached, or have no majority
	timeout      reason = "timeout"       // no answer within the budget
	overloaded   reason = "overloaded"    // the node or the client of the cluster sheds load
	unknownLimit reason = "unknown_limit" // the cluster has no limit of that name
	invalid      reason = "invalid"       // a request that can never be decided
	canceled     reason = "canceled"      // the caller gave up
	other        reason = "other"
)

// reasons are all of them.
var reasons = []reason{unavailable, timeout, overloaded, unknownLimit, invalid, canceled, other}

// reasonOf classifies the error of a check. ctx is the context of the caller, without the budget.
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

// isMistake reports whether the configuration is wrong: the cluster answered, and a retry does not help.
func (r reason) isMistake() bool { return r == unknownLimit || r == invalid }
