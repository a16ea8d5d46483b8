package standin

import (
	"fmt"
	"io"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// front answers at PORT.
func (s *Service) front() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/json", s.rules.JSON())
	mux.HandleFunc("GET /healthcheck", func(w http.ResponseWriter, _ *http.Request) {
		if err := s.Healthy(); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		_, _ = io.WriteString(w, "OK") // the client may be gone
	})
	return mux
}

// debug answers at DEBUG_PORT.
func (s *Service) debug() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", s.measured())
	mux.HandleFunc("GET /rlconfig", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = io.WriteString(w, s.rules.Dump())
	})
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		fmt.Fprint(w, "/metrics: for Prometheus\n/rlconfig: the rules in force\n")
	})
	return mux
}

// measured is what is measured, of a node of its own too.
func (s *Service) measured() http.Handler {
	all := prometheus.Gatherers{s.metrics}
	if s.buckets.metrics != nil {
		all = append(all, s.buckets.metrics)
	}
	return promhttp.HandlerFor(all, promhttp.HandlerOpts{EnableOpenMetrics: true})
}

// scraped answers at PROMETHEUS_ADDR.
func (s *Service) scraped(path string) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET "+path, s.measured())
	return mux
}
