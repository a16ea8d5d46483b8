package rpc

import (
	"context"

	"google.golang.org/grpc/status"
)

// turns let as many calls at a time as it has room for do what takes much memory. The others wait.
type turns chan struct{}

// take waits for a turn, which ends with done. The error says that ctx has ended before.
func (t turns) take(ctx context.Context) (done func(), err error) {
	select {
	case t <- struct{}{}:
		return func() { <-t }, nil
	case <-ctx.Done():
		return nil, status.FromContextError(ctx.Err()).Err()
	}
}
