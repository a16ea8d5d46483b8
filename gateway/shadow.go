package gateway

import (
	"context"
	"log/slog"
	"sync"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/gateway/fallback"
)

// mostShadows are under way at once; more are dropped and counted.
const mostShadows = 256

// shadows are the checks that count and report and never deny. They are made beside the request, which does not wait for
// them.
type shadows struct {
	room    chan struct{}
	mu      sync.Mutex
	closed  bool
	running sync.WaitGroup
}

func (s *shadows) init() { s.room = make(chan struct{}, mostShadows) }

// begin runs f beside, if there is room.
func (s *shadows) begin(f func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	select {
	case s.room <- struct{}{}:
	default:
		return false
	}
	s.running.Go(func() {
		defer func() { <-s.room }()
		f()
	})
	return true
}

// close waits for those that run; none begins after it.
func (s *shadows) close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.running.Wait()
}

// askShadows makes the shadow checks of a request. Whom they count is found out now, for the request may be over soon.
func (v *visit) askShadows(ctx context.Context) {
	g, rules, name := v.gateway, v.rules, v.route.name
	for i := range v.route.shadows {
		w := v.route.shadows[i].want(&v.request, &v.facts)
		if !w.found || len(w.limits.refs) == 0 {
			continue
		}
		beside := context.WithoutCancel(ctx)
		if !g.shadows.begin(func() { g.askShadow(beside, rules, name, w) }) {
			g.metrics.dropped.Inc()
		}
	}
}

// askShadow asks, counts, and logs what would have been denied.
func (g *Gateway) askShadow(ctx context.Context, rules *rules, route string, w want) {
	d := rules.guard.Check(ctx, w.request(), limit.Allow)
	if d.Source != fallback.ByCluster {
		return
	}
	w.limits.count(d.Decision)
	if d.Allowed || !drawn(rules.document.Log.DeniedShare()) {
		return
	}
	for _, o := range d.Limits {
		if !o.Allowed {
			g.log.LogAttrs(ctx, slog.LevelInfo, "a shadow limit would have denied", slog.String("route", route),
				slog.String("key", shown(w.key)), slog.String("limit", o.Name), slog.Duration("retry_after", o.RetryAfter))
		}
	}
}
