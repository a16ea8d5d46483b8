package nodes

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/rpc/pb"
)

// A parcel is a message that a test holds in its hands.
type parcel struct {
	keys     []string
	deadline time.Time
	givenUp  <-chan struct{}
	answers  chan indexed
	end      chan error // ends it
}

type indexed struct {
	index  int
	result limit.Result
}

func (p parcel) answer(i int, r limit.Result) { p.answers <- indexed{i, r} }

// newQueue makes a queue whose messages arrive as parcels.
func newQueue(maxMessages int, maxChecks int64) (*queue, chan parcel) {
	parcels := make(chan parcel)
	return &queue{
		maxMessages: maxMessages, checks: new(atomic.Int64), maxChecks: maxChecks, patience: patience,
		send: func(ctx context.Context, questions []question, answer func(int, reply)) error {
			p := parcel{givenUp: ctx.Done(), answers: make(chan indexed), end: make(chan error)}
			p.deadline, _ = ctx.Deadline()
			for _, q := range questions {
				p.keys = append(p.keys, q.check.GetKey())
			}
			parcels <- p
			for {
				select {
				case a := <-p.answers:
					answer(a.index, reply{decision: a.result.Decision, err: a.result.Err})
				case err := <-p.end:
					return err
				case <-ctx.Done():
					return ctx.Err()
				}
			}
		},
	}, parcels
}

// allow answers the whole parcel: the n-th check that its key remains n times.
func (p parcel) allow() {
	for i, key := range p.keys {
		n, _ := strconv.ParseInt(key, 10, 64)
		p.answer(i, limit.Result{Decision: limit.Decision{Allowed: true, Limits: []limit.Outcome{{Remaining: n}}}})
	}
	p.end <- nil
}

// resultOf is the answer to a check.
func resultOf(r reply) limit.Result { return limit.Result{Decision: r.decision, Err: r.err} }

// A caller is one call of queue.do.
type caller struct {
	result limit.Result
	done   bool
	leave  context.CancelFunc
}

// call starts one, and returns when it waits.
func send(t *testing.T, q *queue, key string, within time.Duration) *caller {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	c := &caller{leave: cancel}
	go func() {
		defer cancel()
		c.result = resultOf(q.do(ctx, question{check: &pb.CheckRequest{Key: key}}))
		c.done = true
	}()
	synctest.Wait()
	return c
}

// want fails t unless the caller has an answer, with that error if any.
func (c *caller) want(t *testing.T, err error) {
	t.Helper()
	synctest.Wait()
	if !c.done || !errors.Is(c.result.Err, err) || (err == nil) != c.result.Decision.Allowed {
		t.Errorf("done = %v with %+v, want %v", c.done, c.result, err)
	}
}

// atRest fails t unless nothing is under way.
func atRest(t *testing.T, q *queue) {
	t.Helper()
	synctest.Wait()
	q.mu.Lock()
	defer q.mu.Unlock()
	if checks := q.checks.Load(); q.messages != 0 || checks != 0 || q.waiting.Len() != 0 {
		t.Errorf("at rest: %d messages, %d checks, %d waiting", q.messages, checks, q.waiting.Len())
	}
}

func TestQueueSendsLoneChecksAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, parcels := newQueue(2, 10)
		start := time.Now()
		var sent []parcel
		var callers []*caller
		for _, key := range []string{"0", "1"} {
			callers = append(callers, send(t, q, key, time.Second))
			p := <-parcels
			if len(p.keys) != 1 || p.keys[0] != key {
				t.Errorf("sent %q, want %q alone", p.keys, key)
			}
			sent = append(sent, p)
		}
		if took := time.Since(start); took != 0 {
			t.Errorf("a check waited %v to be sent", took)
		}
		for i := range sent {
			sent[i].allow()
			callers[i].want(t, nil)
		}
	})
}

func TestQueueGathersWhatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const checks = 2*limit.MaxBatch + 500
		q, parcels := newQueue(1, 10_000)
		results := make([]limit.Result, checks)
		var wait sync.WaitGroup
		do := func(i int) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			results[i] = resultOf(q.do(ctx, question{check: &pb.CheckRequest{Key: strconv.Itoa(i)}}))
		}
		wait.Go(func() { do(0) })
		first := <-parcels
		for i := 1; i < checks; i++ {
			wait.Go(func() { do(i) })
		}
		synctest.Wait()
		first.allow()
		for _, want := range []int{limit.MaxBatch, limit.MaxBatch, 499} {
			p := <-parcels
			if len(p.keys) != want {
				t.Errorf("a message of %d checks, want %d", len(p.keys), want)
			}
			p.allow()
		}
		wait.Wait()
		for i, r := range results {
			if r.Err != nil || r.Decision.Limits[0].Remaining != int64(i) {
				t.Errorf("check %d was answered %+v", i, r)
			}
		}
		atRest(t, q)
	})
}

