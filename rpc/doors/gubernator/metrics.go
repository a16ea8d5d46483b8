package gubernator

import "github.com/prometheus/client_golang/prometheus"

// The outcomes of an item.
const (
	underLimit = "under_limit"
	overLimit  = "over_limit"
	invalid    = "invalid"   // it can never be decided
	undecided  = "undecided" // there was no decision
)

// doorMetrics count what the door answers.
type doorMetrics struct {
	items   *prometheus.CounterVec // by outcome
	refused prometheus.Counter
}

func newDoorMetrics() *doorMetrics {
	m := &doorMetrics{
		items: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "jeton_door_gubernator_items_total",
			Help: "Items of GetRateLimits by outcome: under_limit and over_limit were decided; of invalid ones the answer names the field; of undecided ones there was no decision.",
		}, []string{"outcome"}),
		refused: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "jeton_door_gubernator_refused_total",
			Help: "Calls of GetRateLimits that were refused as a whole: too many items, or a body that is not the JSON of a request.",
		}),
	}
	for _, outcome := range []string{underLimit, overLimit, invalid, undecided} {
		m.items.WithLabelValues(outcome)
	}
	return m
}

func (m *doorMetrics) collectors() []prometheus.Collector {
	return []prometheus.Collector{m.items, m.refused}
}

// answered counts the item that has that outcome.
func (m *doorMetrics) answered(outcome string) { m.items.WithLabelValues(outcome).Inc() }
