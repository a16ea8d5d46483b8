package gateway

import (
	"context"
	"log/slog"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/jeton-dev/jeton/actor/limit"
)

// maxShadows run at once; more are dropped and counted.
const maxShadows = 256

// shadows are the checks that count and report and never deny. They run beside their request, which does not wait for them.
type shadows struct {
	log     *slog.Logger
	dropped prometheus.Counter
	slots   chan struct{} // one value for each that runs

	mu      sync.Mutex
	closed  bool
	running sync.WaitGroup
}

func (s *shadows) init(log *slog.Logger, dropped prometheus.Counter) {
	s.log, s.dropped, s.slots = log, dropped, make(chan struct{}, maxShadows)
}

// ask makes a shadow check of a request in the background.
func (s *shadows) ask(ctx context.Context, r *rules, route string, w want) {
	if !s.start(func() { s.run(ctx, r, route, w) }) {
		s.dropped.Inc()
	}
}

// start runs f in a goroutine, unless too many run already or the gateway is closed.
func (s *shadows) start(f func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	select {
	case s.slots <- struct{}{}:
	default:
		return false
	}
	s.running.Go(func() {
		defer func() { <-s.slots }()
		f()
	})
	return true
}

// run asks the cluster, counts, and logs what would have been denied.
func (s *shadows) run(ctx context.Context, r *rules, route string, w want) {
	d := r.guards[w.limits.cluster.at].Check(ctx, w.request(), limit.Allow)
	if !d.Source.Decided() {
		return
	}
	w.limits.count(&d)
	if d.Allowed || !d.Since.IsZero() || !sampled(r.document.Log.DeniedShare()) {
		return
	}
	for i, o := range d.Limits {
		if !o.Allowed {
			s.log.LogAttrs(ctx, slog.LevelInfo, "a shadow limit would have denied", slog.String("route", route),
				slog.String("key", shownKey(w.key)), slog.String("limit", w.limits.shown[i]), slog.Duration("retry_after", o.RetryAfter), repeatedAttr(d.Repeated))
		}
	}
}

// close waits for the running checks; none starts after it.
func (s *shadows) close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.running.Wait()
}
