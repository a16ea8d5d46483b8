package client

import (
	"bytes"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/internal/metrics"
	"github.com/jeton-dev/jeton/rpc/pb"
)

// limits are the stored limits, as they are told together with the table.
type limits struct {
	latest atomic.Pointer[stored]
	valid  atomic.Pointer[limit.Document] // the last ones that could be read
	heard  chan struct{}                  // closed when there are some
}

// stored are the limits of one version. They are read when they are first asked for: most clients never do.
type stored struct {
	version uint64
	text    []byte
	read    func() *limit.Document // once; nil if this client is too old to understand them
}

// hear notes the limits of a view that has been put in force. Only one goroutine calls it.
func (l *limits) hear(v *pb.View) {
	before := l.latest.Load()
	if before != nil && before.version == v.LimitsVersion && bytes.Equal(before.text, v.Limits) {
		return
	}
	l.latest.Store(&stored{version: v.LimitsVersion, text: v.Limits, read: sync.OnceValue(func() *limit.Document {
		doc, err := limit.ParseDocument(v.Limits)
		if err != nil {
			return nil
		}
		l.valid.Store(doc)
		return doc
	})})
	if before == nil {
		close(l.heard)
	}
}

// document is the latest one that could be read; nil when there is none.
func (l *limits) document() *limit.Document {
	latest := l.latest.Load()
	if latest == nil {
		return nil
	}
	if doc := latest.read(); doc != nil {
		return doc
	}
	return l.valid.Load()
}

func (l *limits) version() uint64 {
	if latest := l.latest.Load(); latest != nil {
		return latest.version
	}
	return 0
}

// Limits are the stored limits in force as the client has last heard, which it does within a moment of a change; nil
// before it has heard of any. It does not wait. The pointer stays the same until they change. Limits that this client is
// too old to understand leave those before them in place.
func (c *Client) Limits() *limit.Document {
	c.known()
	return c.limits.document()
}

// Heard is closed when the client has heard of the table and the limits for the first time: from then on, it asks every
// key's owner straight away and Limits has something to tell. It may be long before that where no node can be reached.
func (c *Client) Heard() <-chan struct{} {
	c.known()
	return c.limits.heard
}

// register makes the version known as a metric.
func (l *limits) register(r prometheus.Registerer) error {
	return metrics.Register(r, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "jeton_client_limits_version", Help: "The version of the limits that the client has received; 0 before the first.",
	}, func() float64 { return float64(l.version()) }))
}
