package rpc

import (
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/codes"

	"github.com/jeton-dev/jeton/internal/exemplar"
	"github.com/jeton-dev/jeton/internal/metrics"
	"github.com/jeton-dev/jeton/rpc/pb"
)

// serverMetrics measure a Server.
type serverMetrics struct {
	seconds *prometheus.HistogramVec // by method and code; of a stream, each check
	panics  prometheus.Counter
	// good are the series of checks without an error, by method: finding one by its labels costs as much as a decision.
	good map[string]func() prometheus.Observer
}

func newServerMetrics() serverMetrics {
	m := serverMetrics{
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "jeton_rpc_seconds",
			Help:    "How long gRPC calls took, by method and code. Of CheckStream every check and settlement counts by itself.",
			Buckets: metrics.LatencyBuckets(),
		}, []string{"method", "code"}),
		panics: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "jeton_rpc_panics_total",
			Help: "gRPC calls that ran into a bug of the node.",
		}),
		good: map[string]func() prometheus.Observer{},
	}
	for _, method := range []string{
		pb.Limiter_Check_FullMethodName, pb.Limiter_CheckBatch_FullMethodName, pb.Limiter_CheckStream_FullMethodName,
		pb.Limiter_Settle_FullMethodName,
	} {
		m.good[method] = sync.OnceValue(func() prometheus.Observer { return m.series(method, codes.OK) })
	}
	return m
}

// series finds a series by its labels. The first call creates it.
func (m serverMetrics) series(method string, code codes.Code) prometheus.Observer {
	return m.seconds.WithLabelValues(strings.TrimPrefix(method, "/"), code.String())
}

func (m serverMetrics) collectors() []prometheus.Collector {
	return []prometheus.Collector{m.seconds, m.panics}
}

// observe counts a call of a method that started then and ended now, with err. A denial is no error, in whatever form it was asked for. Of is the
// exemplar, nil for a call that is not traced.
func (m serverMetrics) observe(method string, err error, start time.Time, of prometheus.Labels) {
	if _, denied := errors.AsType[*pb.DeniedError](err); denied {
		err = nil
	}
	took := time.Since(start).Seconds()
	if good, ok := m.good[method]; ok && err == nil {
		exemplar.Observe(good(), took, of)
		return
	}
	exemplar.Observe(m.series(method, code(err)), took, of)
}
