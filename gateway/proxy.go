package gateway

import (
	"context"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/http/httputil"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jeton-dev/jeton/gateway/answer"
	"github.com/jeton-dev/jeton/gateway/denial"
	"github.com/jeton-dev/jeton/gateway/identity"
	"github.com/jeton-dev/jeton/gateway/route"
)

// Proxy is the reverse proxy: what passes goes on to the upstream of its route. Streams, WebSockets and calls of gRPC go through
// it. What it answers itself is problem+json: 404 for what meets no route, 408, 413, 502 and 504; or, to a call of gRPC, a status
// of gRPC. For calls its server has to speak HTTP/2, over TLS or without.
func (g *Gateway) Proxy() http.Handler { return &proxy{g} }

type proxy struct{ gateway *Gateway }

// ServeHTTP decides about a request and passes it on.
func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rules := p.gateway.rules.Load()
	rules.answer.Share(w.Header(), r.Header.Get("Origin"))
	place, room := p.gateway.enter(rules, peer(r.RemoteAddr), r.Header)
	if room != admitted {
		hurry(w, r)
		rules.shed(w, r, room)
		return
	}
	defer place.leave()
	w, done := watch(w, r, rules.unread)
	defer done()
	if r.ProtoMajor == 1 && (len(r.TransferEncoding) > 0 || r.ProtoMinor == 0) {
		// It may have had a Content-Length as well, which net/http takes away, or in HTTP/1.0 a Transfer-Encoding, which it
		// passes over. What a server in front took for the body's end, or for a part of it, would be the next request here, were
		// there one (RFC 9112, sections 6.1 and 6.3).
		w.Header().Set("Connection", "close")
	}
	if most := rules.longestBody; most >= 0 {
		if r.ContentLength > most {
			hurry(w, r)
			rules.refuse(w, r, nil, tooLarge, "the body of a request is too long for this service")
			return
		}
		if r.ContentLength != 0 {
			r.Body = http.MaxBytesReader(w, r.Body, most)
		}
	}
	if r.Body != nil && r.Body != http.NoBody {
		r.Body = &upload{ReadCloser: r.Body, conn: http.NewResponseController(w), patience: rules.patience, now: time.Now}
	}
	to := passage{gateway: p.gateway, sight: seesUpstream, rules: rules, writer: w, body: r.Body}
	r, ok := p.gateway.admit(w, r, rules, &to)
	switch {
	case !ok:
	case to.route == nil || to.route.upstream == nil:
		hurry(w, r)
		rules.refuse(w, r, to.route, notFound, "there is nothing here")
	default:
		to.route.upstream.serve(w, r, &to)
	}
}

// refuse answers the request q for another reason than a decision; nil is a question of a proxy, to which 200 would be a yes.
func (r *rules) refuse(w http.ResponseWriter, q *http.Request, at *routeRules, o outcome, detail string) {
	r.refuseBy(w, q, at, o, &answer.Refusal{Detail: detail})
}

// refuseBy is refuse with all that the client is told but what o says.
func (r *rules) refuseBy(w http.ResponseWriter, q *http.Request, at *routeRules, o outcome, refusal *answer.Refusal) {
	writer := r.answer
	if at != nil {
		writer, refusal.Route = at.answer, at.name
	}
	r.failures.count(o)
	refusal.Kind, refusal.Call = o.kind(), callCode(q, o)
	writer.Refuse(w, refusal)
}

// A passage is one request on its way to the upstream.
type passage struct {
	gateway  *Gateway // nil but for the proxy
	sight    sight
	rules    *rules
	route    *routeRules  // nil for none
	target   route.Target // what was judged, and is passed on
	knowsKey bool         // it shows an API key that counts
	key      identity.Key // that it was counted by; empty for none
	writer   http.ResponseWriter
	told     http.Header    // what the client is told besides what the upstream says
	body     io.ReadCloser  // of the request; an *upload if there is one
	answer   *http.Response // of the upstream, once there is one
	charge   charge
	sent     atomic.Bool // there was a connection for it, on which something may have been sent
}

type passageKey struct{}

func passageOf(r *http.Request) *passage {
	p, _ := r.Context().Value(passageKey{}).(*passage)
	return p
}

