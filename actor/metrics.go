package actor

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/storage/register"
)

// inlineLabel stands for all limits that requests define themselves: their names are the callers' and have no bound. No
// stored limit can bear this name.
const inlineLabel = "(inline)"

// What a limit said to a check, as a metric's label.
const (
	allowed = iota
	denied
	spared // it would have allowed the check, but another limit denied it: nothing was charged
	outcomes
)

var outcomeLabels = [outcomes]string{"allowed", "denied", "spared"}

type metrics struct {
	decisions    *prometheus.CounterVec
	latency      prometheus.Histogram
	reservations *prometheus.CounterVec
	refusals     prometheus.Counter
	rejected     prometheus.Counter
	panics       prometheus.Counter
}

func newMetrics(reg prometheus.Registerer) *metrics {
	f := promauto.With(reg)
	return &metrics{
		decisions: f.NewCounterVec(prometheus.CounterOpts{
			Name: "jeton_decisions_total",
			Help: "What limits said to checks, by limit and outcome. Limits defined by requests count as one.",
		}, []string{"limit", "outcome"}),
		latency: f.NewHistogram(prometheus.HistogramOpts{
			Name:    "jeton_check_seconds",
			Help:    "Time from a check, or a batch of them, to its decision on this node.",
			Buckets: prometheus.ExponentialBuckets(5e-6, 2, 20),
		}),
		reservations: f.NewCounterVec(prometheus.CounterOpts{
			Name: "jeton_reservations_total",
			Help: "Reservations that owners have sent, by whether a check waited for them (needed) or not (ahead).",
		}, []string{"kind"}),
		refusals: f.NewCounter(prometheus.CounterOpts{
			Name: "jeton_reservation_refusals_total",
			Help: "Reservations that a replica has refused.",
		}),
		rejected: f.NewCounter(prometheus.CounterOpts{
			Name: "jeton_mailbox_rejections_total",
			Help: "Checks that were answered with an error because a mailbox was full.",
		}),
		panics: f.NewCounter(prometheus.CounterOpts{
			Name: "jeton_actor_panics_total",
			Help: "Panics of actors: bugs of jeton. An actor that panics is forgotten.",
		}),
	}
}

// observe registers the gauges, which are read off the running shards.
func (*metrics) observe(reg prometheus.Registerer, s *System) {
	promauto.With(reg).NewGaugeFunc(prometheus.GaugeOpts{
		Name: "jeton_awake_actors",
		Help: "Keys held in memory.",
	}, func() float64 {
		n := int64(0)
		for _, sh := range s.shards {
			n += sh.awakeNow.Load()
		}
		return float64(n)
	})
}

// counts are one shard's way to the metrics: the counters that it has found already.
type counts struct {
	metrics *metrics
	byLimit map[string]*[outcomes]prometheus.Counter
	needed  prometheus.Counter
	ahead   prometheus.Counter
}

func newCounts(m *metrics) counts {
	return counts{
		metrics: m,
		byLimit: map[string]*[outcomes]prometheus.Counter{},
		needed:  m.reservations.WithLabelValues("needed"),
		ahead:   m.reservations.WithLabelValues("ahead"),
	}
}

func (c *counts) decision(m *mail, d limit.Decision) {
	for i := range d.Limits {
		o := &d.Limits[i]
		label := o.Name
		if m.inline&(1<<i) != 0 {
			label = inlineLabel
		}
		what := spared
		switch {
		case d.Allowed:
			what = allowed
		case !o.Allowed:
			what = denied
		}
		c.of(label)[what].Inc()
	}
}

func (c *counts) of(label string) *[outcomes]prometheus.Counter {
	counters := c.byLimit[label]
	if counters == nil {
		counters = &[outcomes]prometheus.Counter{}
		for i, outcome := range outcomeLabels {
			counters[i] = c.metrics.decisions.WithLabelValues(label, outcome)
		}
		c.byLimit[label] = counters
	}
	return counters
}

func (c *counts) sent(background bool) {
	if background {
		c.ahead.Inc()
	} else {
		c.needed.Inc()
	}
}

func (c *counts) answer(v register.Verdict) {
	if v != register.Accepted {
		c.metrics.refusals.Inc()
	}
}
