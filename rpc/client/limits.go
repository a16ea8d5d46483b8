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

// register makes the version known as a metric.
func (l *limits) register(r prometheus.Registerer) error {
	return metrics.Register(r, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "jeton_client_limits_version", Help: "The version of the limits that the client has received; 0 before the first.",
	}, func() float64 { return float64(l.version()) }))
}