// serve passes a request on.
func (u *upstream) serve(w http.ResponseWriter, r *http.Request, p *passage) {
	p.told = maps.Clone(w.Header())
	if upload, ok := p.body.(*upload); ok {
		upload.rate = u.config.LeastBodyRate(upload.rate)
	}
	ctx, cancel := withDeadline(r)
	defer cancel()
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { p.sent.Store(true) },
	})
	u.proxy.ServeHTTP(w, r.WithContext(context.WithValue(ctx, passageKey{}, p)))
	if p.answer != nil {
		status, _ := answer.Result(p.answer, true)
		p.charge.answered(ctx, status)
	}
}

// rewrite makes the request that the upstream gets: it asks for the target that was judged, at the instance that RoundTrip
// puts in. Hop-by-hop headers, and whatever
// clients say of where they come from, are gone already. Trailers are not passed on: a service may take them for headers,
// which nobody has looked at.
func (u *upstream) rewrite(r *httputil.ProxyRequest) {
	p := passageOf(r.In)
	r.Out.URL, r.Out.Host, r.Out.Trailer = p.target.At(u.instances[0].url), "", nil
	if u.config.KeepHost {
		r.Out.Host = p.target.Authority()
	}
	p.forwarded(r)
	if !strings.EqualFold(r.Out.Header.Get("Upgrade"), "websocket") { // h2c would be a tunnel for any number of requests
		r.Out.Header.Del("Upgrade")
		r.Out.Header.Del("Connection")
	}
	for _, name := range p.rules.secrets {
		r.Out.Header.Del(name)
	}
	p.rules.finder.Strip(r.Out, p.knowsKey)
	inject(r.Out)
}

// Headers by which proxies tell where a request comes from, or what was asked for, besides those whose names begin with
// X-Forwarded-. Some services believe them.
var proxyHeaders = []string{
	"Cf-Connecting-Ip", "Client-Ip", "True-Client-Ip", "X-Client-Ip", "X-Cluster-Client-Ip", "X-Host", "X-Original-Method",
	"X-Original-Uri", "X-Original-Url", "X-Real-Ip", "X-Rewrite-Url",
}

// forwarded says where the request comes from. What a trusted proxy said of it goes on, with the proxy's own address added;
// what anybody else said does not, nor do headers that only trusted proxies may set. With underscores for dashes, such headers
// go on from nobody: services that get headers as variables (CGI and its like) take the two for one.
func (p *passage) forwarded(r *httputil.ProxyRequest) {
	trusted := p.rules.proxies.Contains(peer(r.In.RemoteAddr))
	for name := range r.Out.Header {
		if dashed := withDashes(name); p.rules.ofProxy(dashed) && (!trusted || dashed != name) {
			delete(r.Out.Header, name)
		}
	}
	if trusted {
		for _, name := range []string{"X-Forwarded-For", "Forwarded"} {
			if said, ok := r.In.Header[name]; ok {
				r.Out.Header[name] = said
			}
		}
	}
	r.SetXForwarded()
	r.Out.Header.Set("X-Forwarded-Host", p.target.Authority())
	if trusted {
		for _, name := range []string{"X-Forwarded-Host", "X-Forwarded-Proto"} {
			if said, ok := r.In.Header[name]; ok {
				r.Out.Header[name] = said
			}
		}
	}
}

// ofProxy says whether only trusted proxies may set a header.
func (r *rules) ofProxy(name string) bool {
	return strings.HasPrefix(name, "X-Forwarded-") || name == "Forwarded" || slices.Contains(proxyHeaders, name) ||
		slices.Contains(r.ofProxies, name)
}

// withDashes is the canonical name of a header with dashes for underscores.
func withDashes(name string) string {
	if !strings.Contains(name, "_") {
		return name
	}
	return http.CanonicalHeaderKey(strings.ReplaceAll(name, "_", "-"))
}

