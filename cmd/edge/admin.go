package edge

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/pprof"
	"strings"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/gateway/denial"
	"github.com/jeton-dev/jeton/rpc"
)

// The paths of the admin listener that anybody may ask: those that supervisors ask, who have no tokens.
const (
	livePath    = "/livez"
	readyPath   = "/readyz"
	metricsPath = "/metrics"
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
	*Edge
	pages *http.ServeMux
	api   http.Handler // which passes on to pages what does not begin with /v1/
}

// adminHandler makes the handler of the admin listener.
func (e *Edge) adminHandler() (http.Handler, error) {
	a := &admin{Edge: e, pages: http.NewServeMux()}
	a.pages.HandleFunc("GET /{$}", index)
	a.pages.HandleFunc("GET /debug/{$}", index)
	a.pages.HandleFunc("GET /debug/config", a.config)
	a.pages.HandleFunc("GET /debug/pprof/", pprof.Index)
	a.pages.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
	a.pages.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	a.pages.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	a.pages.HandleFunc("POST /debug/pprof/symbol", pprof.Symbol) // go tool pprof posts what it asks about
	a.pages.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	a.pages.Handle("GET "+metricsPath, promhttp.HandlerFor(e.metrics, promhttp.HandlerOpts{}))
	a.pages.HandleFunc("GET "+livePath, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	a.pages.HandleFunc("GET "+readyPath, a.ready)
	a.pages.HandleFunc("GET /v1/denials/{id}", a.denial)
	api, err := rpc.NewAPI(rpc.APIConfig{
		Limiter: e.client, Limits: e.limits, Other: a.pages, Registerer: e.metrics, Logger: e.cfg.Logger,
	})
	a.api = api
	return a, err
}

// ServeHTTP lets those through who may ask, and routes.
func (a *admin) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	switch path := r.URL.Path; {
	case !a.mayAsk(r):
		w.Header().Set("WWW-Authenticate", `Bearer realm="jeton gateway"`)
		writeProblem(w, problem{
			Name: "needs-token", Title: "The request needs a token of an operator", Status: http.StatusUnauthorized,
			Detail: "send the header Authorization: Bearer with one of the tokens in admin.token_file",
		})
	case strings.HasPrefix(path, "/v1/denials/"):
		a.pages.ServeHTTP(w, r)
	case path == limitsPath && r.Method == http.MethodPut:
		w.Header().Set("Allow", "GET, HEAD")
		writeProblem(w, problem{
			Name: "method-not-allowed", Title: "The path does not take this method", Status: http.StatusMethodNotAllowed,
			Detail: "a gateway does not change limits: use jeton limits apply, or PUT /v1/limits at a node",
		})
	case path == limitsPath && a.limits() == nil:
		rpc.WriteProblem(w, fmt.Errorf("%w: %w", limit.ErrUnavailable, a.Ready()))
	default:
		a.api.ServeHTTP(w, r)
	}
}

// mayAsk says whether whoever sends r may ask that: everybody, where the document has no tokens.
func (a *admin) mayAsk(r *http.Request) bool {
	switch r.URL.Path {
	case livePath, readyPath, metricsPath:
		return true
	}
	tokens := a.now.Load().tokens
	if tokens == nil {
		return true
	}
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	return strings.EqualFold(scheme, "Bearer") && tokens.Has(strings.TrimSpace(token))
}

// ready answers GET /readyz. That a changed document is not in force is said there and keeps nobody away: the old one is as
// good as it was.
func (a *admin) ready(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	if err := a.Ready(); err != nil {
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprintln(w, "not ready:", err)
	} else {
		fmt.Fprintln(w, "ready")
	}
	if err := a.configured(); err != nil {
		fmt.Fprintln(w, "configuration: last reload failed, the document before stays in force:", err)
	}
	if known := a.limits(); known != nil {
		for _, m := range Missing(a.now.Load().doc, known) {
			fmt.Fprintln(w, "limits:", m)
		}
	}
}

// denial answers GET /v1/denials/{id}.
func (a *admin) denial(w http.ResponseWriter, r *http.Request) {
	record, err := a.gateway.Denials().Recall(r.PathValue("id"))
	p := problem{Title: "There is no denial with this id here"}
	switch {
	case err == nil:
		writeJSON(w, http.StatusOK, "application/json", record)
		return
	case errors.Is(err, denial.ErrMalformed):
		p.Name, p.Title, p.Status = "malformed-id", "This is no id of a denial", http.StatusBadRequest
	case errors.Is(err, denial.ErrElsewhere):
		p.Name, p.Status = "denial-elsewhere", http.StatusMisdirectedRequest
	default:
		p.Name, p.Status = "denial-forgotten", http.StatusNotFound
	}
	p.Detail = err.Error()
	writeProblem(w, p)
}

// A problem is an error of the admin listener in the form of RFC 9457, like those of the JSON API.
type problem struct {
	Name   string // for programs; the last part of the type
	Title  string // the same for all problems of the type
	Status int    // of HTTP
	Detail string // what is wrong this time
}

func writeProblem(w http.ResponseWriter, p problem) {
	writeJSON(w, p.Status, "application/problem+json", struct {
		Type   string `json:"type"`
		Title  string `json:"title"`
		Status int    `json:"status"`
		Detail string `json:"detail"`
	}{"urn:jeton:problem:" + p.Name, p.Title, p.Status, p.Detail})
}

func writeJSON(w http.ResponseWriter, status int, contentType string, v any) {
	text, err := json.Marshal(v)
	if err != nil {
		rpc.WriteProblem(w, err)
		return
	}
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(status)
	_, _ = w.Write(append(text, '\n')) // the caller is gone: there is nobody to tell
}

func index(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(w, `jeton gateway

  GET  /v1/denials/{id}                why a request was refused (jeton explain ID)
  GET  /debug/config                   the document in force, without secrets
  GET  /debug/pprof/                   profiles
  GET  /metrics                        for Prometheus
  GET  /livez  /readyz                 whether the gateway lives, and takes requests

The cluster behind it:

  POST /v1/check                       {"key":"user:42","limits":["demo"]}
  POST /v1/return                      {"key":"user:42","receipts":[…]} gives admissions back
  GET  /v1/limits                      the limits in force
  GET  /v1/buckets/{limit}/{key}       a bucket as JSON; DELETE fills it
`)
}
