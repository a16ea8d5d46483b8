package nodes

import (
	"container/list"
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/rpc/pb"
)

// A sender sends checks in one message, calls answer with the index of each and what became of it, as answers come in
// and from one goroutine, and returns when there will be no more. Checks that got no answer met the error.
type sender func(ctx context.Context, checks []*pb.CheckRequest, answer func(int, limit.Result)) error

// A queue gathers concurrent checks into messages, without ever waiting for more to come:
//
//	a check arrives ─▶ fewer than maxMessages on their way? ──▶ its caller sends it at once, by itself
//	                   otherwise it waits
//	a message is answered ─▶ a goroutine sends all that wait by then, at most a batch, as the next one
//
// So what is gathered is what arrives during a round trip, and a queue at rest owns no goroutine. A message that has
// been on its way for longer than patience waits for something else than the network, a disk or another node, and holds
// the others up no more.
type queue struct {
	send        sender
	maxMessages int
	checks      *atomic.Int64 // under way, waiting or sent; other queues may count there too
	maxChecks   int64         // under way at once
	patience    time.Duration

	mu       sync.Mutex
	closed   bool
	messages int            // on their way, without those out of patience
	waiting  list.List      // of *ticket
	sending  sync.WaitGroup // the goroutines that send
}

// A ticket is a check that waits for its turn, and then for its answer.
type ticket struct {
	check    *pb.CheckRequest
	deadline time.Time
	done     chan struct{} // closed when there is a result
	result   limit.Result

	place *list.Element // guarded by queue.mu; nil when it is sent
	on    *message      // guarded by queue.mu; nil until it is sent
}

// A message is several checks on their way.
type message struct {
	tickets    []*ticket // nil where answered; carry's
	unanswered atomic.Int64
	callers    int // guarded by queue.mu; those that have not left
	cancel     context.CancelFunc
}

// The errors of a queue.
var (
	errTooMany  = fmt.Errorf("%w: this client has too many checks under way", limit.ErrOverloaded)
	errClosed   = fmt.Errorf("%w: this client is closed", limit.ErrUnavailable)
	errNoAnswer = fmt.Errorf("%w: the node did not answer the check", limit.ErrUnavailable)
)

// do sends a check and waits for its answer, or for the end of ctx, which must have a deadline.
func (q *queue) do(ctx context.Context, check *pb.CheckRequest) limit.Result {
	t, err := q.enter(ctx, check)
	switch {
	case err != nil:
		return limit.Result{Err: err}
	case t == nil:
		defer q.leave(nil)
		return q.alone(ctx, check)
	}
	defer q.leave(t)
	select {
	case <-t.done:
	case <-ctx.Done():
	}
	select {
	case <-t.done: // both at once: a decision counts
		return t.result
	default:
		return limit.Result{Err: ctx.Err()}
	}
}

// enter lets a check in: to be sent at once when there is no ticket, and else to wait.
func (q *queue) enter(ctx context.Context, check *pb.CheckRequest) (*ticket, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.closed:
		return nil, errClosed
	case q.checks.Add(1) > q.maxChecks:
		q.checks.Add(-1)
		return nil, errTooMany
	}
	if q.messages < q.maxMessages {
		q.messages++
		return nil, nil
	}
	t := &ticket{check: check, done: make(chan struct{})}
	t.deadline, _ = ctx.Deadline()
	t.place = q.waiting.PushBack(t)
	return t, nil
}

// leave lets a caller out, answered or not. A message that all its callers have left is canceled.
func (q *queue) leave(t *ticket) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.checks.Add(-1)
	switch {
	case t == nil:
	case t.place != nil:
		q.waiting.Remove(t.place)
	case t.on != nil:
		if t.on.callers--; t.on.callers == 0 && t.on.unanswered.Load() > 0 {
			t.on.cancel()
		}
	}
}

// alone sends one check for its caller.
func (q *queue) alone(ctx context.Context, check *pb.CheckRequest) limit.Result {
	free := q.occupy()
	defer free()
	result := limit.Result{Err: errNoAnswer}
	if err := q.send(ctx, []*pb.CheckRequest{check}, func(_ int, r limit.Result) { result = r }); err != nil {
		result = limit.Result{Err: err}
	}
	return result
}

// occupy counts a message that starts on its way until the function that it returns is called, or patience is over.
func (q *queue) occupy() (free func()) {
	once := sync.OnceFunc(q.next)
	timer := time.AfterFunc(q.patience, once)
	return func() {
		timer.Stop()
		once()
	}
}

// next hands the place of a message over to the checks that wait, if there are any.
func (q *queue) next() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed || q.waiting.Len() == 0 {
		q.messages--
		return
	}
	m := &message{}
	var latest time.Time
	for q.waiting.Len() > 0 && len(m.tickets) < limit.MaxBatch {
		t, _ := q.waiting.Remove(q.waiting.Front()).(*ticket)
		t.place, t.on = nil, m
		m.tickets = append(m.tickets, t)
		if t.deadline.After(latest) {
			latest = t.deadline
		}
	}
	m.callers = len(m.tickets)
	m.unanswered.Store(int64(m.callers))
	ctx, cancel := context.WithDeadline(context.Background(), latest)
	m.cancel = cancel
	q.sending.Go(func() { q.carry(ctx, m) })
}

// carry sends a message and hands out the answers.
func (q *queue) carry(ctx context.Context, m *message) {
	defer m.cancel()
	free := q.occupy()
	defer free()
	checks := make([]*pb.CheckRequest, len(m.tickets))
	for i, t := range m.tickets {
		checks[i] = t.check
	}
	answer := func(i int, r limit.Result) {
		if t := m.tickets[i]; t != nil {
			t.result = r
			m.tickets[i] = nil
			m.unanswered.Add(-1)
			close(t.done)
		}
	}
	err := q.send(ctx, checks, answer)
	if err == nil {
		err = errNoAnswer
	}
	for i := range m.tickets {
		answer(i, limit.Result{Err: err})
	}
}

// close sends no more, answers what waits, and returns when what was sent is answered.
func (q *queue) close() {
	q.mu.Lock()
	q.closed = true
	for q.waiting.Len() > 0 {
		t, _ := q.waiting.Remove(q.waiting.Front()).(*ticket)
		t.place, t.result = nil, limit.Result{Err: errClosed}
		close(t.done)
	}
	q.mu.Unlock()
	q.sending.Wait()
}
