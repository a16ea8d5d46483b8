package gateway

import (
	"context"
	"net/http"
	"net/textproto"
	"net/url"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	grpcpeer "google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/jeton-dev/jeton/gateway/answer"
)

// UnaryInterceptor puts a gateway in front of the unary calls of a gRPC server. To the rules a call is a POST of its full
// method, /package.Service/Method, with its metadata for headers. One that is refused ends with ResourceExhausted for a
// denial, and its trailer tells clients when to try again, as the retry policy of gRPC understands it
// (grpc-retry-pushback-ms). Where a route says refund or charge_when, what the handler returns counts as the status of HTTP that
// stands for it, and a panic as 500.
func UnaryInterceptor(g *Gateway) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, m any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (reply any, err error) {
		ctx, c, err := g.admitCall(ctx, info.FullMethod)
		if err != nil {
			return nil, err
		}
		err = errPanicked
		defer func() { c.end(ctx, err) }()
		reply, err = next(ctx, m)
		return reply, err
	}
}

// StreamInterceptor is UnaryInterceptor for streams: it decides when one begins.
func StreamInterceptor(g *Gateway) grpc.StreamServerInterceptor {
	return func(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
		ctx, c, err := g.admitCall(stream.Context(), info.FullMethod)
		if err != nil {
			return err
		}
		err = errPanicked
		defer func() { c.end(ctx, err) }()
		err = next(srv, &admittedStream{stream, ctx})
		return err
	}
}

// errPanicked is what a handler that panics has returned.
var errPanicked = status.Error(codes.Internal, "the handler panicked")

// A call is one that passed.
type call struct {
	place  place
	charge charge
}

// end ends the call with what its handler returned.
func (c *call) end(ctx context.Context, err error) {
	c.charge.answered(ctx, answer.StatusOf(status.Code(err)))
	c.place.leave()
}

// An admittedStream is a stream in the context of its decision.
type admittedStream struct {
	grpc.ServerStream
	ctx context.Context //nolint:containedctx // a stream has one
}

// Context implements grpc.ServerStream.
func (s *admittedStream) Context() context.Context { return s.ctx }

// admitCall decides about a call. If it passes it goes on in the context, and is to be ended; otherwise the error is its end.
func (g *Gateway) admitCall(ctx context.Context, method string) (context.Context, *call, error) {
	rules := g.rules.Load()
	v := g.visits.take(g, rules)
	defer g.visits.put(v)
	v.sight = seesAnswer
	v.meetCall(ctx, method)
	place, room := g.enter(rules, v.request.Peer, v.request.Header)
	if room == admitted {
		passed := false
		defer func() {
			if !passed { // or a bug has broken it off
				place.leave()
			}
		}()
		ctx = v.run(ctx, v.request.Header)
		passed = v.passes()
	} else {
		v.refuse(room, noRoom(room))
		rules.other.count(room)
	}
	told := http.Header{}
	v.tell(told)
	if v.passes() {
		_ = grpc.SetHeader(ctx, metadataOf(told)) // a call that has ended needs none
		return ctx, &call{place, v.charge()}, nil
	}
	v.refusal.Pushback(told)
	_ = grpc.SetTrailer(ctx, metadataOf(told)) // nor this
	return ctx, nil, status.Error(v.outcome.code(), v.refusal.Message())
}

// meetCall takes in a gRPC call.
func (v *visit) meetCall(ctx context.Context, method string) {
	q := &v.request
	q.Method, q.Length = http.MethodPost, -1
	md, _ := metadata.FromIncomingContext(ctx)
	q.Header = make(http.Header, len(md))
	for name, values := range md {
		q.Header[textproto.CanonicalMIMEHeaderKey(name)] = values
	}
	v.read(strings.Join(md.Get(":authority"), ","), &url.URL{Path: method})
	if from, ok := grpcpeer.FromContext(ctx); ok && from.Addr != nil {
		q.Peer = peer(from.Addr.String())
	}
}

// metadataOf are headers as metadata.
func metadataOf(h http.Header) metadata.MD {
	md := make(metadata.MD, len(h))
	for name, values := range h {
		md[strings.ToLower(name)] = values
	}
	return md
}
