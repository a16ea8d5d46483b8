package consensus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/raft"

	"github.com/jeton-dev/jeton/ring/agreed"
)

// Propose has the leader, which is this node, apply a command: nil once it is committed and applied here, or why it was
// refused, one of this package's Err. It waits no longer than ctx. agreed.ErrNotLeader and a deadline that came before raft
// took the command have changed nothing; agreed.ErrUnknownOutcome may have.
func (a *Agreement) Propose(ctx context.Context, c agreed.Command) error {
	if err := errors.Join(c.Check(), c.Allowed(a.machine.published.Load().state)); err != nil {
		return err
	}
	data, err := json.Marshal(c)
	if err != nil {
		return fmt.Errorf("%w: %w", agreed.ErrInvalid, err)
	}
	r := a.running.Load()
	if r == nil {
		return agreed.ErrNotLeader
	}
	future := r.Apply(data, timeoutOf(ctx))
	if err := await(ctx, future); err != nil {
		return err
	}
	if refusal, ok := future.Response().(error); ok {
		return refusal
	}
	return nil
}

// timeoutOf is how long raft may take to accept what ctx bounds.
func timeoutOf(ctx context.Context) time.Duration {
	if deadline, ok := ctx.Deadline(); ok {
		return max(time.Until(deadline), time.Millisecond) // 0 would be no limit
	}
	return enqueueTimeout
}

// await waits for raft's answer, no longer than ctx, and puts its errors in this package's words.
func await(ctx context.Context, future raft.Future) error {
	answer := make(chan error, 1)
	// The goroutine ends when raft answers. Raft never answers for an entry that it has agreed on and not yet applied when it is
	// shut down: that goroutine stays until the process ends.
	go func() { answer <- future.Error() }()
	var err error
	select {
	case err = <-answer:
	case <-ctx.Done():
		err = ctx.Err()
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, raft.ErrNotLeader), errors.Is(err, raft.ErrLeadershipTransferInProgress):
		return agreed.ErrNotLeader
	case errors.Is(err, raft.ErrEnqueueTimeout):
		return fmt.Errorf("raft is busy: %w", context.DeadlineExceeded)
	}
	return fmt.Errorf("%w: %w", agreed.ErrUnknownOutcome, err)
}
