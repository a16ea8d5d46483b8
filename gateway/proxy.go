package gateway

import (
	"context"
	"maps"
	"net/http"
	"net/http/httptrace"
	"net/http/httputil"
	"time"

	"github.com/jeton-dev/jeton/gateway/answer"
)

// Proxy is the reverse proxy: a request that passes is forwarded to the upstream of its route. Streams, WebSockets and gRPC calls
// are forwarded too. The proxy's own answers are problem+json: 404 where no route matches, 408, 413, 502 and 504; or, to a gRPC
// call, a gRPC status. gRPC needs a server that speaks HTTP/2, with TLS or without.
func (g *Gateway) Proxy() http.Handler {
	return &proxy{g, &httputil.ReverseProxy{
		Rewrite: rewrite, Transport: toUpstream{}, ModifyResponse: answered, ErrorHandler: unanswered, BufferPool: &buffers{}, ErrorLog: stdLog(g.log),
	}}
}

type proxy struct {
	gateway *Gateway
	reverse *httputil.ReverseProxy
}

// ServeHTTP decides about a request and forwards it.
func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rules := p.gateway.rules.Load()
	slot, ok := p.gateway.enter(w, r, rules)
	if !ok {
		return
	}
	defer slot.release()
	w, done := withWriteTimeout(w, r, rules.writeTimeout)
	defer done()
	boundBody(w, r, rules)
	if b, ok := r.Body.(*requestBody); ok {
		defer func() { b.room.release() }()
	}
	x := roundTrip{gateway: p.gateway, rules: rules, writer: w, body: r.Body}
	r, ok = p.gateway.admit(w, r, rules, deliveryFeedback, &x.admission)
	switch {
	case !ok:
	case x.route == nil || x.route.upstream == nil:
		boundBodyRead(w, r)
		rules.refuse(w, r, x.route, notFound, "no route matches this request")
		x.access.failed(notFound, rules.answer.Status(notFound.kind()))
	default:
		p.forward(r, &x)
	}
}

// boundBody bounds the size and the time of a request's body.
func boundBody(w http.ResponseWriter, r *http.Request, rules *rules) {
	if r.ProtoMajor == 1 && (len(r.TransferEncoding) > 0 || r.ProtoMinor == 0) {
		// The request may have had a Content-Length as well, which net/http removes, or, in HTTP/1.0, a Transfer-Encoding, which
		// it ignores. A server in front may have seen the end of the body elsewhere. Then the rest of it would be read as the next
		// request here: so there is none (RFC 9112, sections 6.1 and 6.3).
		w.Header().Set("Connection", "close")
	}
	if maxBody := rules.maxBody; maxBody >= 0 && r.ContentLength != 0 {
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	}
	if r.Body != nil && r.Body != http.NoBody {
		r.Body = &requestBody{ReadCloser: r.Body, conn: http.NewResponseController(w), bodyPace: rules.bodyPace, now: time.Now}
	}
}

// forward sends a request to the upstream of its route, and the answer to the client:
//
//	ReverseProxy ─ rewrite ─ toUpstream ─┬─ answered
//	                                     └─ unanswered
func (p *proxy) forward(r *http.Request, x *roundTrip) {
	x.access.forwards()
	defer func() { x.access.end(x.status()) }()
	x.headers = maps.Clone(x.writer.Header())
	if b, ok := x.body.(*requestBody); ok {
		b.rate = x.route.upstream.config.MinBodyRate(b.rate)
	}
	if x.llm != nil {
		r = x.llm.forwarded(r)
		defer x.llm.exchange.Unanswered(http.StatusBadGateway, true) // does nothing, unless a panic comes between
	}
	ctx, cancel := withDeadline(r)
	defer cancel()
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { x.sent.Store(true) },
	})
	p.reverse.ServeHTTP(x.writer, r.WithContext(context.WithValue(ctx, roundTripKey{}, x)))
	if x.answer != nil {
		status, _ := answer.Result(x.answer, true)
		x.charge.answered(ctx, status)
	}
}

// toUpstream sends a request to the upstream of its route.
type toUpstream struct{}

// RoundTrip implements [http.RoundTripper].
func (toUpstream) RoundTrip(r *http.Request) (*http.Response, error) {
	return roundTripOf(r).route.upstream.roundTrip(r)
}

// answered settles the charge by the status of an upstream's answer, if it is known yet, and removes the upstream's limit headers
// where the gateway sends its own, in the forms that have room for one limit only.
func answered(r *http.Response) error {
	x := roundTripOf(r.Request)
	if status, known := answer.Result(r, false); known {
		x.charge.answered(r.Request.Context(), status)
	}
	x.answer = r
	x.access.answered()
	x.restoreHeaders()
	for _, name := range []string{
		"Ratelimit-Limit", "Ratelimit-Remaining", "Ratelimit-Reset", "X-Ratelimit-Limit", "X-Ratelimit-Remaining", "X-Ratelimit-Reset",
	} {
		if _, ok := x.headers[name]; ok {
			delete(r.Header, name)
		}
	}
	if x.llm != nil {
		x.llm.answered(r, x.writer.Header(), x.route.answer.Dialect())
	}
	unshare(x.route.answer, x.writer.Header())
	return nil
}

// unanswered answers for an upstream that has not, and settles the charge: a request that was not sent costs nothing, unless its client
// is gone.
func unanswered(w http.ResponseWriter, r *http.Request, err error) {
	x := roundTripOf(r)
	x.restoreHeaders()
	boundBodyRead(w, r)
	if !x.sent.Load() {
		x.charge.unsent(r.Context())
	}
	id := ""
	o, detail := x.failure(r.Context(), err)
	if x.llm != nil {
		x.llm.unanswered(o, x.route.answer.Status(o.kind()), x.sent.Load())
	}
	x.access.failed(o, x.route.answer.Status(o.kind()))
	switch o {
	case canceled: // after it was sent, so it costs: the upstream may have acted on it
		x.rules.failures.count(canceled)
		panic(http.ErrAbortHandler) // no client is left to read an answer
	case bodyTimeout: // it costs too: the upstream may have acted on the first part
		w.Header().Set("Connection", "close")
	case upstreamTimeout:
		id = x.recordFailure(r, o, err)
		x.gateway.log.WarnContext(r.Context(), "an upstream did not answer in time", "upstream", x.route.upstream.name, "error", err, "denial", id)
	case upstreamFailed:
		id = x.recordFailure(r, o, err)
		x.gateway.log.WarnContext(r.Context(), "an upstream cannot be reached", "upstream", x.route.upstream.name, "error", err, "denial", id)
	default:
	}
	x.rules.refuseWith(w, r, x.route, o, &answer.Refusal{Detail: detail, ID: id})
}
