package rlqs

import (
	"log/slog"
	"sync"
	"time"

	"github.com/jeton-dev/jeton/internal/bound"
)

// sayEvery is how often the log has a line of one kind.
const sayEvery = 10 * time.Second

// paced is a log in which lines of one kind come seldom: what strangers cause does not fill it.
type paced struct {
	to *slog.Logger

	mu   sync.Mutex
	last map[string]time.Time // by kind, of which there are few
}

// due says whether there was no line of that kind for a while.
func (p *paced) due(kind string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if last, some := p.last[kind]; some && now.Sub(last) < sayEvery {
		return false
	}
	if p.last == nil {
		p.last = map[string]time.Time{}
	}
	p.last[kind] = now
	return true
}

// denied says why Envoy is told to deny all requests of a bucket.
func (p *paced) denied(why refusal, at target) {
	if p.due(string(why)) {
		p.to.Warn("Envoy is told to deny all requests of a bucket", "limit", bound.Label(at.limit), "key", bound.Label(at.key), "because", refusals[why])
	}
}

// failed says why nothing can be assigned.
func (p *paced) failed(at target, err error) {
	if p.due("ask") {
		p.to.Warn("nothing can be assigned to Envoy, which goes by its own configuration when what it has is over", "limit", at.limit, "error", err)
	}
}
