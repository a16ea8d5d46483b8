package gateway

import (
	"net/http"
	"net/netip"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/jeton-dev/jeton/gateway/answer"
	"github.com/jeton-dev/jeton/gateway/identity"
	"github.com/jeton-dev/jeton/gateway/route"
)

// enter starts an HTTP request, if the bounds of concurrent requests allow one more. Nothing else is done for it before that. If
// ok, the slot is to be released at the end; otherwise the request has been answered.
func (g *Gateway) enter(w http.ResponseWriter, r *http.Request, rules *rules) (s slot, ok bool) {
	rules.answer.Share(w.Header(), r.Header.Get("Origin"))
	s, o := g.takeSlot(rules, peerAddr(r.RemoteAddr), r.Header)
	if o != admitted {
		boundBodyRead(w, r)
		rules.other.count(o)
		rules.answer.Refuse(w, &answer.Refusal{Kind: o.kind(), Detail: noSlot(o), Call: callCode(r, o)})
		g.logUnstarted(rules, &identity.Request{Method: r.Method, Host: r.Host, Path: r.URL.Path, Header: r.Header}, o)
		return slot{}, false
	}
	return s, true
}

// takeSlot is enter for any kind of request. peer is the connection's other end. An outcome other than admitted is that of the
// request.
func (g *Gateway) takeSlot(r *rules, peer netip.Addr, h http.Header) (slot, outcome) {
	return g.inFlight.take(r.finder.Origin(peer, h), r.maxInFlight, r.maxInFlightPerClient)
}

// noSlot tells a client why its request was not started.
func noSlot(o outcome) string {
	if o == tooManyConcurrent {
		return "too many concurrent requests from this address: wait for some of them to finish"
	}
	return "too many concurrent requests: retry later"
}

// An admission is what handlers need of a request that passed: to forward it, and to settle what it took.
type admission struct {
	route    *routeRules  // nil for none
	target   route.Target // what was judged, and is forwarded
	knowsKey bool         // the request has a valid API key
	key      identity.Key // that it was counted by; empty for none
	charge   charge
	llm      *llmVisit // of a request to a language model; nil for others
	access   *access   // its line of the access log; nil for none
}

// admit decides about an HTTP request and sets the headers of its answer. If the request passes, it goes on as the request that
// is returned, which has the span in its context, and with what is written to a; otherwise it has been answered.
func (g *Gateway) admit(w http.ResponseWriter, r *http.Request, rules *rules, f feedback, a *admission) (*http.Request, bool) {
	v := g.startVisit(rules)
	defer g.endVisit(v)
	v.feedback = f
	v.readHTTP(r)
	v.body = r.Body
	ctx := v.run(r.Context())
	a.route, a.target, a.knowsKey, a.key = v.route, v.target, v.facts.KnowsKey(), v.key
	v.share(w.Header())
	if v.passes() {
		a.charge, a.llm, a.access = v.charge(), v.llm, v.access
	} else {
		boundBodyRead(w, r)
	}
	if !v.answer(w) {
		return nil, false
	}
	if ctx != r.Context() {
		r = r.WithContext(ctx)
	}
	return r, true
}

// readHTTP reads an HTTP request into the visit.
func (v *visit) readHTTP(r *http.Request) {
	q := &v.request
	q.Method, q.Header, q.Length, q.Peer = r.Method, r.Header, r.ContentLength, peerAddr(r.RemoteAddr)
	for _, host := range r.Header["Host"] { // in HTTP/2, whose own place for it is :authority
		if host != r.Host {
			v.unreadable = "the header Host and :authority contradict each other: send one"
		}
	}
	v.call = answer.IsCall(r)
	v.readTarget(r.Host, r.URL)
}

// peerAddr is the address of a connection's other end; the zero Addr if it has none.
func peerAddr(remote string) netip.Addr {
	a, err := netip.ParseAddrPort(remote)
	if err != nil {
		return netip.Addr{}
	}
	return a.Addr().Unmap()
}

// refuse answers the request q for another reason than a decision; nil is a question of a forward-auth proxy, to which 200 would
// be a yes.
func (r *rules) refuse(w http.ResponseWriter, q *http.Request, at *routeRules, o outcome, detail string) {
	r.refuseWith(w, q, at, o, &answer.Refusal{Detail: detail})
}

// refuseWith is refuse with more than a detail; o sets the kind.
func (r *rules) refuseWith(w http.ResponseWriter, q *http.Request, at *routeRules, o outcome, refusal *answer.Refusal) {
	writer := r.answer
	if at != nil {
		writer, refusal.Route = at.answer, at.name
	}
	r.failures.count(o)
	refusal.Kind, refusal.Call = o.kind(), callCode(q, o)
	writer.Refuse(w, refusal)
}

// callCode is the gRPC status that refuses the request; codes.OK if it is no gRPC call, or nil.
func callCode(q *http.Request, o outcome) codes.Code {
	if q == nil || !answer.IsCall(q) {
		return codes.OK
	}
	return o.code()
}

// Of the body of a refused request, net/http reads a part, so that the connection can be used again.
const (
	maxUnreadBody     = 64 << 10    // for a longer body the connection is closed instead
	unreadBodyTimeout = time.Second // until the rest of the body has come
)

// boundBodyRead bounds how long the server reads the body of a request that was refused.
func boundBodyRead(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength == 0 {
		return
	}
	if r.ProtoMajor == 1 && (r.ContentLength < 0 || r.ContentLength > maxUnreadBody) {
		w.Header().Set("Connection", "close")
	}
	// What has no deadlines is no connection, and blocks nothing.
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(unreadBodyTimeout))
}