// TestQueueOfALeaver lets callers leave while they wait and while they are on their way: the others notice nothing, and
// a message that nobody waits for is given up.
func TestQueueOfALeaver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, parcels := newQueue(1, 10)
		first := send(t, q, "0", time.Second)
		p := <-parcels
		waits, leaves := send(t, q, "1", time.Second), send(t, q, "2", time.Second)
		leavesLater, last := send(t, q, "3", time.Second), send(t, q, "4", time.Second)
		leaves.leave()
		leaves.want(t, context.Canceled)
		p.allow()
		first.want(t, nil)
		p = <-parcels
		if len(p.keys) != 3 {
			t.Errorf("sent %q, want 1, 3 and 4", p.keys)
		}
		leavesLater.leave()
		leavesLater.want(t, context.Canceled)
		p.answer(0, limit.Result{Decision: limit.Decision{Allowed: true}})
		waits.want(t, nil)
		select {
		case <-p.givenUp:
			t.Error("the message was given up with a caller that waits")
		default:
		}
		last.leave()
		last.want(t, context.Canceled)
		<-p.givenUp // or the bubble is deadlocked
		atRest(t, q)
	})
}

// TestQueueDeadlines gathers checks whose callers leave at about the same time. One whose caller leaves long before would be decided for nobody.
func TestQueueDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, parcels := newQueue(1, 10)
		send(t, q, "0", time.Second)
		p := <-parcels
		start := time.Now()
		short := send(t, q, "1", 50*time.Millisecond)
		long, longer := send(t, q, "2", 5*time.Second), send(t, q, "3", 9*time.Second)
		soon := send(t, q, "4", 150*time.Millisecond)
		p.allow()
		p = <-parcels
		if got := p.deadline.Sub(start); !slices.Equal(p.keys, []string{"1", "4"}) || got != 150*time.Millisecond {
			t.Errorf("the message has %q and %v, want until the latest of two deadlines", p.keys, got)
		}
		next := <-parcels // when patience is over
		if got := next.deadline.Sub(start); !slices.Equal(next.keys, []string{"2", "3"}) || got != 9*time.Second {
			t.Errorf("the next message has %q and %v, want until the latest of two deadlines", next.keys, got)
		}
		time.Sleep(50 * time.Millisecond) //nolint:forbidigo // the bubble's clock
		short.want(t, context.DeadlineExceeded)
		p.answer(1, limit.Result{Decision: limit.Decision{Allowed: true}})
		soon.want(t, nil)
		next.allow()
		long.want(t, nil)
		longer.want(t, nil)
	})
}

// TestQueueLosesPatience holds a message back: after a while the next one goes, and no earlier.
func TestQueueLosesPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, parcels := newQueue(1, 10)
		slow := send(t, q, "0", time.Second)
		held := <-parcels
		start := time.Now()
		fast := send(t, q, "1", time.Second)
		p := <-parcels
		if took := time.Since(start); took != patience {
			t.Errorf("the next message went after %v, want %v", took, patience)
		}
		p.allow()
		fast.want(t, nil)
		held.allow()
		slow.want(t, nil)
		atRest(t, q)
	})
}

func TestQueueIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, parcels := newQueue(1, 3)
		send(t, q, "0", time.Second)
		p := <-parcels
		send(t, q, "1", time.Second)
		leaves := send(t, q, "2", time.Second)
		send(t, q, "3", time.Second).want(t, limit.ErrOverloaded)
		leaves.leave()
		leaves.want(t, context.Canceled)
		again := send(t, q, "4", time.Second)
		p.allow()
		p = <-parcels
		p.allow()
		again.want(t, nil)
	})
}

// TestQueueErrors lets messages fail: before, in the middle of, and after their answers.
func TestQueueErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, parcels := newQueue(1, 10)
		alone := send(t, q, "0", time.Second)
		p := <-parcels
		answered, unanswered := send(t, q, "1", time.Second), send(t, q, "2", time.Second)
		p.end <- limit.ErrUnavailable
		alone.want(t, limit.ErrUnavailable)
		p = <-parcels
		p.answer(0, limit.Result{Decision: limit.Decision{Allowed: true}})
		p.answer(0, limit.Result{Err: limit.ErrUnknownLimit}) // once more: not wanted
		p.end <- limit.ErrUnavailable
		answered.want(t, nil)
		unanswered.want(t, limit.ErrUnavailable)

		silent := send(t, q, "3", time.Second)
		p = <-parcels
		p.end <- nil
		silent.want(t, errNoAnswer)
	})
}

func TestQueueCloses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, parcels := newQueue(1, 10)
		alone := send(t, q, "0", time.Second)
		p := <-parcels
		sent := send(t, q, "1", time.Second)
		sentToo := send(t, q, "2", time.Second)
		p.allow()
		alone.want(t, nil)
		p = <-parcels
		waits := send(t, q, "3", time.Second)
		closed := make(chan struct{})
		go func() {
			defer close(closed)
			q.close()
		}()
		waits.want(t, errClosed)
		select {
		case <-closed:
			t.Error("closed with a message on its way")
		default:
		}
		p.allow()
		sent.want(t, nil)
		sentToo.want(t, nil)
		<-closed
		send(t, q, "4", time.Second).want(t, limit.ErrUnavailable)
	})
}
