package identity

import (
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics measure a Finder. Finders that are registered in one place, such as that of a document and that of the next,
// count together.
type metrics struct {
	tokens    *prometheus.CounterVec // by issuer and outcome
	refreshes *prometheus.CounterVec // by issuer and result
	refreshed *prometheus.GaugeVec   // by issuer
}

func newMetrics(r prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		tokens: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "jeton_gateway_tokens_total",
			Help: "Tokens (JWT) in requests, by issuer and result of the verification.",
		}, []string{"issuer", "outcome"}),
		refreshes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "jeton_gateway_key_set_reads_total",
			Help: "Fetches of the key set (JWKS) of an issuer, by issuer and result.",
		}, []string{"issuer", "result"}),
		refreshed: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "jeton_gateway_key_set_read_timestamp_seconds",
			Help: "Unix time of the last successful fetch of the key set (JWKS) of an issuer.",
		}, []string{"issuer"}),
	}
	var errs [3]error
	m.tokens, errs[0] = register(r, m.tokens)
	m.refreshes, errs[1] = register(r, m.refreshes)
	m.refreshed, errs[2] = register(r, m.refreshed)
	return m, errors.Join(errs[:]...)
}

// register registers c, or finds the one of its kind that is registered already.
func register[C prometheus.Collector](r prometheus.Registerer, c C) (C, error) {
	if r == nil {
		return c, nil
	}
	err := r.Register(c)
	if already, is := errors.AsType[prometheus.AlreadyRegisteredError](err); is {
		if same, ok := already.ExistingCollector.(C); ok {
			return same, nil
		}
	}
	if err != nil {
		return c, fmt.Errorf("metrics of identity: %w", err)
	}
	return c, nil
}
