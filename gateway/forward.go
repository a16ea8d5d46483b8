package gateway

import (
	"cmp"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// ForwardAuth answers another proxy that asks whether a request may pass:
//
//	/auth           asks for a decision: 200 lets the request pass, any other answer is for the client
//	/auth?deny=403  answers 403 instead of any other status, for a proxy that can forward nothing else (nginx), with the id of
//	                the denial in X-Jeton-Denial
//	/auth/...       asks like /auth, for a proxy that puts /auth before the path and leaves the method, the Host and the query as they are
//	                (Envoy's ext_authz over HTTP, the ExternalAuth filter of the Gateway API)
//	/denied/{id}    is the whole answer of that denial
//
// At /auth the proxy describes the request in X-Forwarded-Method, X-Forwarded-Host and X-Forwarded-Uri, or in X-Original-Method and
// X-Original-URI or X-Original-URL. It adds the address of the client that connected to it at the end of X-Forwarded-For. A
// client may have sent such headers too: where they contradict each other, or the request line of /auth/..., the proxy's cannot be
// told from the client's, and the request is refused (400). All other headers are the client's. Only proxies in forward_auth.trusted
// may ask.
func (g *Gateway) ForwardAuth() http.Handler { return &forwardAuth{g} }

// Authorize answers as /auth of [Gateway.ForwardAuth] does, whoever asks: the caller has seen to it who may, and describes the request.
func (g *Gateway) Authorize() http.Handler {
	f := &forwardAuth{g}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { f.ask(w, r, g.rules.Load()) })
}

type forwardAuth struct{ gateway *Gateway }

// ServeHTTP answers a proxy.
func (f *forwardAuth) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rules := f.gateway.rules.Load()
	switch id, replay := strings.CutPrefix(r.URL.Path, "/denied/"); {
	case rules.authProxies == nil || !rules.authProxies.Contains(peerAddr(r.RemoteAddr)):
		rules.refuse(w, nil, nil, forbidden, "only the proxies in forward_auth.trusted may ask here")
	case replay:
		f.replay(w, rules, id)
	case r.URL.Path == "/auth", describes(r):
		f.ask(w, r, rules)
	default:
		rules.refuse(w, nil, nil, notFound, "ask /auth, /auth/ before the path of a request, or /denied/ with the id of a denial")
	}
}

// ask answers whether a request may pass.
func (f *forwardAuth) ask(w http.ResponseWriter, r *http.Request, rules *rules) {
	g := f.gateway
	v := g.startVisit(rules)
	defer g.endVisit(v)
	complete := v.readForwarded(r)
	switch slot, o := g.takeSlot(rules, v.request.Peer, r.Header); {
	case o != admitted:
		v.refuse(o, noSlot(o))
		rules.other.count(o)
		g.logUnstarted(rules, &v.request, o)
	case !complete:
		defer slot.release()
		v.refuse(badRequest, "the headers of the proxy are missing or contradict each other: send X-Forwarded-For and X-Forwarded-Uri, or X-Original-URI")
		rules.other.count(badRequest)
		g.logUnstarted(rules, &v.request, badRequest)
	default:
		defer slot.release()
		v.run(r.Context())
	}
	switch {
	case v.passes():
		v.setHeaders(w.Header())
		w.WriteHeader(http.StatusOK)
		v.access.end(http.StatusOK)
	case r.URL.RawQuery == "deny=403" && r.URL.Path == "/auth":
		if v.refusal.ID == "" {
			v.remember(g.now())
		}
		w.Header().Set(denialHeader, v.refusal.ID)
		w.Header().Set("Cache-Control", "no-store")
		v.setHeaders(w.Header())
		w.WriteHeader(http.StatusForbidden)
	default: // the proxy passes it on to the client: the id is in its body, unless the document has another body
		v.writer().Share(w.Header(), r.Header.Get("Origin"))
		v.answer(w)
	}
}

