package fallback

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/jeton-dev/jeton/actor/limit"
)

const (
	maxReturns   = 10_000 // in the queue, about 4 MB
	maxReturning = 64     // concurrent calls: 6,000 a second if a return takes 10 ms
	returnWithin = time.Second
	closeWithin  = 500 * time.Millisecond
)

// returnOutcome is the result of giving receipts back.
type returnOutcome string

const (
	done    returnOutcome = "done"    // the cluster has answered
	failed  returnOutcome = "failed"  // it has not answered: it may have taken them back or not
	dropped returnOutcome = "dropped" // they were not sent
)

// A pendingReturn is the receipts of one key that wait to be given back.
type pendingReturn struct {
	ctx      context.Context //nolint:containedctx // for its values, such as the trace; it never ends
	key      string
	receipts []limit.Receipt
}

// returns is a queue that gives receipts back in the background. When it is empty it has no goroutine: add starts one, up to
// maxReturning, and each ends when the queue is empty.
type returns struct {
	to     limit.Returner // nil: receipts cannot be given back
	counts map[returnOutcome]prometheus.Counter
	ctx    context.Context //nolint:containedctx // of all calls; close cancels it
	cancel context.CancelFunc

	mu      sync.Mutex
	closed  bool
	waiting []pendingReturn
	workers int
	idle    chan struct{} // made by close; closed when the last worker ends
}

func newReturns(to limit.Returner, counts map[returnOutcome]prometheus.Counter) *returns {
	q := &returns{to: to, counts: counts}
	q.ctx, q.cancel = context.WithCancel(context.Background())
	return q
}

func (q *returns) add(ctx context.Context, key string, receipts []limit.Receipt) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.to == nil || q.closed || len(q.waiting) >= maxReturns {
		q.counts[dropped].Inc()
		return
	}
	q.waiting = append(q.waiting, pendingReturn{context.WithoutCancel(ctx), key, receipts})
	if q.workers < maxReturning {
		q.workers++
		go q.work()
	}
}

// work gives receipts back until the queue is empty. q owns it; close waits for it.
func (q *returns) work() {
	for {
		p, ok := q.take()
		if !ok {
			return
		}
		q.counts[q.send(p)].Inc()
	}
}

// take removes the first entry of the queue. ok is false if there is none: then the calling worker must end.
func (q *returns) take() (p pendingReturn, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == 0 {
		q.waiting = nil
		if q.workers--; q.workers == 0 && q.idle != nil {
			close(q.idle)
		}
		return pendingReturn{}, false
	}
	p = q.waiting[0]
	q.waiting[0] = pendingReturn{}
	q.waiting = q.waiting[1:]
	return p, true
}

// send gives one entry back to the cluster.
func (q *returns) send(p pendingReturn) returnOutcome {
	if q.ctx.Err() != nil {
		return dropped
	}
	ctx, cancel := context.WithTimeout(p.ctx, returnWithin)
	defer cancel()
	stop := context.AfterFunc(q.ctx, cancel)
	defer stop()
	if _, err := q.to.Return(ctx, p.key, p.receipts); err != nil {
		return failed
	}
	return done
}

// close stops the queue; it is called once. It takes no more entries, waits up to closeWithin for those in the queue, drops the
// rest, and waits for the workers to end.
func (q *returns) close() {
	defer q.cancel()
	q.mu.Lock()
	q.closed = true
	idle := q.workers == 0
	q.idle = make(chan struct{})
	q.mu.Unlock()
	if idle {
		return
	}
	timer := time.AfterFunc(closeWithin, q.cancel)
	defer timer.Stop()
	<-q.idle
}
