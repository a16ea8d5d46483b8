package peers

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/jeton-dev/jeton/internal/bound"
	"github.com/jeton-dev/jeton/internal/metrics"
)

// clientMetrics measure the client side of jeton.v1.Peer, by the address of the other node.
type clientMetrics struct {
	seconds *prometheus.HistogramVec
	batch   *prometheus.HistogramVec
	broken  *prometheus.CounterVec
	refused *prometheus.CounterVec
	open    *prometheus.GaugeVec

	ledgers   *prometheus.CounterVec
	otherBase *prometheus.CounterVec
}

func newMetrics() clientMetrics {
	peer := []string{"peer"}
	return clientMetrics{
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "jeton_peer_seconds",
			Help:    "Round-trip time of messages of reservations to another node, its disk write included, by its address.",
			Buckets: metrics.LatencyBuckets(),
		}, peer),
		batch: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "jeton_peer_reservations",
			Help:    "Reservations in each message to another node, by its address.",
			Buckets: prometheus.ExponentialBuckets(1, 4, 6), // to 1,024
		}, peer),
		broken: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "jeton_peer_broken_total",
			Help: "Streams of reservations to another node that broke, by its address.",
		}, peer),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "jeton_peer_unsent_total",
			Help: "Reservations not sent to another node, because no stream was open or too many were unanswered, by its address.",
		}, peer),
		open: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "jeton_peer_connected",
			Help: "1 while a stream of reservations to another node is open, by its address.",
		}, peer),
		ledgers: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "jeton_peer_ledger_bytes_total",
			Help: "Bytes of ledgers sent to another node, by its address, and whether they went whole or as differences.",
		}, []string{"peer", "as"}),
		otherBase: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "jeton_peer_other_base_total",
			Help: "Ledgers sent again as a whole, because another node had another one than the difference was from, by its address.",
		}, peer),
	}
}

func (m clientMetrics) collectors() []prometheus.Collector {
	return []prometheus.Collector{m.seconds, m.batch, m.broken, m.refused, m.open, m.ledgers, m.otherBase}
}

// A remoteMetrics are the series of one other node.
type remoteMetrics struct {
	seconds, batch  prometheus.Observer
	broken, refused prometheus.Counter
	open            prometheus.Gauge

	whole, differences, otherBase prometheus.Counter
}

func (m clientMetrics) of(address string) remoteMetrics {
	address = bound.Label(address)
	return remoteMetrics{
		seconds: m.seconds.WithLabelValues(address), batch: m.batch.WithLabelValues(address),
		broken: m.broken.WithLabelValues(address), refused: m.refused.WithLabelValues(address),
		open:  m.open.WithLabelValues(address),
		whole: m.ledgers.WithLabelValues(address, "whole"), differences: m.ledgers.WithLabelValues(address, "difference"),
		otherBase: m.otherBase.WithLabelValues(address),
	}
}

// forget removes the series of another node.
func (m clientMetrics) forget(address string) {
	address = bound.Label(address)
	series := []interface {
		DeletePartialMatch(labels prometheus.Labels) int
	}{m.seconds, m.batch, m.broken, m.refused, m.open, m.ledgers, m.otherBase}
	for _, v := range series {
		v.DeletePartialMatch(prometheus.Labels{"peer": address})
	}
}
