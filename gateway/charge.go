package gateway

import (
	"context"

	"github.com/jeton-dev/jeton/actor/limit"
)

// feedback is how much a handler learns about a request after it has passed, and so what it can give back.
type feedback int

const (
	noFeedback       feedback = iota
	statusFeedback            // the status of the answer
	deliveryFeedback          // and whether the request was sent at all
)

// A charge is what a request that passed has taken of its limits. It is kept, or returned once, when the result of the request
// is known. It belongs to the goroutine of the request. The zero charge has taken nothing.
type charge struct {
	gateway *Gateway
	route   *routeRules
	taken   []taken
}

// taken is what a check took, and the cluster that it asked.
type taken struct {
	limit.Taken

	of *cluster
}

// gone reports whether the client has left, or its deadline has passed. Such a client pays for whatever became of its request: otherwise
// it would decide by when it leaves what it pays for the work of the service, or of the gateway and the cluster.
func gone(ctx context.Context) bool { return ctx.Err() != nil || deadlinePassed(ctx) }

// answered settles the charge by the status of the answer.
func (c *charge) answered(ctx context.Context, status int) {
	if len(c.taken) > 0 && !gone(ctx) && c.route.charging.free(status) {
		c.route.charging.answered.Inc()
		c.gateway.giveBack(ctx, c.taken)
	}
	c.taken = nil
}

// unsent settles the charge of a request that no upstream got.
func (c *charge) unsent(ctx context.Context) {
	if len(c.taken) > 0 && !gone(ctx) {
		c.route.charging.unsent.Inc()
		c.gateway.giveBack(ctx, c.taken)
	}
	c.taken = nil
}

// giveBack returns what checks took, in the background: the answer does not wait for it. It does so by the rules in force: the guards that
// made the checks may be closed.
func (g *Gateway) giveBack(ctx context.Context, all []taken) {
	guards := g.rules.Load().guards
	for _, t := range all {
		guards[t.of.at].Return(context.WithoutCancel(ctx), t.Key, t.Receipts)
	}
}
