package fallback

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/jeton-dev/jeton/actor/limit"
)

const (
	maxReturns   = 10_000 // that wait, about 4 MB
	maxReturning = 64     // under way at once: 6,000 a second where a return takes 10 ms
	returnWithin = time.Second
	closeWithin  = 500 * time.Millisecond
)

// fate is what became of receipts that were given back.
type fate string

const (
	done    fate = "done"    // the cluster has answered
	failed  fate = "failed"  // it has not, or what it took back is not known
	dropped fate = "dropped" // it was not asked
)

// A parcel is receipts to give back.
type parcel struct {
	ctx      context.Context //nolint:containedctx // for its values, such as the trace; it never ends
	key      string
	receipts []limit.Receipt
}

// returns give receipts back in the background. At rest they own no goroutine: one begins when there is something to do,
// up to maxReturning, and ends when there is not.
type returns struct {
	to     limit.Returner // nil: receipts cannot be given back
	counts map[fate]prometheus.Counter
	life   context.Context //nolint:containedctx // of what is under way; close ends it
	end    context.CancelFunc

	mu      sync.Mutex
	closed  bool
	waiting []parcel
	working int
	idle    chan struct{} // closed when nobody works any more; made by close
}

func newReturns(to limit.Returner, counts map[fate]prometheus.Counter) *returns {
	q := &returns{to: to, counts: counts}
	q.life, q.end = context.WithCancel(context.Background())
	return q
}

func (q *returns) add(ctx context.Context, key string, receipts []limit.Receipt) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.to == nil || q.closed || len(q.waiting) >= maxReturns {
		q.counts[dropped].Inc()
		return
	}
	q.waiting = append(q.waiting, parcel{context.WithoutCancel(ctx), key, receipts})
	if q.working < maxReturning {
		q.working++
		go q.work()
	}
}

// work gives back until nothing waits. It is owned by q; close waits for it.
func (q *returns) work() {
	for {
		p, ok := q.take()
		if !ok {
			return
		}
		q.counts[q.give(p)].Inc()
	}
}

// take is the next parcel; if there is none, the one who asks works no more.
func (q *returns) take() (parcel, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == 0 {
		q.waiting = nil
		if q.working--; q.working == 0 && q.idle != nil {
			close(q.idle)
		}
		return parcel{}, false
	}
	p := q.waiting[0]
	q.waiting[0] = parcel{}
	q.waiting = q.waiting[1:]
	return p, true
}

// give gives one parcel back.
func (q *returns) give(p parcel) fate {
	if q.life.Err() != nil {
		return dropped
	}
	ctx, cancel := context.WithTimeout(p.ctx, returnWithin)
	defer cancel()
	stop := context.AfterFunc(q.life, cancel)
	defer stop()
	if _, err := q.to.Return(ctx, p.key, p.receipts); err != nil {
		return failed
	}
	return done
}

// close, which is called once, takes no more, gives those that are here a moment, drops what is left, and waits until nobody works.
func (q *returns) close() {
	defer q.end()
	q.mu.Lock()
	q.closed = true
	idle := q.working == 0
	q.idle = make(chan struct{})
	q.mu.Unlock()
	if idle {
		return
	}
	late := time.AfterFunc(closeWithin, q.end)
	defer late.Stop()
	<-q.idle
}