// replay answers with the refusal of an earlier request.
func (f *forwardAuth) replay(w http.ResponseWriter, rules *rules, id string) {
	record, err := f.gateway.refusal(id)
	if err != nil {
		rules.refuse(w, nil, nil, notFound, err.Error())
		return
	}
	again, ok := record.Attached.(*replay)
	if !ok {
		rules.refuse(w, nil, nil, notFound, "no answer is kept for this denial")
		return
	}
	again.writer.Share(w.Header(), again.origin)
	again.writer.Refuse(w, &again.refusal)
}

// readForwarded reads the request that a proxy asks about into the visit. It returns false if the headers of the proxy are missing
// or contradict each other.
func (v *visit) readForwarded(r *http.Request) bool {
	method, agree := agreed(r.Header, "X-Forwarded-Method", "X-Original-Method")
	if !agree {
		return false
	}
	host, agree := agreed(r.Header, "X-Forwarded-Host")
	if !agree {
		return false
	}
	asked, agree := askedFor(r)
	if !agree {
		return false
	}
	if describes(r) && (cmp.Or(method, r.Method) != r.Method || cmp.Or(host, r.Host) != r.Host || cmp.Or(asked.Host, r.Host) != r.Host) {
		return false
	}
	q := &v.request
	if q.Peer, r.Header["X-Forwarded-For"] = lastHop(r.Header["X-Forwarded-For"]); !q.Peer.IsValid() {
		return false
	}
	q.Method, q.Header, q.Length, q.FromProxy = cmp.Or(method, r.Method), r.Header, -1, true
	v.readTarget(cmp.Or(host, asked.Host, r.Host), asked)
	return true
}

// agreed is the value on which the headers with these canonical names agree; empty if there are none.
func agreed(h http.Header, names ...string) (value string, ok bool) {
	for _, name := range names {
		for _, said := range h[name] {
			if value != "" && said != value {
				return "", false
			}
			value = said
		}
	}
	return value, true
}

// describes says whether the request line of a question is that of the request, with /auth before its path.
func describes(r *http.Request) bool { return strings.HasPrefix(r.URL.EscapedPath(), "/auth/") }

// askedFor is the URL that the proxy was asked for, on which all headers with one and the request line agree. Of several, an absolute
// one is returned: it has the host as well.
func askedFor(r *http.Request) (asked *url.URL, ok bool) {
	var all []string
	if describes(r) {
		all = append(all, strings.TrimPrefix(r.URL.RequestURI(), "/auth"))
	}
	for _, name := range []string{"X-Forwarded-Uri", "X-Original-Uri", "X-Original-Url"} {
		all = append(all, r.Header[name]...)
	}
	for _, said := range all {
		u, err := url.ParseRequestURI(said)
		if err != nil {
			return nil, false
		}
		switch {
		case asked == nil:
			asked = u
		case asked.RequestURI() != u.RequestURI(), asked.Host != "" && u.Host != "" && asked.Host != u.Host:
			return nil, false
		case asked.Host == "":
			asked = u
		}
	}
	return asked, asked != nil
}

// lastHop is the last address of X-Forwarded-For, which the asking proxy wrote: that of the client which connected to it. before is
// the rest of the header, which that client sent.
func lastHop(lines []string) (last netip.Addr, before []string) {
	if len(lines) == 0 {
		return netip.Addr{}, nil
	}
	line := lines[len(lines)-1]
	rest, text := "", line
	if i := strings.LastIndexByte(line, ','); i >= 0 {
		rest, text = line[:i], line[i+1:]
	}
	before = append([]string(nil), lines[:len(lines)-1]...)
	if rest != "" {
		before = append(before, rest)
	}
	text = strings.TrimSpace(text)
	if a, err := netip.ParseAddr(strings.Trim(text, "[]")); err == nil {
		return a.Unmap().WithZone(""), before
	}
	return peerAddr(text), before
}
