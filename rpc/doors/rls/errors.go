package rls

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/jeton-dev/jeton/actor/limit"
)

// invalid is the answer to a request that can never be decided: it names the field.
func invalid(format string, args ...any) error {
	return status.Error(codes.InvalidArgument, fmt.Sprintf(format, args...))
}

// wireError is an error of the Limiter as gRPC sends it: nothing was decided.
func wireError(err error) error {
	code := codes.Unavailable
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		code = codes.DeadlineExceeded
	case errors.Is(err, context.Canceled):
		code = codes.Canceled
	case errors.Is(err, limit.ErrOverloaded):
		code = codes.ResourceExhausted
	case errors.Is(err, limit.ErrUnauthenticated):
		code = codes.Unauthenticated
	default:
		if _, ok := errors.AsType[*limit.FieldError](err); ok {
			code = codes.FailedPrecondition // the request is valid: what the node stores, or allows, is in its way
		}
	}
	if fe, ok := errors.AsType[*limit.FieldError](err); ok && strings.HasPrefix(fe.Problem, "is a stored limit") {
		return status.Errorf(code, "%s is the name of a stored limit, and of rules of this door, as all names are that begin with rls-: rename the stored limit", strings.TrimPrefix(fe.Field, "limits."))
	}
	return status.Error(code, err.Error())
}
