package limit

import "context"

// A Caller tells those apart who share a node, such as connections: two values that are equal are the same. A node that has
// more to do than it can do at once takes turns among Callers, so that none of them waits for all that another one asks.
// Nil stands for the program that the node is a part of.
type Caller any

type callerKey struct{}

// WithCaller is ctx as the context of what c asks, which must be comparable.
func WithCaller(ctx context.Context, c Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// CallerOf is who asks in ctx.
func CallerOf(ctx context.Context) Caller { return ctx.Value(callerKey{}) }
