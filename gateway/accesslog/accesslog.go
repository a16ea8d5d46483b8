// Package accesslog writes what became of requests as lines of JSON, to a file or to standard output. It never holds a request up: where a
// disk is full, or nobody reads the other end of a pipe, lines are dropped and counted. A line is written as a whole or not at all.
//
// Start with [Open].
package accesslog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Stdout is the path of standard output.
const Stdout = "-"

// Config says where lines go.
type Config struct {
	// Path is a file, to whose end they are added, or [Stdout]. Required.
	Path string
	// Registerer gets the metrics; nil leaves them unregistered.
	Registerer prometheus.Registerer
	// Logger gets a line when a write fails, and one when writing works again. Nil discards them.
	Logger *slog.Logger
}

// A Log writes lines. It is safe for concurrent use.
//
//	Write ─▶ waiting, in memory ─▶ run: all that waits, in one write ─▶ the file
type Log struct {
	path    string
	log     *slog.Logger
	metrics metrics
	open    func() (io.WriteCloser, error)

	mu      sync.Mutex
	waiting []byte // whole lines
	reopen  bool
	closed  bool
	wake    chan struct{} // holds a token when there is something for run

	ended chan struct{} // closed when run has ended
	kill  chan struct{} // closed when run is to wait for nothing any more
	once  sync.Once     // of kill

	// Run's own.
	file    io.WriteCloser
	failing bool
}

// Open opens a Log, which is to be closed. The error says why it cannot be written to.
func Open(cfg Config) (*Log, error) {
	l := newLog(cfg, func() (io.WriteCloser, error) { return openFile(cfg.Path) })
	var err error
	if l.file, err = l.open(); err != nil {
		return nil, fmt.Errorf("access_log: %w", err)
	}
	if err := l.metrics.register(cfg.Registerer); err != nil {
		return nil, errors.Join(err, l.file.Close())
	}
	go l.run()
	return l, nil
}

func newLog(cfg Config, open func() (io.WriteCloser, error)) *Log {
	l := &Log{
		path: cfg.Path, log: cfg.Logger, metrics: newMetrics(), open: open,
		wake: make(chan struct{}, 1), ended: make(chan struct{}), kill: make(chan struct{}),
	}
	if l.log == nil {
		l.log = slog.New(slog.DiscardHandler)
	}
	return l
}

// openFile opens a file for lines at its end. A pipe without a reader is an error, rather than a wait for one.
func openFile(path string) (io.WriteCloser, error) {
	if path == Stdout {
		return keptOpen{os.Stdout}, nil
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, err
	}
	return f, nil
}

// keptOpen is standard output, which others write to as well.
type keptOpen struct{ io.Writer }

func (keptOpen) Close() error { return nil }

// Write hands over the line of an entry, and does not wait for it to be written.
func (l *Log) Write(e *Entry) {
	line := e.line()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || len(line) == 0 || len(l.waiting)+len(line) > maxWaiting {
		l.metrics.dropped.Inc()
		return
	}
	l.waiting = append(l.waiting, line...)
	l.metrics.lines.Inc()
	l.notifyLocked()
}

// Reopen opens the file anew, after what has moved it away, and does not wait for that.
func (l *Log) Reopen() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reopen = true
	l.notifyLocked()
}

func (l *Log) notifyLocked() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// Close writes what waits, until ctx ends, and closes the file. The error says what was not written.
func (l *Log) Close(ctx context.Context) error {
	l.mu.Lock()
	l.closed = true
	l.notifyLocked()
	l.mu.Unlock()
	select {
	case <-l.ended:
		return nil
	case <-ctx.Done():
	}
	l.once.Do(func() { close(l.kill) })
	select {
	case <-l.ended:
	case <-time.After(again): // a write that hangs in the system ends with the process
	}
	return fmt.Errorf("access_log: some lines were not written: %w", ctx.Err())
}
