package gateway

import (
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// unresponsiveAfter is how many requests in a row have to time out until an instance counts as unresponsive.
	unresponsiveAfter = 5
	// unresponsiveFor is for how long after the last of them: an instance that gets no more requests may have recovered.
	unresponsiveFor = time.Minute
)

// responsiveness is whether an instance that accepts connections answers. The result of each request is recorded.
type responsiveness struct {
	unanswered atomic.Bool // whether count is not 0

	mu          sync.Mutex
	count       int       // of requests in a row that timed out
	since, last time.Time // when the first and the last of them did
}

// record takes the result of a request at now; nil is an answer. Errors other than timeouts may be due to the client: they change
// nothing.
func (r *responsiveness) record(err error, now time.Time) {
	if err == nil && !r.unanswered.Load() {
		return
	}
	slow, is := errors.AsType[net.Error](err)
	if err != nil && (!is || !slow.Timeout()) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil {
		r.count = 0
		r.unanswered.Store(false)
		return
	}
	if r.count++; r.count == 1 {
		r.since = now
		r.unanswered.Store(true)
	}
	r.last = now
}

// status is since when the instance is unresponsive at now, and how many requests timed out; 0 if it is responsive, or that is not
// known.
func (r *responsiveness) status(now time.Time) (since time.Time, count int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.count < unresponsiveAfter || now.Sub(r.last) > unresponsiveFor {
		return time.Time{}, 0
	}
	return r.since, r.count
}
