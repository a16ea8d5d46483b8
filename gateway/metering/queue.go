package metering

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

// The bounds of the queue. With them, a settlement is tried for about a minute and a half.
const (
	maxJobs      = 20_000 // that wait or run, about 20 MB
	maxCalls     = 64     // at once
	maxTries     = 25
	callWithin   = 2 * time.Second
	firstPause   = 50 * time.Millisecond
	longestPause = 5 * time.Second
	closeWithin  = 5 * time.Second
	closingPause = 100 * time.Millisecond // between two tries while the queue closes
)

// errFull is the end of a job that was not tried, because too many are under way or the gateway stops.
var errFull = errors.New("too many settlements are under way, or the gateway has stopped")

// A job is one thing that is to be told to the cluster. To try it again changes nothing more.
type job struct {
	ctx context.Context //nolint:containedctx // for its values, such as the trace
	try func(context.Context) error
	end func(error) // called once, with nil or the last error
}

// A queue tries jobs until they succeed. Each has a goroutine while it is under way, which the queue owns; close waits for it.
type queue struct {
	ctx     context.Context //nolint:containedctx // of all tries; close cancels it at last
	cancel  context.CancelFunc
	closing chan struct{} // closed by close: pauses become short
	calls   chan struct{} // one value for each call
	running sync.WaitGroup

	mu     sync.Mutex
	jobs   int
	closed bool
}

func newQueue() *queue {
	q := &queue{closing: make(chan struct{}), calls: make(chan struct{}, maxCalls)}
	q.ctx, q.cancel = context.WithCancel(context.Background())
	return q
}

// add starts a job, or ends it with errFull.
func (q *queue) add(j job) {
	q.mu.Lock()
	full := q.closed || q.jobs >= maxJobs
	if !full {
		q.jobs++
		q.running.Add(1)
	}
	q.mu.Unlock()
	if full {
		j.end(errFull)
		return
	}
	go func() {
		defer q.running.Done()
		j.end(q.run(j))
		q.mu.Lock()
		q.jobs--
		q.mu.Unlock()
	}()
}

// run tries a job until it succeeds, its error is final, or the queue has closed.
func (q *queue) run(j job) (err error) {
	pause := firstPause
	for range maxTries {
		if err = q.call(j); err == nil || final(err) || q.ctx.Err() != nil {
			return err
		}
		q.wait(pause/2 + rand.N(pause))
		pause = min(2*pause, longestPause)
	}
	return err
}

// call tries a job once.
func (q *queue) call(j job) error {
	select {
	case q.calls <- struct{}{}:
		defer func() { <-q.calls }()
	case <-q.ctx.Done():
		return errFull
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(j.ctx), callWithin)
	defer cancel()
	stop := context.AfterFunc(q.ctx, cancel)
	defer stop()
	return j.try(ctx)
}

// wait waits before the next try.
func (q *queue) wait(pause time.Duration) {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return
	case <-q.closing:
	}
	last := time.NewTimer(min(pause, closingPause))
	defer last.Stop()
	select {
	case <-last.C:
	case <-q.ctx.Done():
	}
}

// final says whether another try would get the same answer.
func final(err error) bool {
	_, wrong := errors.AsType[*limit.FieldError](err)
	return wrong || errors.Is(err, limit.ErrUnknownHold) || errors.Is(err, errFull)
}

// close takes no more jobs, waits for those under way, and gives them up after closeWithin.
func (q *queue) close() {
	q.mu.Lock()
	if !q.closed {
		q.closed = true
		close(q.closing)
	}
	q.mu.Unlock()
	timer := time.AfterFunc(closeWithin, q.cancel)
	defer timer.Stop()
	q.running.Wait()
	q.cancel()
}
