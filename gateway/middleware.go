package gateway

import (
	"context"
	"net/http"
	"net/netip"
	"time"

	"github.com/jeton-dev/jeton/gateway/answer"
)

// The headers of the gateway's own.
const (
	// denialHeader tells a proxy that asks with deny=403 the id of a refusal. It is not for clients.
	denialHeader = "X-Jeton-Denial"
	// decisionHeader tells whoever debugs who decided. It is sent where the document says so.
	decisionHeader = "X-Jeton-Decision"
)

// Middleware puts a gateway in front of a handler: what does not pass is answered by the gateway, and what passes has the
// limit headers set on its answer before the handler is called. Where a route says refund or charge_when, the status that the
// handler writes counts, 200 if it writes none, and 500 if it panics before it has written: the panic itself goes on.
func Middleware(g *Gateway) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler { return &middleware{g, next} }
}

type middleware struct {
	gateway *Gateway
	next    http.Handler
}

// ServeHTTP decides about a request, and hands it on if it passes.
func (m *middleware) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rules := m.gateway.rules.Load()
	rules.answer.Share(w.Header(), r.Header.Get("Origin"))
	place, room := m.gateway.enter(rules, peer(r.RemoteAddr), r.Header)
	if room != admitted {
		hurry(w, r)
		rules.shed(w, r, room)
		return
	}
	defer place.leave()
	to := passage{sight: seesAnswer}
	r, ok := m.gateway.admit(w, r, rules, &to)
	if !ok {
		return
	}
	writer := rules.answer
	if to.route != nil {
		writer = to.route.answer
	}
	unshare(writer, w.Header())
	if to.charge.taken == nil { // nothing to give back, whatever is answered
		m.next.ServeHTTP(w, r)
		return
	}
	m.settle(w, r, to.charge)
}

// settle calls the handler, and settles the charge of the request by what it answers.
func (m *middleware) settle(w http.ResponseWriter, r *http.Request, c charge) {
	h := &handled{ResponseWriter: w, status: func(status int) { c.answered(r.Context(), status) }}
	status := http.StatusInternalServerError // if it panics
	defer func() { h.tell(status) }()
	m.next.ServeHTTP(h, r)
	status = http.StatusOK
}

// shed answers a request for which there is no room. Nothing else is done for it.
func (r *rules) shed(w http.ResponseWriter, q *http.Request, o outcome) {
	r.other.count(o)
	r.answer.Refuse(w, &answer.Refusal{Kind: o.kind(), Detail: noRoom(o), Call: callCode(q, o)})
}

// noRoom is what clients are told when there is no room for their request.
func noRoom(o outcome) string {
	if o == crowded {
		return "too many requests of this address are under way here: wait for the answers to some of them"
	}
	return "too many requests are under way here: try again in a moment"
}

// admit decides about an HTTP request and sets the headers of its answer. If it passes, it is to go on as the request that
// is returned, which has the span in its context; otherwise it has been answered. What is needed to pass it on, and to settle
// what it has taken, goes to p, which says what the face sees of it.
func (g *Gateway) admit(w http.ResponseWriter, r *http.Request, rules *rules, p *passage) (*http.Request, bool) {
	v := g.visits.take(g, rules)
	defer g.visits.put(v)
	v.sight = p.sight
	v.meet(r)
	ctx := v.run(r.Context(), r.Header)
	p.route, p.target, p.knowsKey, p.key = v.route, v.target, v.facts.KnowsKey(), v.key
	v.share(w.Header())
	if v.passes() {
		p.charge = v.charge()
	} else {
		hurry(w, r)
	}
	if !v.answer(w) {
		return nil, false
	}
	if ctx != r.Context() {
		r = r.WithContext(ctx)
	}
	return r, true
}

// Of the body of a request that is refused, net/http reads a part, so as to use the connection again.
const (
	shortBody  = 64 << 10    // one that is longer is not worth that
	bodyWithin = time.Second // until the rest of the body has come
)

// hurry sees to it that a client which is refused does not hold anything up with the body of its request.
func hurry(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength == 0 {
		return
	}
	if r.ProtoMajor == 1 && (r.ContentLength < 0 || r.ContentLength > shortBody) {
		w.Header().Set("Connection", "close")
	}
	// What cannot have a deadline is no connection, and holds nothing up.
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyWithin))
}

// meet takes in an HTTP request.
func (v *visit) meet(r *http.Request) {
	q := &v.request
	q.Method, q.Header, q.Length, q.Peer = r.Method, r.Header, r.ContentLength, peer(r.RemoteAddr)
	for _, host := range r.Header["Host"] { // of HTTP/2, which has it in :authority
		if host != r.Host {
			v.unread = "the header Host and :authority contradict each other: send one"
		}
	}
	v.call = answer.IsCall(r)
	v.read(r.Host, r.URL)
}

// answer puts the headers on the answer of a request, and refuses it if it does not pass. It says whether it does.
func (v *visit) answer(w http.ResponseWriter) bool {
	if v.passes() {
		v.tell(w.Header())
		return true
	}
	v.explain(w.Header())
	if v.outcome == preflight {
		v.writer().Preflight(w, v.request.Header)
		return false
	}
	v.writer().Refuse(w, &v.refusal)
	return false
}

// tell sets the headers of the answer to a request that passes.
func (v *visit) tell(h http.Header) {
	if len(v.quotas) > 0 {
		v.writer().Tell(h, v.quotas)
	}
	v.explain(h)
}

// explain says who decided, where the document wants that said.
func (v *visit) explain(h http.Header) {
	w := v.writer()
	if !w.Explains() {
		return
	}
	by := v.outcome.String()
	switch {
	case v.failure != nil:
		by += "; by=" + string(v.source) + "; because=" + v.failure.Error()
	case v.source != "":
		by += "; by=" + string(v.source) + "; node=" + v.node
	}
	w.Explain(h, by)
}

// peer is the address of a connection's other end; the zero one if it has none.
func peer(remote string) netip.Addr {
	a, err := netip.ParseAddrPort(remote)
	if err != nil {
		return netip.Addr{}
	}
	return a.Addr().Unmap()
}

// run decides about the request, and makes known what became of it: in the metrics, the log, a span and the memory. The
// context is that in which the request goes on.
func (v *visit) run(ctx context.Context, from http.Header) context.Context {
	start := v.gateway.now()
	ctx, span := v.gateway.startSpan(ctx, from)
	v.decide(ctx)
	v.finish(ctx, span, start)
	return ctx
}
