package gateway

import (
	"context"
	"log/slog"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

// asked are limits that a node was asked for: one that is alone tells nobody by itself.
type asked struct {
	text string
	doc  *limit.Document
}

// limits are those in force in the cluster as far as the gateway has heard; nil before it has heard of any. The pointer
// stays the same until they change.
func (e *Gateway) limits() *limit.Document {
	if heard := e.client.Limits(); heard != nil {
		return heard
	}
	if a := e.asked.Load(); a != nil {
		return a.doc
	}
	return nil
}

// askWithin is how long a node may take to tell its limits.
const askWithin = time.Second

// askLimits asks for the limits as long as nobody tells of them. That nobody can be reached is seen elsewhere.
func (e *Gateway) askLimits(ctx context.Context) {
	if e.client.Limits() != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	text, _, err := e.client.LimitsText(ctx)
	if before := e.asked.Load(); err != nil || before != nil && before.text == text {
		return
	}
	if doc, err := limit.ParseDocument([]byte(text)); err == nil {
		e.asked.Store(&asked{text, doc})
	}
}

// unheardFor is how long the cluster may be silent at first before the log is told.
const unheardFor = 5 * time.Second

// tellUnheard logs once that nobody has told the limits, and why, when the gateway has waited for them long enough. Only Run calls it.
func (e *Gateway) tellUnheard(ctx context.Context, now time.Time) {
	if e.toldUnheard || now.Sub(e.opened) < unheardFor || e.limits() != nil {
		return
	}
	e.toldUnheard = true
	ctx, cancel := context.WithTimeout(ctx, sightWithin)
	defer cancel()
	e.cfg.Logger.Warn("no node has sent the limits of the cluster yet", slog.Any("servers", e.now.Load().servers), slog.String("error", e.ask(ctx).said))
}
