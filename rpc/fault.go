package rpc

import (
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/prometheus/client_golang/prometheus"
)

// A panicError is a bug that one call ran into. It ends the call, not the node.
type panicError struct {
	value any
	stack []byte
}

func (e *panicError) Error() string { return fmt.Sprintf("panic: %v", e.value) }

// safely calls f, and turns a panic into an error.
func safely(panics prometheus.Counter, f func() error) (err error) {
	defer rescue(panics, &err)
	return f()
}

// rescue is deferred: it turns a panic into an error.
func rescue(panics prometheus.Counter, err *error) {
	if value := recover(); value != nil { //nolint:revive // it is deferred itself
		panics.Inc()
		*err = &panicError{value: value, stack: debug.Stack()}
	}
}

// faultAttrs are what a log says about a fault.
func faultAttrs(err error) []any {
	if p, ok := errors.AsType[*panicError](err); ok {
		return []any{"error", err, "stack", string(p.stack)}
	}
	return []any{"error", err}
}
