package client

import (
	"fmt"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
)

// counts are what a client counts.
type counts struct {
	calls  atomic.Uint64 // a batch counts once
	second atomic.Uint64 // tries at a further node while one is silent
	again  atomic.Uint64 // tries after one that failed
	unsent atomic.Uint64 // checks refused at once
}

// register makes the counts known as metrics.
func (c *Client) register(r prometheus.Registerer) error {
	if r == nil {
		return nil
	}
	count := func(name, help string, n *atomic.Uint64) prometheus.Collector {
		return prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, func() float64 { return float64(n.Load()) })
	}
	for _, m := range []prometheus.Collector{
		count("jeton_client_calls_total", "Calls of the client; a batch counts once.", &c.counts.calls),
		count("jeton_client_second_tries_total", "Calls that were tried at a further node while one was silent.", &c.counts.second),
		count("jeton_client_retries_total", "Tries of calls after one that failed.", &c.counts.again),
		count("jeton_client_unsent_total", "Checks refused at once: every replica of the key was known to be bad.", &c.counts.unsent),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "jeton_client_table_version", Help: "The version of the table that the client goes by.",
		}, func() float64 { return float64(c.Version()) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "jeton_client_limits_version", Help: "The version of the limits that the client has heard of; 0 before it has.",
		}, func() float64 { return float64(c.limits.version()) }),
	} {
		if err := r.Register(m); err != nil {
			return fmt.Errorf("metrics: %w", err)
		}
	}
	return nil
}
