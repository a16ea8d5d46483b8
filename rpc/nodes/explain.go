package nodes

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc/connectivity"

	"github.com/jeton-dev/jeton/actor/limit"
)

// An outcomeError is all that the nodes met that a call went to.
type outcomeError struct{ error }

func (e *outcomeError) Unwrap() error { return e.error }

// An explainedError says already which node it is from.
type explainedError struct{ error }

func (e *explainedError) Unwrap() error { return e.error }

// explained says whether err need not be said where it is from: it is known, or does not matter.
func explained(err error) bool {
	if _, ok := errors.AsType[*explainedError](err); ok {
		return true
	}
	if _, ok := errors.AsType[*outcomeError](err); ok {
		return true
	}
	_, ok := errors.AsType[*limit.FieldError](err)
	return ok || errors.Is(err, limit.ErrUnknownLimit) || errors.Is(err, limit.ErrUnknownHold)
}

// Explain says of an error which node it was, and turns what the connection is to blame for into limit.ErrUnavailable. ended says
// whether the call has.
func (n *Node) Explain(ended bool, err error) error {
	if err == nil || n.local != nil || explained(err) {
		return err
	}
	if errors.Is(err, context.Canceled) && !ended {
		err = fmt.Errorf("%w: %s", limit.ErrUnavailable, err.Error())
	}
	if state, down := n.down(); down && state != connectivity.Shutdown && errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("%w: no connection before the deadline (%s)", limit.ErrUnavailable, state)
	}
	if wrong := n.diagnosed.wrong.Load(); wrong != nil {
		return &explainedError{&MisdirectedError{*wrong, err}}
	}
	return &explainedError{fmt.Errorf("node at %s: %w", n.address, err)}
}

// Diagnosed is Explain after a look at what is at the node's address, of a call with ctx that went to the node by itself.
func (n *Node) Diagnosed(ctx context.Context, err error) error {
	n.diagnose(ctx, err)
	return n.Explain(ctx.Err() != nil, err)
}
