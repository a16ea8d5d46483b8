package limit

import "context"

// A Caller identifies one of the clients that share a node, such as a connection. Equal values are the same Caller. A node
// under load serves Callers in turn, so that none waits behind all requests of another. Nil is the program that embeds the node.
type Caller any

type callerKey struct{}

// WithCaller is a context for the requests of c, whose type must be comparable.
func WithCaller(ctx context.Context, c Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// CallerOf is the Caller that [WithCaller] has put into ctx, or nil.
func CallerOf(ctx context.Context) Caller { return ctx.Value(callerKey{}) }
