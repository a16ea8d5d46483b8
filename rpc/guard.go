package rpc

import (
	"context"
	"slices"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/jeton-dev/jeton/rpc/pb"
)

// errNeedsKey refuses a call that needs the cluster key.
var errNeedsKey = status.Error(codes.Unauthenticated, "needs the cluster key: give --cluster-key-file")

// changing are the methods of jeton.v1.Admin that need the cluster key.
var changing = []string{"ApplyLimits", "Drain", "Remove", "Recover"}

// admit says whether a caller may call what needs the cluster key. A node without one lets everybody.
func (s *Server) admit(ctx context.Context) error {
	if s.open || hasKey(ctx) {
		return nil
	}
	return errNeedsKey
}

// guardedAdmin is jeton.v1.Admin as it was generated, but that the methods that change something need the cluster key.
// The guard stands before these alone, so that checks do not pass it.
func (s *Server) guardedAdmin() *grpc.ServiceDesc {
	desc := pb.Admin_ServiceDesc
	desc.Methods = slices.Clone(desc.Methods)
	for i := range desc.Methods {
		if m := &desc.Methods[i]; slices.Contains(changing, m.MethodName) {
			m.Handler = s.guarded("/"+desc.ServiceName+"/"+m.MethodName, m.Handler, nil)
		}
	}
	return &desc
}

// guarded is a handler that first asks for the cluster key. An interceptor that is not nil takes the place of the
// server's.
func (s *Server) guarded(method string, handler grpc.MethodHandler, instead grpc.UnaryServerInterceptor) grpc.MethodHandler {
	return func(srv any, ctx context.Context, read func(any) error, intercept grpc.UnaryServerInterceptor) (any, error) {
		if err := s.admit(ctx); err != nil {
			s.metrics.observe(method, err, time.Now())
			return nil, err
		}
		if instead != nil {
			intercept = instead
		}
		return handler(srv, ctx, read, intercept)
	}
}

// guardedStream is guarded for a method with a stream.
func (s *Server) guardedStream(handler grpc.StreamHandler) grpc.StreamHandler {
	return func(srv any, stream grpc.ServerStream) error {
		if err := s.admit(stream.Context()); err != nil {
			return err
		}
		return handler(srv, stream)
	}
}
