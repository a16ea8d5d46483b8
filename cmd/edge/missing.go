package edge

import (
	"context"
	"slices"
)

// watchLimits keeps what the gateway knows of the limits current. Only Run calls it.
func (e *Edge) watchLimits(ctx context.Context) {
	e.askLimits(ctx)
	e.gateway.NoteLimits()
	e.tellMissing()
}

// tellMissing logs once which limits routes name and the cluster does not have, and once when it has them.
func (e *Edge) tellMissing() {
	known := e.limits()
	if known == nil {
		return
	}
	now := Missing(e.now.Load().doc, known)
	for _, m := range now {
		if !slices.Contains(e.missing, m) {
			e.cfg.Logger.Warn("unknown limit: the cluster does not have it; jeton limits get shows those that it has", "route", m.Route, "limit", m.Limit)
		}
	}
	for _, m := range e.missing {
		if !slices.Contains(now, m) {
			e.cfg.Logger.Info("a limit that was unknown is known, or no route names it any more", "route", m.Route, "limit", m.Limit)
		}
	}
	e.missing = now
}
