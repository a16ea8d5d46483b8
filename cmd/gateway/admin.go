package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"strings"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/gateway/denial"
	"github.com/jeton-dev/jeton/rpc/access"
	"github.com/jeton-dev/jeton/rpc/web"
)

// limitsPath is where the JSON API shows the limits. It is the nodes' business to change them.
const limitsPath = "/v1/limits"

// admin answers operators:
//
//	/livez /readyz /metrics     for supervisors
//	/debug/config /debug/pprof/ what is in force, and profiles
//	/v1/denials/{id}            why a request was refused
//	/v1/…                       the JSON API of a node
type admin struct {
	*Gateway
	sights sights
	pages  *http.ServeMux
	api    http.Handler // which passes on to pages what does not begin with /v1/
}

// adminHandler makes the handler of the admin listener.
func (e *Gateway) adminHandler() (http.Handler, error) {
	a := &admin{Gateway: e, pages: http.NewServeMux()}
	for pattern, h := range a.routes() {
		a.pages.Handle(pattern, h)
	}
	api, err := web.NewAPI(web.APIConfig{
		Limiter: operators{e.client}, Limits: e.limits, Other: a.pages, Registerer: e.metrics, Logger: e.cfg.Logger,
	})
	if err != nil {
		return nil, err
	}
	a.api = api
	return web.NewGuard(a, web.GuardConfig{
		Door: access.GatewayHTTP, Beyond: !isLoopback(e.admin.listener.Addr()), Tokens: a.counts,
		Where: "one of the tokens in admin.token_file", Registerer: e.metrics,
	})
}

// routes are the handlers of the gateway's own pages, by their patterns.
func (a *admin) routes() map[string]http.Handler {
	routes := map[string]http.Handler{
		"GET /{$}":             http.HandlerFunc(index),
		"GET /debug/{$}":       http.HandlerFunc(index),
		"GET /debug/config":    http.HandlerFunc(a.config),
		"GET /metrics":         promhttp.HandlerFor(a.metrics, promhttp.HandlerOpts{}),
		"GET /livez":           http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") }),
		"GET /readyz":          http.HandlerFunc(a.ready),
		"GET /v1/denials/{id}": http.HandlerFunc(a.denial),
	}
	maps.Copy(routes, web.Profiles())
	return routes
}

// operators ask the cluster through a gateway. Where the nodes do not take that from it, the error says what the gateway needs.
type operators struct{ limit.Limiter }

// Inspect implements [limit.Inspector].
func (o operators) Inspect(ctx context.Context, key string, ref limit.Ref, plan string) (limit.Inspection, error) {
	in, err := o.Limiter.Inspect(ctx, key, ref, plan)
	return in, needsToken(err)
}

// Reset implements [limit.Resetter].
func (o operators) Reset(ctx context.Context, key string, ref limit.Ref) error {
	return needsToken(o.Limiter.Reset(ctx, key, ref))
}

func needsToken(err error) error {
	if errors.Is(err, limit.ErrUnauthenticated) {
		return fmt.Errorf("the nodes allow this only with a token: give the gateway one in cluster.token_file: %w", err)
	}
	return err
}

// counts says of a token whether it is an operator's, and whether the document in force has tokens.
func (a *admin) counts(token string) (counts, exist bool) {
	tokens := a.now.Load().tokens
	return tokens.Has(token), tokens != nil
}

// isLoopback says whether only this machine reaches an address.
func isLoopback(at net.Addr) bool {
	tcp, ok := at.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}

// ServeHTTP routes.
func (a *admin) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	switch path := r.URL.Path; {
	case strings.HasPrefix(path, "/v1/denials/"):
		a.pages.ServeHTTP(w, r)
	case path == limitsPath && r.Method == http.MethodPut:
		web.WriteProblem(w, web.MethodNotAllowed("a gateway does not change limits: use jeton limits apply, or PUT /v1/limits at a node", http.MethodGet, http.MethodHead))
	case path == limitsPath && a.limits() == nil:
		web.WriteProblem(w, fmt.Errorf("%w: %w", limit.ErrUnavailable, a.Ready()))
	default:
		a.api.ServeHTTP(w, r)
	}
}

// denial answers GET /v1/denials/{id}.
func (a *admin) denial(w http.ResponseWriter, r *http.Request) {
	record, err := a.gateway.Recall(r.PathValue("id"))
	if err != nil {
		web.WriteProblem(w, noDenial(err))
		return
	}
	web.WriteJSON(w, http.StatusOK, record)
}

// noDenial is the problem of an id for which no denial is known.
func noDenial(err error) *web.Problem {
	p := &web.Problem{Name: "denial-forgotten", Title: "No denial with this id", Status: http.StatusNotFound, Detail: err.Error()}
	switch {
	case errors.Is(err, denial.ErrMalformed):
		p.Name, p.Title, p.Status = "malformed-id", "Not the id of a denial", http.StatusBadRequest
	case errors.Is(err, denial.ErrElsewhere):
		p.Name, p.Status = "denial-elsewhere", http.StatusMisdirectedRequest
	}
	return p
}

func index(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(w, "jeton gateway\n\n"+access.List(access.GatewayHTTP))
}
