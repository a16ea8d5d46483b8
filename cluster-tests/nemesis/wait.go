package nemesis

import (
	"context"
	"time"
)

// patience is how long the cluster may take to come back from a fault, on a machine that is busy. Only a cluster that does
// not come back at all meets it.
const patience = 5 * time.Minute

// pause waits. It is not for what can be waited for itself: it is the time that a fault lasts, or between two looks.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
