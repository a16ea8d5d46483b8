package limit

import "context"

// A Caller identifies one of the clients that share a node, such as a connection. Equal values are the same Caller. A node
// under load serves Callers in turn, so that none waits behind all requests of another. Nil is the program that embeds the node.
type Caller any

// A Trace is a span that waits for decisions. It is safe for concurrent use, and its methods return soon.
type Trace interface {
	// Text is the context of the span, for spans of other nodes that are its children.
	Text() string
	// Reserves notes that a check of the span has line reserved at replicas, and whether it waits for them, or is answered before.
	Reserves(waits bool)
}

type callerKey struct{}

// A tracedCaller is a Caller whose requests are traced. Both stand under one key: a context is searched once for them.
type tracedCaller struct {
	caller Caller
	trace  Trace
}

// WithCaller is a context for the requests of c, whose type must be comparable.
func WithCaller(ctx context.Context, c Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// CallerOf is the Caller that [WithCaller] has put into ctx, or nil.
func CallerOf(ctx context.Context) Caller {
	c, _ := TracedCallerOf(ctx)
	return c
}

// WithTrace is a context for the requests of a span, of the same Caller as before.
func WithTrace(ctx context.Context, t Trace) context.Context {
	return context.WithValue(ctx, callerKey{}, tracedCaller{CallerOf(ctx), t})
}

// TracedCallerOf is the Caller of ctx, and the Trace that [WithTrace] has put into it, or nil.
func TracedCallerOf(ctx context.Context) (Caller, Trace) {
	c := ctx.Value(callerKey{})
	if t, is := c.(tracedCaller); is {
		return t.caller, t.trace
	}
	return c, nil
}
