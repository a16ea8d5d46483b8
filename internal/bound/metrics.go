package bound

import "github.com/prometheus/client_golang/prometheus"

// Metrics counts open and refused connections. A nil *Metrics counts nothing.
type Metrics struct {
	refused *prometheus.CounterVec
	opened  *prometheus.GaugeVec
}

// NewMetrics makes the metrics of all listeners of a process, and registers them if the Registerer is not nil. The error is
// the Registerer's.
func NewMetrics(r prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "jeton_listener_refused_total",
			Help: "Connections that were refused or closed, by listener and reason: connections (maximum reached), address (maximum per address " +
				"reached), descriptors (none left), memory (budget used up, and this connection held the most), late (a handshake or a message was " +
				"not complete in time), unread (answers were not read in time), handshake (failed), malformed (not a valid message).",
		}, []string{"listener", "reason"}),
		opened: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "jeton_listener_connections",
			Help: "Connections that are open, by listener.",
		}, []string{"listener"}),
	}
	if r == nil {
		return m, nil
	}
	for _, c := range []prometheus.Collector{m.refused, m.opened} {
		if err := r.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func (m *Metrics) refuse(listener, reason string) {
	if m != nil {
		m.refused.WithLabelValues(listener, reason).Inc()
	}
}

func (m *Metrics) open(listener string, by float64) {
	if m != nil {
		m.opened.WithLabelValues(listener).Add(by)
	}
}
