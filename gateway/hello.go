package gateway

import (
	"context"
	"net"
	"sync"
	"time"

	"github.com/jeton-dev/jeton/internal/speaks"
)

// helloEvery is how often an instance at most is asked whether it speaks TLS, and how long it must not have spoken plain text before:
// clients make requests fail, too.
const helloEvery = 10 * time.Second

// A hello finds out whether an instance whose URL says plain text speaks TLS: some servers reset plain text, or hang up on it, without
// a word that a [dialect] could be told from. It owns a goroutine while it asks.
type hello struct {
	running sync.WaitGroup

	mu     sync.Mutex
	closed bool
	last   time.Time          // when the instance was asked
	stop   context.CancelFunc // ends what was begun last; nil before
}

// suspect takes in how a request to the instance went wrong. If that may be because it speaks TLS, it is asked in the background.
func (i *instance) suspect(err error) {
	slow, ok := err.(net.Error) //nolint:errorlint // net/http returns it as it is
	if err == nil || i.speaks == overTLS || ok && slow.Timeout() || i.foreign.Load() != nil ||
		time.Since(time.Unix(0, i.familiar.Load())) < helloEvery {
		return
	}
	h := &i.hello
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed || !h.last.IsZero() && time.Since(h.last) < helloEvery {
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	h.last, h.stop = time.Now(), stop
	h.running.Go(func() {
		defer stop()
		if speaks.OverTLS(ctx, i.address, nil) {
			over := overTLS
			i.foreign.Store(&over)
			i.presence.log.Warn("an instance of an upstream breaks plain text off, and speaks TLS", "error", i.misnamed())
		}
	})
}

// close ends what is under way and waits for it. Nothing is asked after it.
func (h *hello) close() {
	h.mu.Lock()
	h.closed = true
	if h.stop != nil {
		h.stop()
	}
	h.mu.Unlock()
	h.running.Wait()
}
