package metricstest

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// traced is a sample with an exemplar, as OpenMetrics has it.
var traced = regexp.MustCompile(`(?m)^(\w+)_bucket\{.*\} \d+ # \{trace_id="([0-9a-f]+)"\}`)

// Exemplars are the traces that a scrape finds beside the buckets of each histogram, in the order of the buckets.
func Exemplars(tb testing.TB, from prometheus.Gatherer) map[string][]string {
	tb.Helper()
	r := httptest.NewRequestWithContext(tb.Context(), http.MethodGet, "/metrics", http.NoBody)
	r.Header.Set("Accept", "application/openmetrics-text; version=1.0.0")
	w := httptest.NewRecorder()
	promhttp.HandlerFor(from, promhttp.HandlerOpts{EnableOpenMetrics: true}).ServeHTTP(w, r)
	found := map[string][]string{}
	for _, m := range traced.FindAllStringSubmatch(w.Body.String(), -1) {
		found[m[1]] = append(found[m[1]], m[2])
	}
	return found
}
