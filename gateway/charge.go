package gateway

import (
	"context"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/jeton-dev/jeton/gateway/config"
)

// A sight is how much of a request a face sees after it has passed, and so what it can give back.
type sight int

const (
	seesNothing  sight = iota
	seesAnswer         // its status
	seesUpstream       // and whether it was sent at all
)

// charging says of the requests of a route which ones give back what they have taken.
type charging struct {
	refund, chargeWhen []config.Status
	unsent, answered   prometheus.Counter // requests that gave back
}

// free says whether an answer with that status costs nothing.
func (c *charging) free(status int) bool {
	covers := func(s config.Status) bool { return s.Covers(status) }
	if c.chargeWhen != nil {
		return !slices.ContainsFunc(c.chargeWhen, covers)
	}
	return slices.ContainsFunc(c.refund, covers)
}

// A charge is what a request that passed has taken of its limits. It stays taken, or is given back once, when it is known what
// became of the request. It belongs to the goroutine of the request. Its zero value is of a request that has taken nothing.
type charge struct {
	gateway *Gateway
	route   *routeRules
	taken   []taken
}

// byAnswer says whether the answer decides what a request costs.
func (c *charging) byAnswer() bool { return c.refund != nil || c.chargeWhen != nil }

// returnable says whether what the request takes may have to be given back after it has passed. Only then is the cluster asked
// for receipts: it remembers each for minutes, and keeps its key awake. A request to an upstream that holds a connection is as
// good as sent: the connections to one that has died end with it.
func (v *visit) returnable() bool {
	switch v.sight {
	case seesUpstream:
		return v.route.upstream != nil && (v.route.charging.byAnswer() || !v.route.upstream.connected())
	case seesAnswer:
		return v.route.charging.byAnswer()
	default:
		return false
	}
}

// charge is that of the request, which has passed.
func (v *visit) charge() charge {
	if len(v.taken) == 0 || v.sight != seesUpstream && !v.route.charging.byAnswer() {
		return charge{}
	}
	return charge{v.gateway, v.route, slices.Clone(v.taken)} // the visit has another request soon
}

// answered settles the charge by the status of the answer. For a client that has left, or whose deadline is over, every answer
// costs: it would choose by when it leaves what it pays for what the service has done.
func (c *charge) answered(ctx context.Context, status int) {
	gone := ctx.Err() != nil || late(ctx)
	if len(c.taken) > 0 && !gone && c.route.charging.free(status) {
		c.route.charging.answered.Inc()
		c.giveBack(ctx)
	}
	c.taken = nil
}

// unsent settles the charge of a request that was sent to nobody.
func (c *charge) unsent(ctx context.Context) {
	if len(c.taken) > 0 {
		c.route.charging.unsent.Inc()
		c.giveBack(ctx)
	}
	c.taken = nil
}

// giveBack returns all that was taken, in the background: the answer does not wait for it. The guard is that in force, as the one
// that the request was checked by may have been closed meanwhile.
func (c *charge) giveBack(ctx context.Context) {
	guard := c.gateway.rules.Load().guard
	for _, t := range c.taken {
		guard.Return(background(ctx), t.key, t.receipts)
	}
}
