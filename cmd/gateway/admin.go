package gateway

import (
	"cmp"
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
	"github.com/jeton-dev/jeton/rpc/console"
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
//	/ /console/…                the console: see package console
type admin struct {
	*Gateway
	pages *http.ServeMux
	apis  map[string]api // by the name of their cluster
}

// An api is the JSON API of a cluster.
type api struct {
	*cluster
	http.Handler // which passes on to the pages what does not begin with /v1/
}

// adminHandler makes the handler of the admin listener, and the console, which is part of it.
func (e *Gateway) adminHandler() (http.Handler, *console.Console, error) {
	a := &admin{Gateway: e, pages: http.NewServeMux(), apis: map[string]api{}}
	for pattern, h := range a.routes() {
		a.pages.Handle(pattern, h)
	}
	for _, c := range e.clusters {
		asks := operators{c.client, c.field()}
		handler, err := web.NewAPI(web.APIConfig{
			Limiter: asks, Operator: asks, Limits: c.limits, Other: a.pages, Traces: e.tracing.Provider() != nil,
			Registerer: c.register(e.metrics, e.now.Load().doc), Logger: c.log(e.cfg.Logger),
		})
		if err != nil {
			return nil, nil, err
		}
		a.apis[c.name] = api{c, handler}
	}
	cookies, err := web.NewCookies(nil)
	if err != nil {
		return nil, nil, err
	}
	shown, err := e.newConsole(a, a.counts, cookies)
	if err != nil {
		return nil, nil, err
	}
	guard, err := web.NewGuard(shown, web.GuardConfig{
		Door: access.GatewayHTTP, Beyond: !isLoopback(e.admin.listener.Addr()), Tokens: a.counts, Cookies: cookies, Where: adminWhere, Registerer: e.metrics,
	})
	return named(guard), shown, err
}

// routes are the handlers of the gateway's own pages, by their patterns.
func (a *admin) routes() map[string]http.Handler {
	routes := map[string]http.Handler{
		"GET /{$}":             http.HandlerFunc(home),
		"GET /debug/{$}":       http.HandlerFunc(index),
		"GET /debug/config":    http.HandlerFunc(a.config),
		"GET /metrics":         promhttp.HandlerFor(a.metrics, promhttp.HandlerOpts{EnableOpenMetrics: true}),
		"GET /livez":           http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") }),
		"GET /readyz":          http.HandlerFunc(a.ready),
		"GET /v1/denials/{id}": http.HandlerFunc(a.denial),
	}
	maps.Copy(routes, web.Profiles())
	return routes
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
	case strings.HasPrefix(path, "/v1/"):
		a.serveAPI(w, r)
	default:
		a.pages.ServeHTTP(w, r)
	}
}

// serveAPI answers a request to the JSON API of a cluster.
func (a *admin) serveAPI(w http.ResponseWriter, r *http.Request) {
	name, _ := r.Context().Value(clusterName{}).(string)
	c, known := a.apis[name]
	switch {
	case !known:
		web.WriteProblem(w, &web.Problem{
			Name: "unknown-cluster", Title: "No cluster of this name", Status: http.StatusNotFound,
			Detail: fmt.Sprintf("this gateway has no cluster%s: its clusters are at %s", cmp.Or(called(name), " without a name"), a.paths()),
		})
	case r.URL.Path == limitsPath && c.limits() == nil:
		web.WriteProblem(w, fmt.Errorf("%w: no node has sent the limits of the cluster yet: asked %v", limit.ErrUnavailable, a.now.Load().reach(c.name).servers))
	default:
		c.ServeHTTP(w, r)
	}
}

// paths are where the APIs of the clusters are.
func (a *admin) paths() string {
	var all []string
	for _, c := range a.clusters {
		if c.name == "" {
			all = append(all, "/v1/")
			continue
		}
		all = append(all, clustersPath+c.name+"/v1/")
	}
	return strings.Join(all, ", ")
}

// clustersPath begins the paths of the JSON API of a cluster that has a name: what stands behind the name is as it is of the one without.
const clustersPath = "/clusters/"

// clusterName is, in the context of a request, the cluster that it is about.
type clusterName struct{}

// named takes the cluster out of the path of a request. What is left is judged, and answered, as of the cluster without a name.
func named(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path := r.URL.EscapedPath() // a name has nothing to escape
		name, rest, ok := strings.Cut(strings.TrimPrefix(path, clustersPath), "/")
		if !ok || !strings.HasPrefix(path, clustersPath) || !strings.HasPrefix(rest, "v1/") || strings.HasPrefix(rest, "v1/denials/") {
			next.ServeHTTP(w, r)
			return
		}
		r = r.WithContext(context.WithValue(r.Context(), clusterName{}, name))
		http.StripPrefix(clustersPath+name, next).ServeHTTP(w, r)
	})
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

// home answers GET / to programs: the guard lets everybody ask, for the page where browsers sign in.
func home(w http.ResponseWriter, r *http.Request) {
	if !web.CallerOf(r.Context()).Look {
		web.WriteProblem(w, web.NeedsToken(adminWhere))
		return
	}
	index(w, r)
}

func index(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(w, "jeton gateway\n\n"+access.List(access.GatewayHTTP)+"\n/v1/… of a cluster that has a name is at "+clustersPath+"NAME/v1/…\n")
}
