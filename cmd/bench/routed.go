package bench

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/rpc/client"
	"github.com/jeton-dev/jeton/rpc/pb"
)

// dialClient is a dialer that uses the Go client, as programs do that ask a cluster: it goes to the owner of each key,
// makes of a batch one message for each owner, and gathers checks that are made at the same time. What is compared with
// a cluster is asked through it too.
func dialClient(ctx context.Context, servers []string, l Load, cpu func() time.Duration) (service, error) {
	c, err := client.New(client.Config{Servers: servers, Connections: l.Connections, Timeout: patience})
	if err != nil {
		return service{}, err
	}
	within, cancel := context.WithTimeout(ctx, reachWithin)
	defer cancel()
	// It costs nothing, and has the client ask for the table.
	if _, err := c.Check(within, limit.Request{Key: "jeton-bench", Limits: []limit.Ref{l.Limit}, Look: true}); err != nil {
		c.Close() //nolint:errcheck // it was of no use
		if ctx.Err() != nil {
			return service{}, errInterrupted
		}
		return service{}, fmt.Errorf("no answer from %v: %w", servers, err)
	}
	return service{
		caller: func(int) caller { return newRoutedCaller(c, l) },
		cpu:    cpu,
		close:  c.Close,
	}, nil
}

// newRoutedCaller makes a caller whose requests are made once and sent again and again, with other keys.
func newRoutedCaller(c limit.Limiter, l Load) caller {
	request := limit.Request{Limits: []limit.Ref{l.Limit}, Cost: 1}
	if l.Batch == 1 {
		return &routedCaller{checker: c, request: request}
	}
	return &routedBatchCaller{checker: c, requests: slices.Repeat([]limit.Request{request}, l.Batch)}
}

// A routedCaller makes one check after another.
type routedCaller struct {
	checker limit.Checker
	request limit.Request
}

func (c *routedCaller) call(ctx context.Context, keys []string, t *tally) bool {
	c.request.Key = keys[0]
	d, err := c.checker.Check(ctx, c.request)
	if err != nil {
		return t.failedCall(ctx, pb.EncodeError(err).Err(), 1)
	}
	t.decided(d.Allowed)
	return true
}

// A routedBatchCaller makes one batch after another.
type routedBatchCaller struct {
	checker  limit.BatchChecker
	requests []limit.Request
}

func (c *routedBatchCaller) call(ctx context.Context, keys []string, t *tally) bool {
	for i, key := range keys {
		c.requests[i].Key = key
	}
	results := c.checker.CheckBatch(ctx, c.requests)
	if ctx.Err() != nil { // which all errors come from, then
		return t.failedCall(ctx, ctx.Err(), len(keys))
	}
	for i := range results {
		if err := results[i].Err; err != nil {
			s := pb.EncodeError(err)
			t.failed(s.Code().String(), s.Message(), 1)
			continue
		}
		t.decided(results[i].Decision.Allowed)
	}
	return true
}
