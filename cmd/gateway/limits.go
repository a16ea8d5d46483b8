package gateway

import (
	"context"
	"log/slog"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

// fetchedLimits are limits that the gateway has requested from a node: a node that is alone does not send them by itself.
type fetchedLimits struct {
	text string
	doc  *limit.Document
}

// limits are the limits in force in the cluster, as far as the gateway knows; nil until a node has sent some. The pointer stays the
// same until they change.
func (e *Gateway) limits() *limit.Document {
	if heard := e.client.Limits(); heard != nil {
		return heard
	}
	if a := e.fetched.Load(); a != nil {
		return a.doc
	}
	return nil
}

// fetchWithin is the timeout of a request for the limits.
const fetchWithin = time.Second

// fetchLimits requests the limits from a node as long as no node sends them by itself. It reports no error: warnWithoutLimits and
// /readyz do.
func (e *Gateway) fetchLimits(ctx context.Context) {
	if e.client.Limits() != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, fetchWithin)
	defer cancel()
	text, _, err := e.client.LimitsText(ctx)
	if before := e.fetched.Load(); err != nil || before != nil && before.text == text {
		return
	}
	if doc, err := limit.ParseDocument([]byte(text)); err == nil {
		e.fetched.Store(&fetchedLimits{text, doc})
	}
}

// limitsWithin is how long the gateway waits for the first limits before it logs a warning.
const limitsWithin = 5 * time.Second

// warnWithoutLimits logs once that no node has sent the limits, and why, when the gateway has waited for limitsWithin. Only Run calls
// it.
func (e *Gateway) warnWithoutLimits(ctx context.Context, now time.Time) {
	if e.warnedWithoutLimits || now.Sub(e.opened) < limitsWithin || e.limits() != nil {
		return
	}
	e.warnedWithoutLimits = true
	ctx, cancel := context.WithTimeout(ctx, sightWithin)
	defer cancel()
	e.cfg.Logger.Warn("no node has sent the limits of the cluster yet", slog.Any("servers", e.now.Load().servers), slog.String("error", e.ask(ctx).said))
}
