package web

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/internal/bearer"
	"github.com/jeton-dev/jeton/internal/metrics"
	"github.com/jeton-dev/jeton/rpc/access"
)

// GuardConfig says who may ask what at an HTTP port.
type GuardConfig struct {
	// Door is which one it is: access.NodeHTTP or access.GatewayHTTP.
	Door access.Door
	// Beyond says that other machines can reach the port.
	Beyond bool
	// Tokens says of a token whether it is an operator's, and whether there are tokens at all. Required. [Tokens.Counts] is one.
	Tokens func(token string) (counts, exist bool)
	// Name is what the audit log calls the owner of a token that counts; nil: all are called "a token".
	Name func(token string) string
	// Cookies are those of the console, which stand for a token in requests of its own pages; nil: none are taken.
	Cookies *Cookies
	// Where says where an operator finds a token, as what follows "send the header Authorization: Bearer with". Required.
	Where string
	// Registerer gets the metrics; nil leaves them unregistered.
	Registerer prometheus.Registerer
}

// A guard wraps the handler of an HTTP port. It lets through the requests that the table of rpc/access allows, and refuses the rest:
//
//	not in the table ──▶ 404, 405 (401 for a client that may not look)
//	a web page's request, or on loopback a request for another host ──▶ 403, but for probes
//	a request with a cookie of the console that is not surely of its own pages ──▶ 403
//	a request that needs an operator, without a token ──▶ 401
//
// Browsers attach no token to a request that a page makes up, so a request with a token passes the other checks. They do attach cookies: one
// stands for its token only where [ownOrigin] says so.
type guard struct {
	GuardConfig
	next    http.Handler
	pages   *http.CrossOriginProtection
	metrics guardMetrics
}

// NewGuard makes the guard of a port whose handler is next. The error says why the metrics cannot be registered.
func NewGuard(next http.Handler, cfg GuardConfig) (http.Handler, error) {
	g := &guard{GuardConfig: cfg, next: next, pages: http.NewCrossOriginProtection(), metrics: newGuardMetrics()}
	return g, metrics.Register(cfg.Registerer, g.metrics.collectors()...)
}

// ServeHTTP answers who may not ask, and hands on the rest.
func (g *guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	entry, allow, known := access.Route(g.Door, r.Method, r.URL.EscapedPath())
	if !known {
		entry.Need = access.Look // so that strangers do not learn what there is
	}
	err := g.admit(r, entry.Need)
	switch {
	case err != nil:
	case len(allow) > 0:
		err = wrongMethod(r.Method, allow)
	case !known:
		err = notFound(g.Door)
	}
	if err != nil {
		WriteProblem(w, err)
		return
	}
	if entry.Need >= access.Change {
		r = r.WithContext(access.WithIdentity(r.Context(), g.identity(r)))
	}
	if path := r.URL.Path; path == "/" || strings.HasPrefix(path, consolePrefix) {
		r = r.WithContext(withCaller(r.Context(), g.caller(r, entry.Need)))
	}
	g.next.ServeHTTP(w, r)
}

// admit says why a request is refused, or nil if it is not.
func (g *guard) admit(r *http.Request, need access.Need) error {
	token := g.token(r)
	counts, exist := g.Tokens(token)
	if need > access.Reach && !counts {
		if err := g.foreign(r); err != nil {
			g.metrics.foreign.Inc()
			return err
		}
	}
	if need.Admits(g.Door, access.Port{Tokens: exist, Beyond: g.Beyond}, access.Shown{Token: counts}) {
		return nil
	}
	g.metrics.unauthorized.Inc()
	p := NeedsToken(g.Where)
	switch {
	case g.byCookie(r):
		p.Detail = "the sign-in to the console counts no more: sign in again, or " + p.Detail
	case token != "":
		p.Detail = "the token is unknown: " + p.Detail
	}
	return p
}

