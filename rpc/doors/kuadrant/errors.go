package kuadrant

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/jeton-dev/jeton/actor/limit"
)

// invalidRequest is the answer to a request that can never be decided: it names the field.
func invalidRequest(format string, args ...any) error {
	return status.Error(codes.InvalidArgument, fmt.Sprintf(format, args...))
}

// tooMany is the answer to a request that more limits apply to than can be asked at once.
func tooMany(n, most int) error {
	return status.Errorf(codes.FailedPrecondition, "descriptors: limits with %d different conditions and variables apply: at most %d at once", n, most)
}

// wireError is an error of the Limiter as gRPC sends it: nothing was decided.
func wireError(err error) error {
	if _, ok := status.FromError(err); ok {
		return err
	}
	code := codes.Unavailable
	fe, wrong := errors.AsType[*limit.FieldError](err)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		code = codes.DeadlineExceeded
	case errors.Is(err, context.Canceled):
		code = codes.Canceled
	case errors.Is(err, limit.ErrOverloaded):
		code = codes.ResourceExhausted
	case errors.Is(err, limit.ErrUnauthenticated):
		code = codes.Unauthenticated
	case wrong:
		code = codes.FailedPrecondition // the request is valid: what the node stores, or allows, is in its way
	}
	if wrong && strings.HasPrefix(fe.Problem, "is a stored limit") {
		return status.Errorf(code, "%s is the name of a stored limit, and of limits of this door, as all names are that begin with kuadrant-: rename the stored limit", strings.TrimPrefix(fe.Field, "limits."))
	}
	return status.Error(code, err.Error())
}
