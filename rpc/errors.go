package rpc

import (
	"context"
	"errors"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/jeton-dev/jeton/ring/agreed"
	"github.com/jeton-dev/jeton/ring/cluster"
	"github.com/jeton-dev/jeton/rpc/pb"
)

// wireError is err as gRPC sends it. A gRPC status is returned unchanged.
func wireError(err error) error {
	if _, ok := status.FromError(err); ok {
		return err
	}
	return pb.EncodeError(err).Err()
}

// code is the gRPC code that err is sent with.
func code(err error) codes.Code { return status.Code(wireError(err)) }

// errAlone refuses what only a cluster can do.
var errAlone = status.Error(codes.FailedPrecondition,
	"this node is alone and has no cluster: start it with --listen-gossip and --listen-raft")

// refusal is an error of the cluster as the error of an operator's call: what was asked cannot be done, and why.
func refusal(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, agreed.ErrStale):
		return status.Error(codes.Aborted, err.Error())
	case errors.Is(err, agreed.ErrTooMany):
		return status.Error(codes.FailedPrecondition, err.Error())
	case errors.Is(err, agreed.ErrUnknownNode):
		return status.Error(codes.NotFound, err.Error())
	case errors.Is(err, agreed.ErrInvalid), errors.Is(err, agreed.ErrUnknownVersion):
		return status.Error(codes.InvalidArgument, err.Error())
	case errors.Is(err, cluster.ErrNoLeader), errors.Is(err, cluster.ErrClosed):
		return status.Error(codes.Unavailable, err.Error())
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return err
	}
	return status.Error(codes.FailedPrecondition, err.Error())
}
