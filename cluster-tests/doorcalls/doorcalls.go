// Package doorcalls asks for checks through doors, each by a client of the protocol's own: go-redis and redis_rate, and the clients that are
// generated for Envoy's rate limit service, for its external authorization and for gubernator. Each client is a [limit.Checker] that asks one
// address, and never asks again by itself: what it says of a decision is whether the request passes.
//
// Start with [NewRedis], [NewRLS], [NewExtAuthz] or [NewGubernator].
package doorcalls

import (
	"context"
	"errors"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/jeton-dev/jeton/actor/limit"
)

// A Dial opens a connection to an address; nil opens it from this machine as it is.
type Dial func(ctx context.Context, address string) (net.Conn, error)

// connect is a connection of gRPC in plain text.
func connect(address string, dial Dial) (*grpc.ClientConn, error) {
	options := []grpc.DialOption{
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: backoff.Config{BaseDelay: 20 * time.Millisecond, Multiplier: 1.5, MaxDelay: 200 * time.Millisecond}, MinConnectTimeout: time.Second}),
	}
	if dial != nil {
		options = append(options, grpc.WithContextDialer(dial))
	}
	return grpc.NewClient("passthrough:///"+address, options...)
}

// decided is the decision on the one limit of r.
func decided(r *limit.Request, allowed bool) (limit.Decision, error) {
	return limit.Decision{Allowed: allowed, Limits: []limit.Outcome{{Name: r.Limits[0].Name, Allowed: allowed}}}, nil
}

// undecided is an error of gRPC in jeton's terms. One that a door must not answer stays as it is.
func undecided(err error) error {
	known, ok := map[codes.Code]error{
		codes.Unavailable: limit.ErrUnavailable, codes.ResourceExhausted: limit.ErrOverloaded,
		codes.DeadlineExceeded: context.DeadlineExceeded, codes.Canceled: context.Canceled,
	}[status.Code(err)]
	if !ok {
		return err
	}
	return errors.Join(known, err)
}
