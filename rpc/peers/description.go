package peers

import (
	"context"
	"slices"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/jeton-dev/jeton/rpc/pb"
)

// Description is jeton.v1.Peer as it was generated, but that calls for another node are refused, and that reservations are read and
// written by messages that do it themselves. Errors are what another node is to hear.
func (s *Service) Description() *grpc.ServiceDesc {
	desc := pb.Peer_ServiceDesc
	desc.Methods = slices.Clone(desc.Methods)
	for i := range desc.Methods {
		desc.Methods[i].Handler = s.onlyIfMeant(desc.Methods[i].Handler)
	}
	desc.Streams = slices.Clone(desc.Streams)
	for i := range desc.Streams {
		m := &desc.Streams[i]
		if m.StreamName == "Reserve" {
			m.Handler = func(_ any, stream grpc.ServerStream) error { return s.reserve(stream) }
		}
		m.Handler = s.onlyStreamsMeant(m.Handler)
	}
	return &desc
}

// meant refuses a call that is meant for another node, which had this one's address before. Else a replica could be counted
// twice: as itself, and as the one that was here.
func (s *Service) meant(ctx context.Context) error {
	own := s.cfg.Client.cfg.ID.String()
	for _, id := range metadata.ValueFromIncomingContext(ctx, toHeader) {
		if id != own {
			return status.Errorf(codes.FailedPrecondition, "this is node %s, and the call is for node %s, which has another address now", own, id)
		}
	}
	return nil
}

func (s *Service) onlyIfMeant(handler grpc.MethodHandler) grpc.MethodHandler {
	return func(srv any, ctx context.Context, read func(any) error, intercept grpc.UnaryServerInterceptor) (any, error) {
		return handler(srv, ctx, read, func(ctx context.Context, m any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
			if err := s.meant(ctx); err != nil {
				return nil, err
			}
			answer := func(ctx context.Context, m any) (any, error) {
				out, err := next(ctx, m)
				return out, peerError(err)
			}
			if intercept == nil {
				return answer(ctx, m)
			}
			return intercept(ctx, m, info, answer)
		})
	}
}

func (s *Service) onlyStreamsMeant(next grpc.StreamHandler) grpc.StreamHandler {
	return func(srv any, stream grpc.ServerStream) error {
		if err := s.meant(stream.Context()); err != nil {
			return err
		}
		return next(srv, stream)
	}
}
