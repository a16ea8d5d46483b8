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

// UnaryInterceptor puts a gateway in front of the unary calls of a gRPC server. To the rules a call is a POST to the path
// /package.Service/Method, with the metadata as headers. A denied call ends with ResourceExhausted, and its trailer tells the
// client when to retry, as the retry policy of gRPC has it (grpc-retry-pushback-ms). A caller that sends the metadata
// jeton-denials: error finds the wait and the limits that deny in the details of the status, too. Where a route says refund or charge_when,
// the status that the handler returns counts as the corresponding HTTP status, and a panic as 500.
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

// StreamInterceptor is UnaryInterceptor for streams: it decides when a stream starts.
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

// errPanicked is the result of a handler that panics.
var errPanicked = status.Error(codes.Internal, "the handler panicked")

// A call is one that passed.
type call struct {
	slot   slot
	charge charge
	access *access
}

// end ends the call with the error of its handler.
func (c *call) end(ctx context.Context, err error) {
	c.charge.answered(ctx, answer.StatusOf(status.Code(err)))
	c.access.endCall(status.Code(err))
	c.slot.release()
}

// An admittedStream is a stream with the context of its decision.
type admittedStream struct {
	grpc.ServerStream
	ctx context.Context //nolint:containedctx // a stream has one
}

// Context implements grpc.ServerStream.
func (s *admittedStream) Context() context.Context { return s.ctx }

// admitCall decides about a call. If it passes, it goes on in the context that is returned, and is to be ended; otherwise the error
// is its answer.
func (g *Gateway) admitCall(ctx context.Context, method string) (context.Context, *call, error) {
	rules := g.rules.Load()
	v := g.startVisit(rules)
	defer g.endVisit(v)
	v.feedback = statusFeedback
	v.readCall(ctx, method)
	slot, o := g.takeSlot(rules, v.request.Peer, v.request.Header)
	if o == admitted {
		passed := false
		defer func() {
			if !passed { // refused, or a panic
				slot.release()
			}
		}()
		ctx = v.run(ctx)
		passed = v.passes()
	} else {
		v.refuse(o, noSlot(o))
		rules.other.count(o)
		g.logUnstarted(rules, &v.request, o)
	}
	headers := http.Header{}
	v.setHeaders(headers)
	if v.passes() {
		_ = grpc.SetHeader(ctx, metadataOf(headers)) // fails only for a call that has ended
		return ctx, &call{slot, v.charge(), v.access}, nil
	}
	v.refusal.Pushback(headers)
	_ = grpc.SetTrailer(ctx, metadataOf(headers)) // as above
	return ctx, nil, v.refusal.GRPCStatus(v.outcome.code()).Err()
}

// readCall reads a gRPC call into the visit.
func (v *visit) readCall(ctx context.Context, method string) {
	q := &v.request
	q.Method, q.Length = http.MethodPost, -1
	md, _ := metadata.FromIncomingContext(ctx)
	q.Header = make(http.Header, len(md))
	for name, values := range md {
		q.Header[textproto.CanonicalMIMEHeaderKey(name)] = values
	}
	v.readTarget(strings.Join(md.Get(":authority"), ","), &url.URL{Path: method})
	if from, ok := grpcpeer.FromContext(ctx); ok && from.Addr != nil {
		q.Peer = peerAddr(from.Addr.String())
	}
}

// metadataOf converts headers to metadata.
func metadataOf(h http.Header) metadata.MD {
	md := make(metadata.MD, len(h))
	for name, values := range h {
		md[strings.ToLower(name)] = values
	}
	return md
}
