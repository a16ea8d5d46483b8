package gateway

import (
	"context"
	"net/http"
	"net/textproto"
	"net/url"
	"strconv"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	grpcpeer "google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

// UnaryInterceptor puts a gateway in front of the unary calls of a gRPC server. To the rules a call is a POST of its full
// method, /package.Service/Method, with its metadata for headers. One that is refused ends with ResourceExhausted for a
// denial, and its trailer tells clients when to try again, as the retry policy of gRPC understands it
// (grpc-retry-pushback-ms).
func UnaryInterceptor(g *Gateway) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, m any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		ctx, done, err := g.admitCall(ctx, info.FullMethod)
		defer done()
		if err != nil {
			return nil, err
		}
		return next(ctx, m)
	}
}

// StreamInterceptor is UnaryInterceptor for streams: it decides when one begins.
func StreamInterceptor(g *Gateway) grpc.StreamServerInterceptor {
	return func(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
		ctx, done, err := g.admitCall(stream.Context(), info.FullMethod)
		defer done()
		if err != nil {
			return err
		}
		return next(srv, &admittedStream{stream, ctx})
	}
}

// An admittedStream is a stream in the context of its decision.
type admittedStream struct {
	grpc.ServerStream
	ctx context.Context //nolint:containedctx // a stream has one
}

// Context implements grpc.ServerStream.
func (s *admittedStream) Context() context.Context { return s.ctx }

// admitCall decides about a call. done is to be called when it is over.
func (g *Gateway) admitCall(ctx context.Context, method string) (_ context.Context, done func(), err error) {
	rules := g.rules.Load()
	v := g.visits.take(g, rules)
	defer g.visits.put(v)
	v.meetCall(ctx, method)
	place, room := g.enter(rules, v.request.Peer, v.request.Header)
	if room == admitted {
		done = place.leave
		decided := false
		defer func() {
			if !decided { // a bug has broken it off
				place.leave()
			}
		}()
		ctx = v.run(ctx, v.request.Header)
		decided = true
	} else {
		done = func() {}
		v.refuse(room, noRoom(room))
		rules.other.count(room)
	}
	told := http.Header{}
	v.tell(told)
	if v.passes() {
		_ = grpc.SetHeader(ctx, metadataOf(told)) // a call that has ended needs none
		return ctx, done, nil
	}
	_ = grpc.SetTrailer(ctx, metadataOf(v.pushback(told)))
	said := v.refusal.Detail
	if v.refusal.ID != "" {
		said += " (" + v.refusal.ID + ")"
	}
	return ctx, done, status.Error(v.outcome.code(), said)
}

// pushback adds when to try again, as the retry policy of gRPC understands it; -1 is never.
func (v *visit) pushback(h http.Header) http.Header {
	seconds, ok := v.refusal.RetryAfter()
	if !ok {
		h.Set("Grpc-Retry-Pushback-Ms", "-1")
		return h
	}
	h.Set("Retry-After", strconv.FormatInt(seconds, 10))
	h.Set("Grpc-Retry-Pushback-Ms", strconv.FormatInt(seconds*1000, 10))
	return h
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
