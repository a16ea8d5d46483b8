package rpc

import (
	"context"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// An unspeakable error panics as it is put into words.
type unspeakable struct{}

func (unspeakable) Error() string { panic("a bug") }

// A panic ends the call, wherever it happens.
func TestErrorThatPanics(t *testing.T) {
	s := &Server{metrics: newServerMetrics(), log: logger(nil)}
	_, err := s.intercept(t.Context(), nil, &grpc.UnaryServerInfo{FullMethod: "/x/y"}, func(context.Context, any) (any, error) {
		return nil, unspeakable{}
	})
	if status.Code(err) != codes.Internal {
		t.Errorf("a call ends with %v, want %v", err, codes.Internal)
	}
	err = s.recoverStream(nil, bareStream{ctx: t.Context()}, &grpc.StreamServerInfo{FullMethod: "/x/y"}, func(any, grpc.ServerStream) error {
		return unspeakable{}
	})
	if status.Code(err) != codes.Internal {
		t.Errorf("a stream ends with %v, want %v", err, codes.Internal)
	}
}

// A bareStream is a stream with a context alone.
type bareStream struct {
	grpc.ServerStream
	ctx context.Context //nolint:containedctx // grpc.ServerStream hands its context out
}

func (s bareStream) Context() context.Context { return s.ctx }
