package redis

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/jeton-dev/jeton/internal/metrics"
)

// How a command ended, and how a check was decided: the label outcome.
const (
	answered  = "answered"
	refused   = "refused" // the answer is an error
	allowed   = "allowed"
	denied    = "denied"
	undecided = "undecided"
)

// doorMetrics are what a Door counts.
type doorMetrics struct {
	commands  *prometheus.CounterVec
	decisions *prometheus.CounterVec
	panics    prometheus.Counter
}

// commandMetrics are what a Door counts of a command that is known: answers without an error, and, if it checks, decisions.
type commandMetrics struct{ answered, allowed, denied, undecided prometheus.Counter }

// of are those of the command with that name.
func (m *doorMetrics) of(name string, checks bool) commandMetrics {
	own := commandMetrics{answered: m.commands.WithLabelValues(name, answered)}
	if checks {
		own.allowed, own.denied, own.undecided = m.decisions.WithLabelValues(name, allowed), m.decisions.WithLabelValues(name, denied), m.decisions.WithLabelValues(name, undecided)
	}
	return own
}

// newMetrics makes the metrics, and registers them if r is not nil. The error is that of r.
func newMetrics(r prometheus.Registerer) (*doorMetrics, error) {
	m := &doorMetrics{
		commands: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "jeton_door_redis_commands_total",
			Help: "Commands over the Redis protocol, by name (unknown ones are \"other\") and outcome: answered, or refused with an error.",
		}, []string{"command", "outcome"}),
		decisions: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "jeton_door_redis_decisions_total",
			Help: "Checks that came over the Redis protocol, by command and outcome: allowed, denied, or undecided (an error).",
		}, []string{"command", "outcome"}),
		panics: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "jeton_door_redis_panics_total",
			Help: "Connections over the Redis protocol that were closed because of a bug in jeton.",
		}),
	}
	return m, metrics.Register(r, m.commands, m.decisions, m.panics)
}
