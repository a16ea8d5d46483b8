package credentials

import "github.com/prometheus/client_golang/prometheus"

// Why connections are refused.
const (
	refusedPlain = "plain"
	refusedTLS   = "tls"
)

// newRefused counts connections that are refused, by why.
func newRefused() *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "jeton_rpc_refused_connections_total",
		Help: "Connections to the gRPC port that were refused, by reason: plain text where TLS is required, " +
			"or a TLS handshake that failed.",
	}, []string{"reason"})
}

// certificateMetrics measure Certificates.
type certificateMetrics struct {
	expiry   prometheus.Gauge
	failures prometheus.Counter
}

func newCertificateMetrics() certificateMetrics {
	return certificateMetrics{
		expiry: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "jeton_tls_certificate_expiry_timestamp_seconds",
			Help: "When the certificate that this node presents to clients expires, in seconds since 1970.",
		}),
		failures: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "jeton_tls_reload_failures_total",
			Help: "Failed reloads of the files of --tls-cert, --tls-key and --tls-ca, after which the old ones stay in force. Retried, " +
				"and counted, every few seconds until the files are valid.",
		}),
	}
}

func (m certificateMetrics) collectors() []prometheus.Collector {
	return []prometheus.Collector{m.expiry, m.failures}
}

// tokenMetrics measure Tokens.
type tokenMetrics struct{ failures prometheus.Counter }

func newTokenMetrics() tokenMetrics {
	return tokenMetrics{failures: prometheus.NewCounter(prometheus.CounterOpts{
		Name: "jeton_admin_tokens_reload_failures_total",
		Help: "Failed reloads of the file of --admin-token-file, after which the old tokens stay in force. Retried, and counted, " +
			"every few seconds until the file is valid.",
	})}
}

func (m tokenMetrics) collectors() []prometheus.Collector { return []prometheus.Collector{m.failures} }
