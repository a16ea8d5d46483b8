package console

import "github.com/prometheus/client_golang/prometheus"

// How signing in ends: a label of a metric.
const (
	signedIn = "signed_in"
	wrong    = "wrong_token"
	tooOften = "too_often"
)

// consoleMetrics measure the console.
type consoleMetrics struct {
	streams prometheus.Gauge
	refused prometheus.Counter
	signIns *prometheus.CounterVec // by outcome
	panics  prometheus.Counter
}

func newMetrics() consoleMetrics {
	return consoleMetrics{
		streams: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "jeton_console_streams", Help: "Browsers that follow the console.",
		}),
		refused: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "jeton_console_streams_refused_total", Help: "Browsers that were refused because as many as may follow the console at the same time.",
		}),
		signIns: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "jeton_console_sign_ins_total", Help: "Attempts to sign in to the console, by outcome: signed_in, wrong_token, too_often.",
		}, []string{"outcome"}),
		panics: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "jeton_console_panics_total", Help: "Views that the console could not make because of a bug.",
		}),
	}
}

func (m consoleMetrics) collectors() []prometheus.Collector {
	return []prometheus.Collector{m.streams, m.refused, m.signIns, m.panics}
}
