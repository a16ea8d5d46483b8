package rpc

import (
	"context"

	"google.golang.org/grpc/peer"

	"github.com/jeton-dev/jeton/actor/limit"
)

// ofConnection is the context of a gRPC call as that of its connection, which takes turns with the others. A connection is
// known by the address of its address, of which each has its own.
func ofConnection(ctx context.Context) context.Context {
	if p, ok := peer.FromContext(ctx); ok && p.Addr != nil {
		return limit.WithCaller(ctx, p.Addr)
	}
	return ctx
}
