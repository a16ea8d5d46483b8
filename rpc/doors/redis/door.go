// Package redis is a door for clients of Redis: it speaks the Redis protocol (RESP2 and RESP3) and answers the commands and scripts by which
// programs limit rates with Redis from jeton's own buckets. There are CL.THROTTLE of redis-cell, the scripts of redis_rate and of Traefik, which
// are known by their SHA-1, and JETON.CHECK for limits that are stored. It is no database, and runs no Lua.
//
//	accept ─▶ bound.Conn ─▶ TLS ─▶ conn: read ─▶ measure ─▶ parse ─▶ session: a command of the table
//	                                 ▲                                  ├─▶ check: waits for others of the pipeline ─▶ Limiter.CheckBatch
//	                                 └──────────── write ◀── reply ◀────┴─▶ all else
//
// Commands of a connection are answered in their order. Checks that follow one another in a pipeline, and were read together, are decided
// together, up to 128. A denial is an answer; an error means that nothing was decided, or that it is not known. A connection takes
// a bounded amount of memory, whatever its client sends or does not read.
//
// Start with [New].
package redis

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/jeton-dev/jeton/internal/bound"
	"github.com/jeton-dev/jeton/internal/fault"
)

// A Door answers clients of Redis. It is safe for concurrent use.
type Door struct {
	shared

	ctx      context.Context //nolint:containedctx // of all commands; it ends when connections are cut off
	cut      context.CancelFunc
	stopping chan struct{}
	running  sync.WaitGroup // one goroutine for each connection

	mu        sync.Mutex
	stopped   bool
	listeners map[net.Listener]struct{}
	conns     map[*conn]struct{}
}

// New makes a Door, which has no goroutine until it serves. The error says what is wrong with cfg, or why the metrics cannot be registered.
func New(cfg Config) (*Door, error) {
	if err := cfg.setDefaults(); err != nil {
		return nil, err
	}
	m, err := newMetrics(cfg.Registerer)
	if err != nil {
		return nil, err
	}
	d := &Door{stopping: make(chan struct{}), listeners: map[net.Listener]struct{}{}, conns: map[*conn]struct{}{}}
	d.cfg, d.metrics, d.started, d.commands = cfg, m, time.Now(), map[string]*command{}
	for _, c := range table() {
		c.commandMetrics = m.of(c.name, c.check != nil)
		d.commands[c.name] = c
		d.names = append(d.names, c.name)
	}
	slices.Sort(d.names)
	d.ctx, d.cut = context.WithCancel(context.Background())
	return d, nil
}

// Serve answers the connections of l until [Door.Stop], and closes l. It may be called for several listeners at once. The error says why l
// fails; after a Stop there is none.
func (d *Door) Serve(l net.Listener) error {
	if _, ok := l.(interface{ Held(bound.Proof) int64 }); !ok {
		l = bound.New(l, d.cfg.Bounds)
	}
	defer func() { _ = l.Close() }() // Stop may have closed it
	if !d.opens(l) {
		return nil
	}
	for {
		raw, err := l.Accept()
		if err != nil {
			if d.closes(l) {
				return nil
			}
			return fmt.Errorf("redis: %w", err)
		}
		d.begin(raw)
	}
}

// opens notes a listener, unless the door was stopped.
func (d *Door) opens(l net.Listener) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.stopped {
		d.listeners[l] = struct{}{}
	}
	return !d.stopped
}

// closes forgets a listener, and says whether the door was stopped.
func (d *Door) closes(l net.Listener) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.listeners, l)
	return d.stopped
}

// begin answers a connection, in a goroutine of its own.
func (d *Door) begin(raw net.Conn) {
	if d.cfg.TLS != nil {
		raw = tls.Server(raw, d.cfg.TLS)
	}
	c := newConn(&d.shared, raw, d.stopping)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.stopped {
		_ = raw.Close() // it was not used
		return
	}
	d.conns[c] = struct{}{}
	d.open.Add(1)
	d.running.Go(func() { d.run(c) })
}

// run answers a connection until it ends.
func (d *Door) run(c *conn) {
	err := fault.Safely(d.metrics.panics, func() error {
		c.serve(d.ctx)
		return nil
	})
	if err != nil {
		d.cfg.Logger.Error("a connection over the Redis protocol was closed because of a bug in jeton", fault.Attrs(err)...)
	}
	_ = c.raw.Close() // all that could be written was written
	d.mu.Lock()
	delete(d.conns, c)
	d.mu.Unlock()
	d.open.Add(-1)
}

// Stop takes no new connections, answers the commands that were read, and closes all connections. When ctx ends before that, what is left is
// cut off, and the error says so. After Stop no goroutine of the Door is left. It may be called without Serve, and again.
func (d *Door) Stop(ctx context.Context) error {
	d.stop()
	done := make(chan struct{})
	go func() {
		defer close(done)
		d.running.Wait()
	}()
	var err error
	select {
	case <-done:
	case <-ctx.Done():
		err = fmt.Errorf("connections over the Redis protocol were cut off: %w", ctx.Err())
		d.cutAll()
		<-done
	}
	d.cut()
	return err
}

// stop closes the listeners, and wakes the connections that wait for commands.
func (d *Door) stop() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.stopped {
		return
	}
	d.stopped = true
	close(d.stopping)
	for l := range d.listeners {
		_ = l.Close() // nothing more comes over it in any case
	}
	for c := range d.conns {
		_ = c.raw.SetReadDeadline(time.Now()) // what cannot be set is closed
	}
}

// cutAll ends all commands and connections at once.
func (d *Door) cutAll() {
	d.cut()
	d.mu.Lock()
	defer d.mu.Unlock()
	for c := range d.conns {
		_ = c.bound.Close() // likewise
	}
}
