package rpc

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/jeton-dev/jeton/rpc/access"
)

// A doorkeeper is a gRPC server on which a method is registered only together with what the table of access says of it:
// where that is more than to be able to check, a guard stands before the method. The guard stands before these alone, so that
// checks do not pass it.
type doorkeeper struct {
	*grpc.Server
	port    access.Port
	tokens  *Tokens
	metrics serverMetrics
	unknown []string // methods that the table does not name
}

// RegisterService implements [grpc.ServiceRegistrar].
func (d *doorkeeper) RegisterService(desc *grpc.ServiceDesc, srv any) {
	guarded := *desc
	guarded.Methods, guarded.Streams = nil, nil
	for _, m := range desc.Methods {
		if need, method := d.need(desc, m.MethodName); need > access.Check {
			m.Handler = d.guarded(need, method, m.Handler)
		}
		guarded.Methods = append(guarded.Methods, m)
	}
	for _, m := range desc.Streams {
		if need, _ := d.need(desc, m.StreamName); need > access.Check {
			m.Handler = d.guardedStream(need, m.Handler)
		}
		guarded.Streams = append(guarded.Streams, m)
	}
	d.Server.RegisterService(&guarded, srv)
}

// need is what a method needs by the table.
func (d *doorkeeper) need(desc *grpc.ServiceDesc, name string) (need access.Need, method string) {
	method = "/" + desc.ServiceName + "/" + name
	e, ok := access.Method(method)
	if !ok {
		d.unknown = append(d.unknown, method)
	}
	return e.Need, method
}

// check fails if a method was registered that the table does not name: nobody has said who may call it.
func (d *doorkeeper) check() error {
	if len(d.unknown) > 0 {
		return fmt.Errorf("rpc: %v are missing in the table of rpc/access", d.unknown)
	}
	return nil
}

// guarded is a handler that first looks at what the caller shows.
func (d *doorkeeper) guarded(need access.Need, method string, handler grpc.MethodHandler) grpc.MethodHandler {
	return func(srv any, ctx context.Context, read func(any) error, intercept grpc.UnaryServerInterceptor) (any, error) {
		if err := d.admit(ctx, need); err != nil {
			d.metrics.observe(method, err, time.Now())
			return nil, err
		}
		return handler(srv, ctx, read, intercept)
	}
}

// guardedStream is guarded for a method with a stream.
func (d *doorkeeper) guardedStream(need access.Need, handler grpc.StreamHandler) grpc.StreamHandler {
	return func(srv any, stream grpc.ServerStream) error {
		if err := d.admit(stream.Context(), need); err != nil {
			return err
		}
		return handler(srv, stream)
	}
}

// admit says whether the caller of a call has shown enough.
func (d *doorkeeper) admit(ctx context.Context, need access.Need) error {
	shown, token := access.Shown{Key: hasKey(ctx)}, ""
	if said := metadata.ValueFromIncomingContext(ctx, "authorization"); len(said) == 1 {
		token = access.Bearer(said[0])
		shown.Token = d.tokens.has(token)
	}
	if need.Admits(access.NodeGRPC, d.port, shown) {
		return nil
	}
	return status.Error(codes.Unauthenticated, d.asks(need, token != ""))
}

// asks says what a caller is to show, who has shown a token that does not do or none.
func (d *doorkeeper) asks(need access.Need, token bool) string {
	const key = "needs the cluster key: give --cluster-key-file"
	switch {
	case need == access.Key:
		return key
	case d.tokens == nil && !d.port.Key:
		return "is for operators, and this node knows none: start it with --admin-token-file"
	case d.tokens == nil:
		return key
	case token:
		return "does not know this token: give " + d.tokens.Where()
	case !d.port.Key:
		return "needs a token of an operator: give --token-file with a token of the node's --admin-token-file"
	}
	return "needs the cluster key or a token of an operator: give --cluster-key-file or --token-file"
}
