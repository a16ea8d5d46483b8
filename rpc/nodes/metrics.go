package nodes

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/jeton-dev/jeton/internal/metrics"
)

// counts are what a set counts.
type counts struct {
	calls   atomic.Uint64 // a batch counts once
	hedges  atomic.Uint64 // calls that went to a further node while one was silent
	retries atomic.Uint64 // attempts after one that failed
	unsent  atomic.Uint64 // checks refused at once
}

// Counts are the calls so far, and how many of them were hedged, tried again after a failure, and refused without being sent.
func (s *Set) Counts() (calls, hedges, retries, unsent uint64) {
	return s.counts.calls.Load(), s.counts.hedges.Load(), s.counts.retries.Load(), s.counts.unsent.Load()
}

// register makes the counts known as metrics.
func (s *Set) register(r prometheus.Registerer) error {
	count := func(name, help string, n *atomic.Uint64) prometheus.Collector {
		return prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, func() float64 { return float64(n.Load()) })
	}
	return metrics.Register(r,
		count("jeton_client_calls_total", "Calls of the client; a batch counts once.", &s.counts.calls),
		count("jeton_client_hedges_total", "Calls sent to another replica as well, because the first had not answered yet.", &s.counts.hedges),
		count("jeton_client_retries_total", "Attempts at another node, or at the same one later, after an attempt that failed.", &s.counts.retries),
		count("jeton_client_unsent_total", "Checks refused without being sent, because every replica of the key was known to be down.", &s.counts.unsent),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "jeton_client_table_version", Help: "The version of the table that the client uses.",
		}, func() float64 { return float64(s.Version()) }),
	)
}
