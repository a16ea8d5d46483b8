package kuadrant

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/jeton-dev/jeton/internal/bound"
	"github.com/jeton-dev/jeton/internal/metrics"
	"github.com/jeton-dev/jeton/rpc/doors/kuadrant/limitfile"
)

// counts are what the door counts.
type counts struct {
	calls, limited, commits, configurations *prometheus.CounterVec
	taken, left                             prometheus.Counter
	refused                                 prometheus.Gauge
}

// The calls, and the answers that are no codes.
const (
	checkCall   = "check"
	reportCall  = "report"
	reserveCall = "reserve"
	commitCall  = "commit"
	failed      = "failed"
	invalid     = "invalid"
)

func newCounts() *counts {
	vec := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	c := &counts{
		calls: vec("jeton_door_kuadrant_calls_total", "Calls of Kuadrant, by call (check, report, reserve, commit) and answer: ok, over_limit, unknown (without a domain), invalid, or failed, where nothing was decided.",
			"call", "answer"),
		limited:        vec("jeton_door_kuadrant_limited_total", "Calls that were answered with over_limit, by the namespace and the limit that denied first.", "namespace", "limit"),
		commits:        vec("jeton_door_kuadrant_commits_total", "Commits, by outcome: settled, charged (there was no hold, or it is not known any more), or unknown, where the id is not a door's.", "outcome"),
		configurations: vec("jeton_door_kuadrant_configurations_total", "Changes of the files, by outcome: taken or refused.", "outcome"),
		refused: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "jeton_door_kuadrant_configuration_refused", Help: "1 while the files have a mistake, and what they said before is in force.",
		}),
	}
	c.taken, c.left = c.configurations.WithLabelValues("taken"), c.configurations.WithLabelValues("refused")
	return c
}

func (c *counts) register(r prometheus.Registerer) error {
	return metrics.Register(r, c.calls, c.limited, c.commits, c.configurations, c.refused)
}

// limit counts a denial by a limit.
func (c *counts) limit(l *limitfile.Limit) {
	c.limited.WithLabelValues(bound.Label(l.Namespace), bound.Label(l.Label)).Inc()
}

// forget drops the series of limits that are gone.
func (c *counts) forget(before, now []*limitfile.Limit) {
	kept := map[[2]string]bool{}
	for _, l := range now {
		kept[[2]string{l.Namespace, l.Label}] = true
	}
	for _, l := range before {
		if !kept[[2]string{l.Namespace, l.Label}] {
			c.limited.DeleteLabelValues(bound.Label(l.Namespace), bound.Label(l.Label))
		}
	}
}
