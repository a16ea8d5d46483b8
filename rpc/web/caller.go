package web

import "context"

// A Caller is what the guard of a port knows of who sends a request, for pages that show what one may do. It is in the contexts of
// requests for / and below /console/.
type Caller struct {
	Look, Change bool   // what the caller may do
	Tokens       bool   // the port takes tokens
	Who          string // what the audit log calls the caller; empty for one without a token
	still        func() bool
}

// Still says whether the request would be let through now: its token may have been revoked, or its cookie run out.
func (c Caller) Still() bool { return c.still != nil && c.still() }

type callerKey struct{}

// CallerOf is the caller of a request; the zero value, which may do nothing, where no guard has seen it.
func CallerOf(ctx context.Context) Caller {
	c, _ := ctx.Value(callerKey{}).(Caller)
	return c
}

func withCaller(ctx context.Context, c Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}
