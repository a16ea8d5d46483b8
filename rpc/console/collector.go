package console

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/jeton-dev/jeton/internal/fault"
	"github.com/jeton-dev/jeton/rpc/activity"
	"github.com/jeton-dev/jeton/rpc/web"
)

const (
	// MostStreams is how many browsers may follow at the same time, unless a Config says less.
	MostStreams = 100
	// lookEach is how often the cluster is looked at, and lookWithin how long that may take.
	lookEach   = time.Second
	lookWithin = 2 * time.Second
)

var (
	errFull     = errors.New("as many browsers as may follow the console at the same time: close some, or try again later")
	errStopping = errors.New("the process is stopping")
)

// A collector looks at the cluster each second, once for all streams, and only while there is one:
//
//	join ─▶ the first: run begins ─▶ look, compare with the look before ─▶ to each stream, in the place of what it has not taken
//	leave ─▶ the last: run ends
type collector struct {
	source  Source
	most    int
	metrics consoleMetrics
	log     *slog.Logger
	done    chan struct{}  // closed by stop
	running sync.WaitGroup // of run

	mu      sync.Mutex
	streams map[*stream]struct{}
	last    []byte             // the last event of run; nil before its first
	cancel  context.CancelFunc // ends run; nil while none runs
	stopped bool
}

// A stream is what one browser follows.
type stream struct{ events chan []byte } // one at most: the newest

func newCollector(cfg Config, m consoleMetrics) *collector {
	return &collector{
		source: cfg.Source, most: cfg.Streams, metrics: m, log: cfg.Logger, done: make(chan struct{}), streams: map[*stream]struct{}{},
	}
}

// join makes a stream, which is to leave. The errors are errFull and errStopping.
func (c *collector) join() (*stream, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.stopped:
		return nil, errStopping
	case len(c.streams) >= c.most:
		c.metrics.refused.Inc()
		return nil, errFull
	}
	s := &stream{events: make(chan []byte, 1)}
	c.streams[s] = struct{}{}
	c.metrics.streams.Inc()
	if c.last != nil {
		s.put(c.last)
	}
	if c.cancel == nil {
		ctx, cancel := context.WithCancel(context.Background())
		c.cancel = cancel
		c.running.Go(func() { c.run(ctx) })
	}
	return s, nil
}

// leave ends a stream.
func (c *collector) leave(s *stream) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.streams, s)
	c.metrics.streams.Dec()
	if len(c.streams) == 0 {
		c.cancel()
		c.cancel, c.last = nil, nil
	}
}

// stop ends all streams, and returns when run has ended.
func (c *collector) stop() {
	c.mu.Lock()
	if !c.stopped {
		c.stopped = true
		close(c.done)
	}
	if c.cancel != nil {
		c.cancel()
	}
	c.mu.Unlock()
	c.running.Wait()
}

// run looks at the cluster until ctx ends.
func (c *collector) run(ctx context.Context) {
	tick := time.NewTicker(lookEach)
	defer tick.Stop()
	before := activity.Look{}
	for {
		before = c.gather(ctx, before)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// gather looks at the cluster and tells all streams what was done since the look before; an empty one for none. It returns the look that
// the next one is compared with.
func (c *collector) gather(ctx context.Context, before activity.Look) activity.Look {
	within, cancel := context.WithTimeout(ctx, lookWithin)
	defer cancel()
	now, err := c.source.Look(within)
	if err != nil {
		if ctx.Err() == nil {
			c.log.Debug("the console could not look at the cluster", "error", err)
			c.publish(ctx, "problem", web.ProblemOf(err))
		}
		return before
	}
	err = fault.Safely(c.metrics.panics, func() error {
		c.publish(ctx, "view", activity.Compare(before, now))
		return nil
	})
	if err != nil {
		c.log.Error("the console cannot tell what the cluster does", fault.Attrs(err)...)
	}
	return now
}

// publish tells all streams something, unless they have left.
func (c *collector) publish(ctx context.Context, name string, v any) {
	text, err := json.Marshal(v) // which escapes what ends a line, and HTML
	if err != nil {
		c.log.Error("the console cannot tell what the cluster does", "error", err)
		return
	}
	event := bytes.Join([][]byte{[]byte("event: "), []byte(name), []byte("\ndata: "), text, []byte("\n\n")}, nil)
	c.mu.Lock()
	defer c.mu.Unlock()
	if ctx.Err() != nil {
		return // those that are there now have another run
	}
	c.last = event
	for s := range c.streams {
		s.put(event)
	}
}

// put gives the stream an event, in the place of one that it has not taken. The lock of the collector is held: no other puts.
func (s *stream) put(event []byte) {
	select {
	case <-s.events:
	default:
	}
	s.events <- event
}
