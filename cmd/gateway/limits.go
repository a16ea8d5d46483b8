package gateway

import (
	"context"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

// fetchedLimits are limits that the gateway has requested from a node: a node that is alone does not send them by itself.
type fetchedLimits struct {
	text string
	doc  *limit.Document
}

// limits are those in force in the cluster, as far as the gateway knows; nil until a node has sent some. The pointer stays the
// same until they change.
func (c *cluster) limits() *limit.Document {
	if heard := c.client.Limits(); heard != nil {
		return heard
	}
	if a := c.fetched.Load(); a != nil {
		return a.doc
	}
	return nil
}

// fetchWithin is the timeout of a request for the limits.
const fetchWithin = time.Second

// fetchLimits requests the limits from a node as long as no node sends them by itself. It reports no error: warnWithoutLimits and
// /readyz do.
func (c *cluster) fetchLimits(ctx context.Context) {
	if c.client.Limits() != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, fetchWithin)
	defer cancel()
	text, _, err := c.client.LimitsText(ctx)
	if before := c.fetched.Load(); err != nil || before != nil && before.text == text {
		return
	}
	if doc, err := limit.ParseDocument([]byte(text)); err == nil {
		c.fetched.Store(&fetchedLimits{text, doc})
	}
}

// limitsWithin is how long the gateway waits for the first limits before it logs a warning.
const limitsWithin = 5 * time.Second