// NeedsToken is the problem of a request without a token that counts. Where says where an operator finds one.
func NeedsToken(where string) *Problem {
	return &Problem{
		Name: "needs-token", Title: "The request needs a token", Status: http.StatusUnauthorized,
		Detail: "send the header Authorization: Bearer with " + where, Challenge: `Bearer realm="jeton"`,
	}
}

// token is the one that a request shows: in its header, or, where it has no such header, in the cookie of a page of this port.
func (g *guard) token(r *http.Request) string {
	if !g.byCookie(r) {
		token, _ := bearer.Cut(r.Header.Get("Authorization"))
		return token
	}
	if g.foreign(r) != nil {
		return ""
	}
	token, _ := g.Cookies.token(r)
	return token
}

// byCookie says that what a request shows, if anything, is a cookie of the console.
func (g *guard) byCookie(r *http.Request) bool {
	if g.Cookies == nil || r.Header.Get("Authorization") != "" {
		return false
	}
	_, shown := g.Cookies.token(r)
	return shown
}

// caller is what the pages of the console may know of who sends a request for something with a need.
func (g *guard) caller(r *http.Request, need access.Need) Caller {
	shown, port := g.shown(r)
	c := Caller{
		Look: access.Look.Admits(g.Door, port, shown), Change: access.Change.Admits(g.Door, port, shown), Tokens: port.Tokens,
		still: func() bool {
			shown, port := g.shown(r)
			return need.Admits(g.Door, port, shown)
		},
	}
	if shown.Token {
		c.Who = g.identity(r).Who
	}
	return c
}

// shown is what a request shows, at the port as it is now.
func (g *guard) shown(r *http.Request) (access.Shown, access.Port) {
	counts, exist := g.Tokens(g.token(r))
	return access.Shown{Token: counts}, access.Port{Tokens: exist, Beyond: g.Beyond}
}

// identity is who sends a request, for the audit log.
func (g *guard) identity(r *http.Request) access.Identity {
	i := access.Identity{Who: access.NoCredentials, From: r.RemoteAddr, None: true}
	token := g.token(r)
	if counts, _ := g.Tokens(token); counts {
		i.Who, i.None = "a token", false
		if g.Name != nil {
			i.Who = g.Name(token)
		}
	}
	if r.TLS != nil && len(r.TLS.PeerCertificates) > 0 {
		who := "certificate " + r.TLS.PeerCertificates[0].Subject.String()
		if !i.None {
			who = i.Who + ", " + who
		}
		i.Who, i.None = who, false
	}
	return i
}

// foreign is the problem of a request that a web page may have made a browser send: it says that it comes from a page
// elsewhere, or it asks a loopback port for a host that is not this machine, whose DNS record an attacker may have pointed here.
func (g *guard) foreign(r *http.Request) error {
	if !g.Beyond && !isLocal(r.Host) {
		return &Problem{
			Name: "foreign-host", Title: "The request is for another host", Status: http.StatusForbidden,
			Detail: fmt.Sprintf("the header Host is %s, but this port serves this machine only: use localhost or 127.0.0.1, or send a token", limit.Quote(r.Host)),
		}
	}
	if g.byCookie(r) && !ownOrigin(r) {
		return notOurs(r)
	}
	judged := r.WithContext(r.Context())
	judged.Method = http.MethodPost // for this package a GET does no harm; but a profile costs, though the page cannot read it
	if g.pages.Check(judged) != nil {
		return &Problem{
			Name: "foreign-origin", Title: "The request comes from a web page", Status: http.StatusForbidden,
			Detail: fmt.Sprintf("the headers Origin and Sec-Fetch-Site are %s and %s, and requests from web pages are refused: use a program, type the address into the browser, or send a token",
				limit.Quote(r.Header.Get("Origin")), limit.Quote(r.Header.Get("Sec-Fetch-Site"))),
		}
	}
	return nil
}

// isLocal says whether the value of a Host header means this machine and nothing that a name server says. HTTP/1.0, which no
// browser speaks, has none.
func isLocal(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	if a, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		return a.Unmap().IsLoopback()
	}
	return host == "" || strings.EqualFold(strings.TrimSuffix(host, "."), "localhost")
}
