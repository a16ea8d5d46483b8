package rpc

import (
	"context"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/jeton-dev/jeton/internal/exemplar"
	"github.com/jeton-dev/jeton/internal/fault"
	"github.com/jeton-dev/jeton/rpc/pb"
	"github.com/jeton-dev/jeton/rpc/transport"
)

// intercept measures a call, gives it a deadline, survives its panic, and puts its error into the form in which gRPC
// sends it. It is one function, not a chain, for it is in the way of every check.
func (s *Server) intercept(ctx context.Context, m any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	return s.intercepted(ctx, m, info, next, maxTime)
}

// intercepted is intercept for calls that may take that long.
func (s *Server) intercepted(ctx context.Context, m any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler, within time.Duration) (any, error) {
	answer, err := s.attempt(ctx, m, info.FullMethod, next, within)
	if err == nil {
		return transport.Held(answer, transport.ConnOf(ctx)), nil
	}
	return nil, s.sent(ctx, info.FullMethod, err)
}

// attempt makes a call and measures it, and returns its error as gRPC sends it, or the fault in place of a panic. To put an error into words is part of
// the call: that may panic too.
func (s *Server) attempt(ctx context.Context, m any, method string, next grpc.UnaryHandler, within time.Duration) (answer any, err error) {
	start := time.Now()
	defer func() { s.metrics.observe(method, err, start, exemplar.Of(ctx)) }()
	defer fault.Rescue(s.metrics.panics, &err)
	ctx, cancel := timedAtMost(ofConnection(withMarks(s.limiter.incoming(ctx))), within)
	defer cancel()
	if answer, err = next(ctx, m); err != nil {
		markRefusal(ctx, err)
		return nil, s.sent(ctx, method, err)
	}
	return answer, nil
}

// sent is an error as gRPC sends it, after the log.
func (s *Server) sent(ctx context.Context, method string, err error) error {
	s.logFault(ctx, method, err)
	return wireError(err)
}

// logFault logs what is the node's fault: not the caller's, not that of the times, and not what gRPC itself says.
func (s *Server) logFault(ctx context.Context, method string, err error) {
	if _, ok := status.FromError(err); ok || code(err) != codes.Internal {
		return
	}
	s.log.ErrorContext(ctx, "call failed", append(fault.Attrs(err), "method", method)...)
}

func (s *Server) recoverStream(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
	err := fault.Safely(s.metrics.panics, func() error {
		if err := next(srv, stream); err != nil {
			return s.sent(stream.Context(), info.FullMethod, err)
		}
		return nil
	})
	if err == nil {
		return nil
	}
	return s.sent(stream.Context(), info.FullMethod, err)
}

// endWatches ends the streams that would otherwise last as long as their clients like, those of the health protocol,
// when the node stops. CheckStream and Reserve see to that themselves, when what they were sent has been answered.
func (s *Server) endWatches(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
	if info.FullMethod == pb.Limiter_CheckStream_FullMethodName || info.FullMethod == pb.Peer_Reserve_FullMethodName {
		return next(srv, stream)
	}
	ctx, cancel := context.WithCancel(stream.Context())
	defer cancel()
	s.readers.Go(func() {
		select {
		case <-s.stopping:
			cancel()
		case <-ctx.Done():
		}
	})
	return next(srv, endingStream{ServerStream: stream, ctx: ctx})
}

// An endingStream is a stream whose context ends when the node stops.
type endingStream struct {
	grpc.ServerStream
	ctx context.Context //nolint:containedctx // grpc.ServerStream hands its context out
}

func (s endingStream) Context() context.Context { return s.ctx }
