package credentials

import (
	"context"
	"fmt"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/jeton-dev/jeton/internal/bearer"
	"github.com/jeton-dev/jeton/rpc/access"
)

// A Guard is a gRPC server on which a method is registered only together with what the table of rpc/access says of it: where that
// is more than to be able to check, the Guard looks at what the caller shows before the method runs. It stands before these
// methods alone, so that checks do not pass it.
type Guard struct {
	*grpc.Server

	// Port says by what callers can be known.
	Port access.Port
	// Tokens are those of operators; nil for none.
	Tokens *Tokens
	// Refused is called with every call without a stream that is refused, by its full method. Required.
	Refused func(method string, err error)

	unknown []string // methods that the table does not name
}

// RegisterService implements [grpc.ServiceRegistrar].
func (g *Guard) RegisterService(desc *grpc.ServiceDesc, srv any) {
	guarded := *desc
	guarded.Methods, guarded.Streams = nil, nil
	for _, m := range desc.Methods {
		if need, method := g.need(desc, m.MethodName); need > access.Check {
			m.Handler = g.guarded(need, method, m.Handler)
		}
		guarded.Methods = append(guarded.Methods, m)
	}
	for _, m := range desc.Streams {
		if need, _ := g.need(desc, m.StreamName); need > access.Check {
			m.Handler = g.guardedStream(need, m.Handler)
		}
		guarded.Streams = append(guarded.Streams, m)
	}
	g.Server.RegisterService(&guarded, srv)
}

// need is what a method needs by the table.
func (g *Guard) need(desc *grpc.ServiceDesc, name string) (need access.Need, method string) {
	method = "/" + desc.ServiceName + "/" + name
	e, ok := access.Method(method)
	if !ok {
		g.unknown = append(g.unknown, method)
	}
	return e.Need, method
}

// Check fails if a method was registered that the table does not name: nothing says who may call it.
func (g *Guard) Check() error {
	if len(g.unknown) > 0 {
		return fmt.Errorf("gRPC methods %v are missing in the table of rpc/access", g.unknown)
	}
	return nil
}

// guarded is a handler that first looks at what the caller shows.
func (g *Guard) guarded(need access.Need, method string, handler grpc.MethodHandler) grpc.MethodHandler {
	operates := !strings.HasPrefix(method, ofNodes)
	return func(srv any, ctx context.Context, read func(any) error, intercept grpc.UnaryServerInterceptor) (any, error) {
		if err := g.admit(ctx, need); err != nil {
			g.Refused(method, err)
			return nil, err
		}
		if operates {
			ctx = access.WithIdentity(ctx, g.identity(ctx))
		}
		return handler(srv, ctx, read, intercept)
	}
}

// guardedStream is guarded for a method with a stream.
func (g *Guard) guardedStream(need access.Need, handler grpc.StreamHandler) grpc.StreamHandler {
	return func(srv any, stream grpc.ServerStream) error {
		if err := g.admit(stream.Context(), need); err != nil {
			return err
		}
		return handler(srv, stream)
	}
}

// admit says whether the caller of a call has shown enough.
func (g *Guard) admit(ctx context.Context, need access.Need) error {
	shown, token := g.shown(ctx)
	if need.Admits(access.NodeGRPC, g.Port, shown) {
		return nil
	}
	return status.Error(codes.Unauthenticated, g.asks(need, token != ""))
}

// shown is what the caller of a call has proved to have, and the token that it has sent.
func (g *Guard) shown(ctx context.Context) (shown access.Shown, token string) {
	shown.Key = hasKey(ctx)
	if said := metadata.ValueFromIncomingContext(ctx, "authorization"); len(said) == 1 {
		token, _ = bearer.Cut(said[0])
		shown.Token = g.Tokens.has(token)
	}
	return shown, token
}

// ofNodes begins the methods by which nodes call one another: nothing in them is an operator's doing.
const ofNodes = "/jeton.v1.Peer/"

// identity is who calls, for the audit log.
func (g *Guard) identity(ctx context.Context) access.Identity {
	shown, token := g.shown(ctx)
	i := access.Identity{Key: shown.Key, Who: access.NoCredentials}
	var who []string
	if shown.Key {
		who = append(who, "cluster key")
	}
	if shown.Token {
		who = append(who, g.Tokens.Name(token))
	}
	if p, ok := peer.FromContext(ctx); ok {
		if p.Addr != nil {
			i.From = p.Addr.String()
		}
		if tls, ok := p.AuthInfo.(credentials.TLSInfo); ok && len(tls.State.PeerCertificates) > 0 {
			who = append(who, "certificate "+tls.State.PeerCertificates[0].Subject.String())
		}
	}
	if i.None = len(who) == 0; !i.None {
		i.Who = strings.Join(who, ", ")
	}
	return i
}

// asks says what a caller is to show, who has shown a token that does not do or none.
func (g *Guard) asks(need access.Need, token bool) string {
	const key = "needs the cluster key: give --cluster-key-file"
	switch {
	case need == access.Key:
		return key
	case g.Tokens == nil && !g.Port.Key:
		return "is for operators, and this node has no operator tokens: start it with --admin-token-file"
	case g.Tokens == nil:
		return key
	case token:
		return "does not know this token: give " + g.Tokens.Where()
	case !g.Port.Key:
		return "needs an operator's token: give --token-file with a token of the node's --admin-token-file"
	}
	return "needs the cluster key or an operator's token: give --cluster-key-file or --token-file"
}