// failed answers for an upstream that has not, and settles the charge: what was not sent costs nothing.
func (u *upstream) failed(w http.ResponseWriter, r *http.Request, err error) {
	p := passageOf(r)
	p.tellAgain()
	hurry(w, r)
	if !p.sent.Load() {
		p.charge.unsent(r.Context())
	}
	id := ""
	o, detail := p.failure(r.Context(), err)
	switch o {
	case canceled: // after it was sent: what the upstream makes of it is not known, so it costs
		p.rules.failures.count(canceled)
		panic(http.ErrAbortHandler) // nobody is left to read an answer
	case bodyLate: // the client's doing, as one that is too long: it costs, for the service may have acted on what came before
		w.Header().Set("Connection", "close")
	case upstreamLate:
		id = p.lost(r, u, o, err)
		u.log.WarnContext(r.Context(), "an upstream did not answer in time", "upstream", u.name, "error", err, "denial", id)
	case upstreamFailed:
		id = p.lost(r, u, o, err)
		u.log.WarnContext(r.Context(), "an upstream cannot be reached", "upstream", u.name, "error", err, "denial", id)
	default:
	}
	p.rules.refuseBy(w, r, p.route, o, &answer.Refusal{Detail: detail, ID: id})
}

// lost settles the charge of a request that an upstream has not answered, and keeps what became of it for whoever asks why.
func (p *passage) lost(r *http.Request, u *upstream, o outcome, err error) (id string) {
	p.charge.answered(r.Context(), p.route.answer.Status(o.kind()))
	record := &denial.Record{
		At: p.gateway.now(), Route: p.route.name, Method: brief(r.Method, mostMethod), Path: brief(p.target.Path, mostPath),
		Status: p.route.answer.Status(o.kind()), Reason: o.String(), Upstream: u.name, Why: brief(err.Error(), mostWhy),
	}
	if p.key.Text != "" {
		record.Key = shown(p.key)
	}
	return p.gateway.memory.Remember(record)
}

// failure is what became of a request that the upstream has not answered, and what the client is told of it.
func (p *passage) failure(ctx context.Context, err error) (o outcome, detail string) {
	var slow net.Error
	var tooLong *http.MaxBytesError
	switch {
	case errors.As(err, &tooLong):
		return tooLarge, "the body of a request is too long for this service"
	case p.late():
		return bodyLate, "the body of the request came too slowly"
	case errors.Is(err, context.Canceled), p.broken():
		return canceled, ""
	case late(ctx), errors.Is(err, context.DeadlineExceeded), errors.As(err, &slow) && slow.Timeout():
		return upstreamLate, "the service behind this gateway did not answer in time"
	default:
		return upstreamFailed, "the service behind this gateway cannot be reached"
	}
}

// tellAgain tells the client what it was told before, if an interim answer has taken it away.
func (p *passage) tellAgain() {
	h := p.writer.Header()
	for name, values := range p.told {
		if _, ok := h[name]; !ok {
			h[name] = values
		}
	}
}

// broken says whether the client has not sent what it began to send.
func (p *passage) broken() bool {
	u, ok := p.body.(*upload)
	return ok && u.broken.Load()
}

// late says whether the client has taken longer for its body than it may.
func (p *passage) late() bool {
	u, ok := p.body.(*upload)
	return ok && u.late.Load()
}

// answered takes in an upstream's answer: it settles the charge by its status, where that is known, and takes out of it what says about its limits
// what the gateway says about its own, in the forms that have room for one only.
func answered(r *http.Response) error {
	p := passageOf(r.Request)
	if status, known := answer.Result(r, false); known {
		p.charge.answered(r.Request.Context(), status)
	}
	p.answer = r
	p.tellAgain()
	told := p.told
	for _, name := range []string{
		"Ratelimit-Limit", "Ratelimit-Remaining", "Ratelimit-Reset", "X-Ratelimit-Limit", "X-Ratelimit-Remaining", "X-Ratelimit-Reset",
	} {
		if _, ok := told[name]; ok {
			delete(r.Header, name)
		}
	}
	unshare(p.route.answer, p.writer.Header())
	return nil
}

// newProxy is what passes requests on to an upstream.
func (u *upstream) newProxy() *httputil.ReverseProxy {
	return &httputil.ReverseProxy{
		Rewrite: u.rewrite, ModifyResponse: answered, Transport: u, ErrorHandler: u.failed, BufferPool: &buffers{},
		ErrorLog: stdLog(u.log),
	}
}
