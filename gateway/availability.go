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

// The pauses between two probes of an instance grow from firstPause to maxPause. Each is drawn within a quarter more or less,
// so that gateways do not probe in step.
const (
	firstPause = 250 * time.Millisecond
	maxPause   = 30 * time.Second
)

// availability is whether an instance of an upstream accepts connections. Each attempt to connect is recorded. From the first one
// that fails until the next one that succeeds the instance is down: requests go to other instances, and the instance is probed, by
// a goroutine that exists only meanwhile.
type availability struct {
	probe func(context.Context) error // attempts to connect, and records the result
	log   *slog.Logger
	downs prometheus.Counter // how often the instance went down

	down    atomic.Bool
	running sync.WaitGroup

	mu     sync.Mutex
	closed bool
	since  time.Time          // when the instance went down
	why    error              // of the last attempt
	stop   context.CancelFunc // ends the probing; nil while the instance is up
}

// record takes the result of an attempt to connect.
func (a *availability) record(err error) {
	if err == nil && !a.down.Load() {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	switch down := a.down.Load(); {
	case err != nil && !down:
		a.markDownLocked(err)
	case err != nil:
		a.why = err
	case down:
		a.markUpLocked()
	}
}

func (a *availability) markDownLocked(why error) {
	a.since, a.why = time.Now(), why
	a.down.Store(true)
	a.downs.Inc()
	a.log.Warn("an instance of an upstream is down: it is probed, and gets no requests until a probe succeeds", "error", why)
	if a.closed {
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	a.stop = stop
	a.running.Go(func() { a.probeUntilUp(ctx) })
}

func (a *availability) markUpLocked() {
	a.log.Info("an instance of an upstream is up again", "down", time.Since(a.since).Round(time.Millisecond), "error", a.why)
	a.down.Store(false)
	if a.stop != nil {
		a.stop()
		a.stop = nil
	}
}

// status is since when the instance is down, and why; nil if it is up.
func (a *availability) status() (since time.Time, why error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.down.Load() {
		return time.Time{}, nil
	}
	return a.since, a.why
}

// probeUntilUp probes until the instance is up or ctx ends.
func (a *availability) probeUntilUp(ctx context.Context) {
	for pause := firstPause; ; pause = min(2*pause, maxPause) {
		select {
		case <-time.After(pause*3/4 + rand.N(pause/2)):
		case <-ctx.Done():
			return
		}
		if a.probe(ctx) == nil {
			return
		}
	}
}

// close ends the probing and waits for it. None starts after it.
func (a *availability) close() {
	a.mu.Lock()
	a.closed = true
	if a.stop != nil {
		a.stop()
		a.stop = nil
	}
	a.mu.Unlock()
	a.running.Wait()
}
