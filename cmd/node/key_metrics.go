package node

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/jeton-dev/jeton/ring/key"
)

// keyMetrics tell by which of the secrets of the cluster key others prove themselves. A secret's name and place change while the key is
// rotated, so they are read when they are asked for.
type keyMetrics struct{ key *key.Key }

// The metrics of the cluster key.
//
//nolint:gochecknoglobals // constants
var (
	keyProofs = prometheus.NewDesc("jeton_cluster_key_proofs_total",
		"How often others have proved to have one of the cluster keys of this node's file: by connections (tls), messages of gossip, tokens. The key is its name in jeton cluster status.",
		[]string{"key", "over"}, nil)
	keyConnections = prometheus.NewDesc("jeton_cluster_key_connections",
		"Open connections whose other end has proved to have one of the cluster keys of this node's file.", []string{"key"}, nil)
	keyShown = prometheus.NewDesc("jeton_cluster_key_shown",
		"1 for the cluster key that this node shows to others, 0 for those that it only accepts.", []string{"key"}, nil)
)

// Describe implements prometheus.Collector.
func (keyMetrics) Describe(to chan<- *prometheus.Desc) {
	to <- keyProofs
	to <- keyConnections
	to <- keyShown
}

// Collect implements prometheus.Collector.
func (m keyMetrics) Collect(to chan<- prometheus.Metric) {
	seen := map[string]bool{}
	for i, u := range m.key.Uses() {
		if seen[u.Name] { // two secrets with one name, which happens once in 65,536 times: the first is told
			continue
		}
		seen[u.Name] = true
		for over, n := range u.Times {
			to <- prometheus.MustNewConstMetric(keyProofs, prometheus.CounterValue, float64(n), u.Name, over)
		}
		to <- prometheus.MustNewConstMetric(keyConnections, prometheus.GaugeValue, float64(u.Open), u.Name)
		shown := 0.0
		if i == 0 {
			shown = 1
		}
		to <- prometheus.MustNewConstMetric(keyShown, prometheus.GaugeValue, shown, u.Name)
	}
}
