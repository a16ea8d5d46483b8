package rpc

import (
	"context"
	"net"

	"google.golang.org/grpc/peer"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/internal/bound"
)

// ofConnection is the context of a gRPC call as that of its connection, which takes turns with the others. A connection is
// known by the address of its address, of which each has its own.
func ofConnection(ctx context.Context) context.Context {
	if p, ok := peer.FromContext(ctx); ok && p.Addr != nil {
		return limit.WithCaller(ctx, p.Addr)
	}
	return ctx
}

// ofHTTPConnection is ofConnection for what comes over HTTP, with the bounds of the connection if it has some.
func ofHTTPConnection(ctx context.Context, c net.Conn) context.Context {
	if of := bound.Of(c); of != nil {
		ctx = context.WithValue(ctx, boundKey{}, of)
	}
	return limit.WithCaller(ctx, c.RemoteAddr())
}
