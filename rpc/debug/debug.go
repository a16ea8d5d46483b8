// Package debug shows people what a node is doing: a bucket on its line, the actors, profiles, metrics, and whether the
// node lives and is ready. Looking changes nothing. The pages are plain text, made to be read with curl.
//
// Start with [New].
package debug

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/jeton-dev/jeton/actor"
	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/internal/plain"
	"github.com/jeton-dev/jeton/rpc/access"
	"github.com/jeton-dev/jeton/rpc/web"
)

// Actors can say what a System is doing.
type Actors interface {
	Overview(ctx context.Context, top int) (actor.Overview, error)
}

// Config says what the pages show. Every field but Ring is required. Access control is the
// business of the server that serves the pages.
type Config struct {
	// Inspector looks at buckets.
	Inspector limit.Inspector
	// Actors are those of this node.
	Actors Actors
	// Ring tells of the cluster; nil for a node that is alone.
	Ring Ring
	// Metrics are shown at /metrics.
	Metrics prometheus.Gatherer
	// Ready says why the node takes no checks, or nil if it does. Degraded says what is wrong where the node takes checks
	// but no node can decide for some keys; otherwise it is empty.
	Ready func() (degraded string, err error)
	// Fail answers a request with an error, as the JSON API does.
	Fail func(http.ResponseWriter, error)
}

const (
	bucketPrefix = "/debug/buckets/"
	topKeys      = 20 // in the list of the busiest
)

// pages are the handlers. A key stands in a path and may hold anything, // and .. too, so buckets are found by the path
// as it was sent, before a mux could tidy it up.
type pages struct {
	Config
	mux *http.ServeMux
}

// New is a handler for /debug/, /metrics, /livez and /readyz. The error says what is missing in cfg.
func New(cfg Config) (http.Handler, error) {
	if field := cfg.missing(); field != "" {
		return nil, fmt.Errorf("debug: Config.%s is missing", field)
	}
	p := &pages{Config: cfg, mux: http.NewServeMux()}
	for pattern, h := range p.routes() {
		p.mux.Handle(pattern, h)
	}
	return p, nil
}

// missing is a required field that is not set; empty if none is missing.
func (c *Config) missing() string {
	switch {
	case c.Inspector == nil:
		return "Inspector"
	case c.Actors == nil:
		return "Actors"
	case c.Metrics == nil:
		return "Metrics"
	case c.Ready == nil:
		return "Ready"
	case c.Fail == nil:
		return "Fail"
	}
	return ""
}

// routes are the handlers by their patterns, but for those of buckets.
func (p *pages) routes() map[string]http.Handler {
	routes := map[string]http.Handler{
		"GET /{$}":          http.HandlerFunc(p.index),
		"GET /metrics":      promhttp.HandlerFor(p.Metrics, promhttp.HandlerOpts{EnableOpenMetrics: true}),
		"GET /livez":        http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { write(w, plainText, []byte("ok\n")) }),
		"GET /readyz":       http.HandlerFunc(p.ready),
		"GET /debug/{$}":    http.HandlerFunc(p.index),
		"GET /debug/actors": http.HandlerFunc(p.actors),
		"GET /debug/ring":   http.HandlerFunc(p.ring),
	}
	maps.Copy(routes, web.Profiles())
	return routes
}

// ServeHTTP answers with a page.
func (p *pages) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	path, isBucket := strings.CutPrefix(r.URL.EscapedPath(), bucketPrefix)
	switch {
	case !isBucket:
		p.mux.ServeHTTP(w, r)
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "use GET to read; DELETE /v1/buckets/{limit}/{key} fills a bucket", http.StatusMethodNotAllowed)
	default:
		p.bucket(w, r, path)
	}
}

// bucket answers GET /debug/buckets/{limit}/{key...}?cost=n&plan=pro.
func (p *pages) bucket(w http.ResponseWriter, r *http.Request, path string) {
	name, key, err := limit.ParseBucketPath(path)
	if err != nil {
		p.Fail(w, err)
		return
	}
	costs, err := readCosts(r)
	if err != nil {
		p.Fail(w, err)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), maxTime)
	defer cancel()
	in, err := p.Inspector.Inspect(ctx, key, limit.Named(name), r.URL.Query().Get("plan"))
	if err != nil {
		p.Fail(w, err)
		return
	}
	p.answer(w, r, in, func(w io.Writer) error { return WriteBucket(w, in, costs...) })
}

// readCosts reads the costs that the query asks about.
func readCosts(r *http.Request) (costs []int64, err error) {
	for _, text := range r.URL.Query()["cost"] {
		cost, err := strconv.ParseInt(text, 10, 64)
		if err != nil || cost < 0 {
			return nil, &limit.FieldError{Field: "cost", Problem: fmt.Sprintf("%s is not a whole number of tokens, 0 or more", limit.Quote(text))}
		}
		costs = append(costs, cost)
	}
	return costs, nil
}

// actors answers GET /debug/actors.
func (p *pages) actors(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), maxTime)
	defer cancel()
	o, err := p.Actors.Overview(ctx, topKeys)
	if err != nil {
		p.Fail(w, err)
		return
	}
	p.answer(w, r, newOverview(o), func(w io.Writer) error { return WriteOverview(w, o) })
}

// ready answers GET /readyz. Where some keys cannot be decided the others can, so a node is taken out for that only if the
// query asks for strict: all nodes would be taken out at once.
func (p *pages) ready(w http.ResponseWriter, r *http.Request) {
	switch degraded, err := p.Ready(); {
	case err != nil:
		http.Error(w, "not ready: "+plain.Text(err.Error()), http.StatusServiceUnavailable)
	case degraded != "" && r.URL.Query().Has("strict"):
		http.Error(w, "degraded: "+plain.Text(degraded), http.StatusServiceUnavailable)
	case degraded != "":
		write(w, plainText, []byte("degraded: "+plain.Text(degraded)+"\n"))
	default:
		write(w, plainText, []byte("ready\n"))
	}
}

// index answers GET / with every route of the port, those of the JSON API too.
func (p *pages) index(w http.ResponseWriter, _ *http.Request) {
	write(w, plainText, []byte("jeton\n\n"+access.List(access.NodeHTTP)))
}
