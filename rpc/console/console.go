// Package console shows people in a browser what a cluster does, and lets operators change it there: the page, signing in to it, and
// the calls that only the page makes. What else it shows and changes are calls of the JSON API.
//
//	GET  /                   the page, or where to sign in; to programs what Config.Other answers
//	GET  /console/{file}     its scripts and styles
//	GET  /console/me         who is signed in, and what that allows
//	GET  /console/events     a view of the cluster each second, as server-sent events
//	GET  /console/keys       keys that are awake
//	POST /console/try        a check, and its answer in the forms in which clients get it
//	POST /console/sign-in    with the form field token; /console/sign-out
//
// Who may ask is for the guard of the port to say: see [web.NewGuard]. Start with [New].
package console

import (
	"errors"
	"log/slog"
	"net/http"
	"strings"

	"github.com/jeton-dev/jeton/internal/metrics"
	"github.com/jeton-dev/jeton/rpc/activity"
	"github.com/jeton-dev/jeton/rpc/web"
)

// prefix begins the paths of the console.
const prefix = "/console/"

// A Console is a handler for the root of a server.
type Console struct {
	Config
	files     map[string]file
	signIns   *attempts
	collector *collector
	metrics   consoleMetrics
}

// New makes a Console, which is to be stopped. The error says what is missing in cfg, or why the metrics cannot be registered.
func New(cfg Config) (*Console, error) {
	if cfg.Source == nil || cfg.Answer == nil || cfg.Tokens == nil || cfg.Cookies == nil || cfg.Other == nil {
		return nil, errors.New("console: Source, Answer, Tokens, Cookies and Other are required")
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Streams == 0 {
		cfg.Streams = MostStreams
	}
	if cfg.Self.Version == "" {
		cfg.Self.Version = activity.Version()
	}
	files, err := readFiles()
	if err != nil {
		return nil, err
	}
	c := &Console{Config: cfg, files: files, signIns: newAttempts(), metrics: newMetrics()}
	c.collector = newCollector(cfg, c.metrics)
	return c, metrics.Register(cfg.Registerer, c.metrics.collectors()...)
}

// Stop ends all streams, and returns when nothing of the console runs. It may be called again.
func (c *Console) Stop() { c.collector.stop() }

// ServeHTTP routes by the path as it was sent, as the guard has judged it.
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := r.URL.EscapedPath()
	name, ours := strings.CutPrefix(path, prefix)
	switch {
	case path == "/":
		w.Header().Set("Vary", "Accept, Authorization, Cookie")
		if !prefersHTML(r.Header.Values("Accept")) {
			c.Other.ServeHTTP(w, r)
			return
		}
		secure(w.Header())
		c.home(w, r)
	case ours:
		secure(w.Header())
		c.serve(w, r, name)
	default:
		c.Other.ServeHTTP(w, r)
	}
}

// serve answers what is below /console/.
func (c *Console) serve(w http.ResponseWriter, r *http.Request, name string) {
	answers := map[string]http.HandlerFunc{
		"GET me": c.me, "GET events": c.events, "GET keys": c.keys, "POST try": c.try, "POST sign-in": c.signIn, "POST sign-out": c.signOut,
	}
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	if answer, ok := answers[method+" "+name]; ok {
		answer(w, r)
		return
	}
	f, ok := c.files[name]
	switch {
	case !ok || name == index || name == signIn:
		web.WriteProblem(w, &web.Problem{
			Name: "not-found", Title: "No route matches this path", Status: http.StatusNotFound, Detail: "the console has no such file: it is at /",
		})
	case method != http.MethodGet:
		web.WriteProblem(w, web.MethodNotAllowed("use GET", http.MethodGet, http.MethodHead))
	default:
		f.serve(w, r)
	}
}

// home answers GET / to a browser: with the page, or with where to sign in for who may not look.
func (c *Console) home(w http.ResponseWriter, r *http.Request) {
	if web.CallerOf(r.Context()).Look {
		c.files[index].serve(w, r)
		return
	}
	c.files[signIn].serve(w, r)
}

// me answers GET /console/me.
func (c *Console) me(w http.ResponseWriter, r *http.Request) {
	who := web.CallerOf(r.Context())
	web.WriteJSON(w, http.StatusOK, struct {
		Self
		Look   bool   `json:"may_look"`
		Change bool   `json:"may_change"`
		Tokens bool   `json:"tokens"`
		Who    string `json:"who"`
	}{c.Self, who.Look, who.Change, who.Tokens, who.Who})
}

// policy is what the pages may do: nothing but with this very port.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// secure sets the headers that every answer of the console has. The referrer is told to this port, and no other: a browser that tells it
// to none says in a form that it comes from nowhere, and signing in by it would be refused.
func secure(h http.Header) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}
