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

// A question is a check or a settlement.
type question struct {
	check      *pb.CheckRequest
	settlement *pb.SettleRequest // nil for a check
	trace      string            // the span of a check, as a text; empty for none
}

// waits says whether the question may wait for tokens.
func (q question) waits() bool { return q.check.GetWaitNs() > 0 }

// A reply answers a question.
type reply struct {
	decision limit.Decision
	settled  limit.Settled
	err      error
	together int // how many questions its message had when the queue sent it
}

// A sender sends questions together, calls answer with the index of each and what became of it, as answers come in and from one
// goroutine, and returns when there will be no more. Questions that got no answer met the error. On the way, the questions of several
// calls may share a message: see conversation.
type sender func(ctx context.Context, questions []question, answer func(int, reply)) error

// A queue gathers concurrent checks and settlements, which it calls questions, into messages, without ever waiting for more to come:
//
//	a question arrives ─▶ fewer than maxMessages on their way? ──▶ its caller sends it at once, by itself
//	                   otherwise it waits
//	a message is answered ─▶ a goroutine sends all that wait by then, at most a batch, as the next one
//
// So what is gathered is what arrives during a round trip, and a queue at rest owns no goroutine. A message has one deadline, so
// questions are gathered whose callers leave at about the same time: see deadlines. A message that has
// been on its way for longer than patience waits for something else than the network, a disk or another node, and holds
// the others up no more.
type queue struct {
	send        sender
	maxMessages int
	checks      *atomic.Int64 // and settlements under way, waiting or sent; other queues may count there too
	maxChecks   int64         // under way at once
	patience    time.Duration

	mu       sync.Mutex
	closed   bool
	messages int            // on their way, without those out of patience
	waiting  list.List      // of *ticket
	sending  sync.WaitGroup // the goroutines that send
}

// A ticket is a question that waits for its turn, and then for its answer.
type ticket struct {
	question question
	deadline time.Time
	done     chan struct{} // closed when there is a reply
	reply    reply

	place *list.Element // guarded by queue.mu; nil when it is sent
	on    *message      // guarded by queue.mu; nil until it is sent
}

// A message is several questions on their way.
type message struct {
	tickets    []*ticket // nil where answered; carry's
	unanswered atomic.Int64
	callers    int // guarded by queue.mu; those that have not left
	cancel     context.CancelFunc
}

// The errors of a queue.
var (
	errTooMany  = fmt.Errorf("%w: this client has too many checks and settlements under way", limit.ErrOverloaded)
	errClosed   = fmt.Errorf("%w: this client is closed", limit.ErrUnavailable)
	errNoAnswer = fmt.Errorf("%w: the node did not answer the check or settlement", limit.ErrUnavailable)
)

// do sends a question and waits for its answer, or for the end of ctx, which must have a deadline.
func (q *queue) do(ctx context.Context, asked question) reply {
	t, err := q.enter(ctx, asked)
	switch {
	case err != nil:
		return reply{err: err}
	case t == nil:
		defer q.leave(nil)
		return q.alone(ctx, asked)
	}
	defer q.leave(t)
	select {
	case <-t.done:
	case <-ctx.Done():
	}
	select {
	case <-t.done: // both at once: a decision counts
		return t.reply
	default:
		return reply{err: ctx.Err()}
	}
}

// enter lets a question in: to be sent at once when there is no ticket, and else to wait.
func (q *queue) enter(ctx context.Context, asked question) (*ticket, error) {
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
	t := &ticket{question: asked, done: make(chan struct{})}
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

// alone sends one question for its caller.
func (q *queue) alone(ctx context.Context, asked question) reply {
	free := q.occupy()
	defer free()
	got := reply{err: errNoAnswer}
	if err := q.send(ctx, []question{asked}, func(_ int, r reply) { got = r }); err != nil {
		got = reply{err: err}
	}
	got.together = 1
	return got
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

// next hands the place of a message over to the questions that wait, if there are any.
func (q *queue) next() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed || q.waiting.Len() == 0 {
		q.messages--
		return
	}
	m, all, now := &message{}, deadlines{}, time.Now()
	for place := q.waiting.Front(); place != nil && len(m.tickets) < limit.MaxBatch; {
		t, _ := place.Value.(*ticket)
		place = place.Next()
		if all.join(t.deadline, now) {
			q.waiting.Remove(t.place)
			t.place, t.on = nil, m
			m.tickets = append(m.tickets, t)
		}
	}
	m.callers = len(m.tickets)
	m.unanswered.Store(int64(m.callers))
	ctx, cancel := context.WithDeadline(context.Background(), all.latest)
	m.cancel = cancel
	q.sending.Go(func() { q.carry(ctx, m) })
}

// carry sends a message and hands out the answers.
func (q *queue) carry(ctx context.Context, m *message) {
	defer m.cancel()
	free := q.occupy()
	defer free()
	questions := make([]question, len(m.tickets))
	for i, t := range m.tickets {
		questions[i] = t.question
	}
	answer := func(i int, r reply) {
		if t := m.tickets[i]; t != nil {
			t.reply = r
			t.reply.together = len(questions)
			m.tickets[i] = nil
			m.unanswered.Add(-1)
			close(t.done)
		}
	}
	err := q.send(ctx, questions, answer)
	if err == nil {
		err = errNoAnswer
	}
	for i := range m.tickets {
		answer(i, reply{err: err})
	}
}

// close sends no more, answers what waits, and returns when what was sent is answered.
func (q *queue) close() {
	q.mu.Lock()
	q.closed = true
	for q.waiting.Len() > 0 {
		t, _ := q.waiting.Remove(q.waiting.Front()).(*ticket)
		t.place, t.reply = nil, reply{err: errClosed}
		close(t.done)
	}
	q.mu.Unlock()
	q.sending.Wait()
}
