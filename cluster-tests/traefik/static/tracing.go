// Package static takes the place of Traefik's package of that name when Traefik's rate limiter is built here: that one brings in every provider
// of Traefik, and with them modules of hundreds of services, to no purpose. What is left is what Traefik's tracing reads, which is off here.
package static

import "github.com/traefik/traefik/v3/pkg/observability/types"

// Tracing says how requests are traced.
type Tracing struct {
	OTLP                                                             *types.OTelTracing
	ServiceName                                                      string
	SampleRate                                                       float64
	ResourceAttributes                                               map[string]string
	CapturedRequestHeaders, CapturedResponseHeaders, SafeQueryParams []string
}
