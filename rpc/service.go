package rpc

import (
	"context"
	"slices"
	"time"

	"google.golang.org/grpc"

	"github.com/jeton-dev/jeton/rpc/pb"
	"github.com/jeton-dev/jeton/rpc/transport"
)

// description is jeton.v1.Limiter as it was generated, but that checks and settlements are read and written, and returns read, by messages
// that do it themselves.
func (s *Server) description() *grpc.ServiceDesc {
	desc := pb.Limiter_ServiceDesc
	desc.Methods = slices.Clone(desc.Methods)
	for i := range desc.Methods {
		switch m := &desc.Methods[i]; m.MethodName {
		case "Check":
			m.Handler = direct(s, pb.Limiter_Check_FullMethodName, s.check)
		case "CheckBatch":
			m.Handler = direct(s, pb.Limiter_CheckBatch_FullMethodName, s.checkBatch)
		case "CheckAll":
			m.Handler = direct(s, pb.Limiter_CheckAll_FullMethodName, s.checkAll)
		case "Return":
			m.Handler = direct(s, pb.Limiter_Return_FullMethodName, s.giveBack)
		case "Settle":
			m.Handler = direct(s, pb.Limiter_Settle_FullMethodName, s.settle)
		}
	}
	desc.Streams = slices.Clone(desc.Streams)
	for i := range desc.Streams {
		if m := &desc.Streams[i]; m.StreamName == "CheckStream" {
			m.Handler = func(_ any, stream grpc.ServerStream) error { return s.checkStream(stream) }
		}
	}
	return &desc
}

// withMaxTime is a service whose calls without a stream may take that long.
func (s *Server) withMaxTime(desc *grpc.ServiceDesc, within time.Duration) *grpc.ServiceDesc {
	patient := *desc
	patient.Methods = slices.Clone(desc.Methods)
	for i := range patient.Methods {
		m := &patient.Methods[i]
		handler := m.Handler
		m.Handler = func(srv any, ctx context.Context, read func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
			return handler(srv, ctx, read, func(ctx context.Context, m any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
				return s.intercepted(ctx, m, info, next, within)
			})
		}
	}
	return &patient
}

// direct makes the handler of a method that takes In and answers Out. What does not change from call to call is made
// once.
func direct[In, Out any](s *Server, method string, answer func(context.Context, *In) (*Out, error)) grpc.MethodHandler {
	info := &grpc.UnaryServerInfo{Server: s, FullMethod: method}
	next := func(ctx context.Context, m any) (any, error) {
		out, err := answer(ctx, m.(*In)) //nolint:forcetypeassert // interceptors hand on what they were handed
		if err != nil {
			return nil, err // out would be a nil that is not nil any more
		}
		return out, nil
	}
	return func(_ any, ctx context.Context, read func(any) error, intercept grpc.UnaryServerInterceptor) (any, error) {
		arrived := &struct {
			transport.Received
			in In
		}{}
		arrived.Message, arrived.Ctx = &arrived.in, ctx
		if err := read(&arrived.Received); err != nil {
			return nil, err
		}
		if intercept == nil {
			return next(ctx, &arrived.in)
		}
		return intercept(ctx, &arrived.in, info, next)
	}
}
