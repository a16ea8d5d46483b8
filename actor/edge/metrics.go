package edge

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/jeton-dev/jeton/actor/lease"
	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/internal/metrics"
)

// counts count what an edge does.
type counts struct {
	checks          *prometheus.CounterVec
	here, elsewhere prometheus.Counter
	leases          *prometheus.CounterVec
	reports         *prometheus.CounterVec
	tails           *prometheus.CounterVec
	dropped         prometheus.Counter
}

func newCounts() *counts {
	m := &counts{
		checks: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "jeton_edge_checks_total",
			Help: "Checks of limits that are leased, eventual or local, by who decided: this edge (here), or the owner of the key (owner).",
		}, []string{"by"}),
		leases: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "jeton_edge_leases_total",
			Help: "Leases that this edge has asked for, by outcome: given; denied, because too little is left, or because a limit is leased to hot keys alone and the key is not hot; refused, because its clock or its limits differ from the owner's; failed, because there was no answer.",
		}, []string{"outcome"}),
		reports: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "jeton_edge_reports_total",
			Help: "Reports of what this edge has admitted under limits with consistency eventual, by outcome: taken by the owner, or failed, and then made again.",
		}, []string{"outcome"}),
		tails: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "jeton_edge_tails_total",
			Help: "Ends of leases that were not needed and given back, by whether that took effect.",
		}, []string{"effect"}),
		dropped: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "jeton_edge_dropped_total",
			Help: "Buckets of which what was held was dropped, because the clock of this machine had jumped, or the machine was suspended.",
		}),
	}
	m.here, m.elsewhere = m.checks.WithLabelValues("here"), m.checks.WithLabelValues("owner")
	return m
}

func (m *counts) register(reg prometheus.Registerer, held func() float64) error {
	tokens := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "jeton_edge_held_tokens",
		Help: "Tokens that this edge holds and can spend, of all leases.",
	}, held)
	return metrics.Register(reg, m.checks, m.leases, m.reports, m.tails, m.dropped, tokens)
}

// A decider is who decided a check.
type decider uint8

const (
	byEdge decider = iota
	byOwner
)

// decided counts a check by who decided it.
func (m *counts) decided(by decider) {
	switch by {
	case byEdge:
		m.here.Inc()
	case byOwner:
		m.elsewhere.Inc()
	}
}

// asked counts what an ask was answered, for a lease or a report.
func (m *counts) asked(report bool, a *lease.Answer, err error) {
	if report {
		outcome := "taken"
		if err != nil {
			outcome = "failed"
		}
		m.reports.WithLabelValues(outcome).Inc()
		return
	}
	outcome := "denied"
	switch {
	case !a.Compares(mostOff):
		outcome = "refused"
	case a.Lease != nil:
		outcome = "given"
	case err == nil:
	default:
		outcome = "failed"
		if _, refused := errors.AsType[*limit.FieldError](err); refused {
			outcome = "refused"
		}
	}
	m.leases.WithLabelValues(outcome).Inc()
}

// gaveBack counts what became of n tails.
func (m *counts) gaveBack(returned []bool, n int, err error) {
	took := 0
	if err == nil {
		for _, back := range returned {
			if back {
				took++
			}
		}
	}
	m.tails.WithLabelValues("taken").Add(float64(took))
	m.tails.WithLabelValues("lost").Add(float64(n - took))
}
