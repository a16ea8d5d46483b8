package extauthz

import (
	"github.com/prometheus/client_golang/prometheus"

	registry "github.com/jeton-dev/jeton/internal/metrics"
)

// An outcome is how a CheckRequest was answered.
type outcome string

const (
	outcomeAllowed     outcome = "allowed"
	outcomeDenied      outcome = "denied"
	outcomeUnavailable outcome = "unavailable" // denied with a status of 500 and more
	outcomeRefused     outcome = "refused"     // denied by the door itself
	outcomeInvalid     outcome = "invalid"     // an attribute is missing
	outcomeFailed      outcome = "failed"
)

// outcomes are all outcomes.
var outcomes = []outcome{outcomeAllowed, outcomeDenied, outcomeUnavailable, outcomeRefused, outcomeInvalid, outcomeFailed}

// metrics measure a Door.
type metrics struct {
	checks *prometheus.CounterVec
	panics prometheus.Counter
}

func newMetrics() metrics {
	m := metrics{
		checks: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "jeton_door_extauthz_checks_total",
			Help: "CheckRequests of Envoy's external authorization, by outcome: allowed, denied, unavailable (denied with a status of 500 and more), refused " +
				"(the header is malformed or too large), invalid (an attribute is missing) or failed (the call ended, or the handler panicked).",
		}, []string{"outcome"}),
		panics: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "jeton_door_extauthz_panics_total",
			Help: "Panics of the forward-auth handler. Each is a bug; the log has its stack.",
		}),
	}
	for _, o := range outcomes {
		m.checks.WithLabelValues(string(o))
	}
	return m
}

func (m metrics) register(r prometheus.Registerer) error {
	return registry.Register(r, m.checks, m.panics)
}

func (m metrics) count(o outcome) { m.checks.WithLabelValues(string(o)).Inc() }
