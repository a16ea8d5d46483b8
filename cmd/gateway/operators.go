package gateway

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/rpc/client"
)

// operators ask the cluster through a gateway. Where the nodes do not take that from it, the error says what the gateway needs.
type operators struct {
	*client.Client

	field string // that describes the cluster
}

// Inspect implements [limit.Inspector].
func (o operators) Inspect(ctx context.Context, key string, ref limit.Ref, plan string) (limit.Inspection, error) {
	in, err := o.Client.Inspect(ctx, key, ref, plan)
	return in, o.needsToken(err)
}

// Reset implements [limit.Resetter].
func (o operators) Reset(ctx context.Context, key string, ref limit.Ref) error {
	return o.needsToken(o.Client.Reset(ctx, key, ref))
}

// Fill implements [web.Operator].
func (o operators) Fill(ctx context.Context, name, key string) error {
	return o.needsToken(o.Client.Fill(ctx, name, key))
}

// SetOverride implements [web.Operator].
func (o operators) SetOverride(ctx context.Context, over limit.Override, within time.Duration) error {
	return o.needsToken(o.Client.SetOverride(ctx, client.Override{Limit: over.Limit, Key: over.Key, Says: over.Says, For: within}))
}

// UnsetOverride implements [web.Operator].
func (o operators) UnsetOverride(ctx context.Context, name, key string) (was bool, err error) {
	was, err = o.Client.UnsetOverride(ctx, name, key, "")
	return was, o.needsToken(err)
}

func (o operators) needsToken(err error) error {
	if errors.Is(err, limit.ErrUnauthenticated) {
		return fmt.Errorf("the nodes allow this only with a token: give the gateway one in %s.token_file: %w", o.field, err)
	}
	return err
}
