// Package door runs the servers of a process and closes what the process has opened. A node and a gateway assemble a list of doors:
// one more way in is one more value in that list.
//
//	Open   listen ─▶ open what decides, each with its Closers.Add ─▶ Doors.Start(a) ─▶ Doors.Start(b, c)
//	Close  Doors.Stop: b and c at the same time ─▶ a ─▶ Closers.Close: the last that was added first
//
// A door that ends by itself makes its process fail: see [Doors.Failed]. Start with [Doors].
package door

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"sync"
	"syscall"
)

// A Door is one way into a process: a server and its listener, which is open before the Door is started.
type Door interface {
	// Name is what the door is called in the log and in /readyz.
	Name() string
	// Addr is the address that it listens on; empty for one that listens nowhere.
	Addr() string
	// Serve answers callers until Stop, and then returns nil. The error says why it ends before; it need not name the door.
	Serve() error
	// Stop takes no new callers and waits until those that are there are answered. When ctx ends before that, they are cut off, and
	// the error says so. No caller is served after Stop. It may be called without Serve, and again.
	Stop(ctx context.Context) error
}

// Doors are those of a process. Its methods are safe for concurrent use.
type Doors struct {
	log     *slog.Logger
	running sync.WaitGroup // one goroutine for each door

	mu     sync.Mutex
	stages [][]Door // in the order in which they were started

	once    sync.Once
	failed  chan struct{} // closed by Fail
	failure error
}

// New makes Doors without any.
func New(log *slog.Logger) *Doors { return &Doors{log: log, failed: make(chan struct{})} }

// Start serves doors. They are stopped at the same time, before those that were started earlier.
func (d *Doors) Start(doors ...Door) {
	d.mu.Lock()
	d.stages = append(d.stages, doors)
	d.mu.Unlock()
	for _, one := range doors {
		d.log.Debug("a server takes callers", "server", one.Name(), "address", one.Addr())
		d.running.Go(func() {
			if err := one.Serve(); err != nil {
				d.Fail(fmt.Errorf("%s on %s: %w", one.Name(), one.Addr(), err))
			}
		})
	}
}

// Stop stops all doors, the last that were started first, and waits until they have ended. Callers that were cut off are logged.
func (d *Doors) Stop(ctx context.Context) {
	d.mu.Lock()
	stages := slices.Clone(d.stages)
	d.mu.Unlock()
	for _, stage := range slices.Backward(stages) {
		var stopping sync.WaitGroup
		for _, one := range stage {
			stopping.Go(func() {
				if err := one.Stop(ctx); err != nil {
					d.log.Warn("callers that were not done were cut off", "server", one.Name(), "error", err)
				}
			})
		}
		stopping.Wait()
	}
	d.running.Wait()
}

// Fail notes that the process cannot go on. The first error counts.
func (d *Doors) Fail(err error) {
	d.once.Do(func() {
		d.failure = err
		close(d.failed)
	})
}

// Failed is closed when a door has ended by itself, or after Fail. The process is then to be closed.
func (d *Doors) Failed() <-chan struct{} { return d.failed }

// Err is why the process has failed; nil if it has not.
func (d *Doors) Err() error {
	select {
	case <-d.failed:
		return d.failure
	default:
		return nil
	}
}

// Listen opens the listener of a door. The error names the option that the address is from.
func Listen(option, address string) (net.Listener, error) {
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", address)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("%s: %s is in use: stop the process that listens there, or give another address", option, address)
	case err != nil:
		return nil, fmt.Errorf("%s: cannot listen on %s: %w", option, address, err)
	}
	return l, nil
}

// Address is where a listener listens; empty for nil.
func Address(l net.Listener) string {
	if l == nil {
		return ""
	}
	return l.Addr().String()
}

// CloseListener closes a listener, unless its server has done so; for [Closers.Add].
func CloseListener(l net.Listener) func(context.Context) error {
	return func(context.Context) error {
		if err := l.Close(); !errors.Is(err, net.ErrClosed) {
			return err
		}
		return nil
	}
}

// ServeHTTP serves HTTP, or HTTPS where the server has a TLS configuration, until the server is stopped.
func ServeHTTP(s *http.Server, l net.Listener) error {
	serve := s.Serve
	if s.TLSConfig != nil {
		serve = func(l net.Listener) error { return s.ServeTLS(l, "", "") } // the certificate is in the configuration
	}
	if err := serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// Closers close what a process has opened, the last first. The zero value has nothing to close.
type Closers struct {
	mu   sync.Mutex
	list []func(context.Context) error
	err  error // of those that were closed
}

// Add adds what closes something that is open now.
func (c *Closers) Add(one func(context.Context) error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list = append(c.list, one)
}

// Close closes everything, each once however often Close is called, and returns all errors, each time. The time that each may take is
// ctx's.
func (c *Closers) Close(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock() // so that a second Close waits for the first
	for _, one := range slices.Backward(c.list) {
		c.err = errors.Join(c.err, one(ctx))
	}
	c.list = nil
	return c.err
}
