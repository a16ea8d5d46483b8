package gateway

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// The pauses between two probes of an instance: the first one, and the longest one that it grows to. Each is taken with a
// quarter more or less, by chance, so that gateways do not probe in step.
const (
	firstPause   = 250 * time.Millisecond
	longestPause = 30 * time.Second
)

// A presence knows whether an instance of an upstream takes connections. Every attempt to connect tells it what came of it.
// From the first one that fails until the next one that succeeds the instance is away: requests go to the other instances,
// and the presence probes by itself. It owns a goroutine meanwhile, and none while the instance is up.
type presence struct {
	probe func(context.Context) error // attempts to connect, and tells the presence
	log   *slog.Logger
	lost  prometheus.Counter // how often the instance went away

	away    atomic.Bool
	running sync.WaitGroup

	mu     sync.Mutex
	closed bool
	since  time.Time          // when the instance went away
	why    error              // it is away, as the last attempt told
	stop   context.CancelFunc // ends the probing; nil while the instance is up
}

// tell takes in what came of an attempt to connect; nil is a connection.
func (p *presence) tell(err error) {
	if err == nil && !p.away.Load() {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch away := p.away.Load(); {
	case err != nil && !away:
		p.goneLocked(err)
	case err != nil:
		p.why = err
	case away:
		p.backLocked()
	}
}

func (p *presence) goneLocked(why error) {
	p.since, p.why = time.Now(), why
	p.away.Store(true)
	p.lost.Inc()
	p.log.Warn("an instance of an upstream takes no connections: it is probed, and avoided until one succeeds", "error", why)
	if p.closed {
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	p.stop = stop
	p.running.Go(func() { p.seek(ctx) })
}

func (p *presence) backLocked() {
	p.away.Store(false)
	p.log.Info("an instance of an upstream takes connections again", "away", time.Since(p.since).Round(time.Millisecond), "error", p.why)
	if p.stop != nil {
		p.stop()
		p.stop = nil
	}
}

// gone says since when the instance takes no connections, and why; nil if it does.
func (p *presence) gone() (since time.Time, why error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.away.Load() {
		return time.Time{}, nil
	}
	return p.since, p.why
}

// seek probes until the instance is back or ctx ends.
func (p *presence) seek(ctx context.Context) {
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		select {
		case <-time.After(pause*3/4 + rand.N(pause/2)):
		case <-ctx.Done():
			return
		}
		if p.probe(ctx) == nil {
			return
		}
	}
}

// close ends the probing and waits for it. Nothing is probed after it.
func (p *presence) close() {
	p.mu.Lock()
	p.closed = true
	if p.stop != nil {
		p.stop()
		p.stop = nil
	}
	p.mu.Unlock()
	p.running.Wait()
}
