// Package fault turns a panic of one call into an error of that call, so that a bug in it does not end the process.
package fault

import (
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/prometheus/client_golang/prometheus"
)

// A panicError is a panic of one call. It ends the call, not the process.
type panicError struct {
	value any
	stack []byte
}

func (e *panicError) Error() string { return fmt.Sprintf("panic: %v", e.value) }

// Safely calls f, and turns a panic into an error.
func Safely(panics prometheus.Counter, f func() error) (err error) {
	defer Rescue(panics, &err)
	return f()
}

// Rescue is deferred: it recovers a panic, turns it into an error, and counts it.
func Rescue(panics prometheus.Counter, err *error) {
	if value := recover(); value != nil { //nolint:revive // it is deferred itself
		panics.Inc()
		*err = &panicError{value: value, stack: debug.Stack()}
	}
}

// Attrs are the log attributes of an error: for a panic, also the stack.
func Attrs(err error) []any {
	if p, ok := errors.AsType[*panicError](err); ok {
		return []any{"error", err, "stack", string(p.stack)}
	}
	return []any{"error", err}
}
