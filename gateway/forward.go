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
//	/auth           asks for a decision: 200 lets it pass, anything else is the answer to the client
//	/auth?deny=403  says 403 instead of anything else, for a proxy that cannot carry more (nginx), with the refusal's id
//	                in X-Jeton-Denial
//	/denied/{id}    is the answer to the client of that refusal, in full
//
// The proxy says what it was asked in X-Forwarded-Method, X-Forwarded-Host and X-Forwarded-Uri, or in X-Original-Method and
// X-Original-URI or X-Original-URL, and by whom in X-Forwarded-For, to whose end it adds the address of whoever connected to
// it. A client may have sent such headers too: where they contradict each other, nobody knows which is the proxy's, and the
// request is refused (400). All other headers are those of the client. Only proxies of forward_auth.trusted may ask.
func (g *Gateway) ForwardAuth() http.Handler { return &forwardAuth{g} }

type forwardAuth struct{ gateway *Gateway }

// ServeHTTP answers a proxy.
func (f *forwardAuth) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rules := f.gateway.rules.Load()
	switch id, replay := strings.CutPrefix(r.URL.Path, "/denied/"); {
	case rules.askers == nil || !rules.askers.Contains(peer(r.RemoteAddr)):
		rules.refuse(w, nil, nil, forbidden, "only the proxies of forward_auth.trusted may ask here")
	case replay:
		f.replay(w, rules, id)
	case r.URL.Path == "/auth":
		f.ask(w, r, rules)
	default:
		rules.refuse(w, nil, nil, notFound, "ask /auth, or /denied/ with the id of a refusal")
	}
}

// ask answers whether a request may pass.
func (f *forwardAuth) ask(w http.ResponseWriter, r *http.Request, rules *rules) {
	g := f.gateway
	v := g.visits.take(g, rules)
	defer g.visits.put(v)
	met := v.meetForwarded(r)
	switch place, room := g.enter(rules, v.request.Peer, r.Header); {
	case room != admitted:
		v.refuse(room, noRoom(room))
		rules.other.count(room)
	case !met:
		defer place.leave()
		v.refuse(badRequest, "the proxy in front does not say what it was asked, or is contradicted: X-Forwarded-For and X-Forwarded-Uri, or X-Original-URI")
		rules.other.count(badRequest)
	default:
		defer place.leave()
		v.run(r.Context(), r.Header)
	}
	switch {
	case v.passes():
		v.tell(w.Header())
		w.WriteHeader(http.StatusOK)
	case r.URL.RawQuery == "deny=403":
		if v.refusal.ID == "" {
			v.remember(g.now())
		}
		w.Header().Set(denialHeader, v.refusal.ID)
		w.Header().Set("Cache-Control", "no-store")
		v.tell(w.Header())
		w.WriteHeader(http.StatusForbidden)
	default: // which goes to the client as it is: the id stands in its body, if the document does not have another
		v.writer().Share(w.Header(), r.Header.Get("Origin"))
		v.answer(w)
	}
}

// replay gives the answer to a refused request.
func (f *forwardAuth) replay(w http.ResponseWriter, rules *rules, id string) {
	record, err := f.gateway.memory.Recall(id)
	if err != nil {
		rules.refuse(w, nil, nil, notFound, err.Error())
		return
	}
	again, ok := record.Attached.(*replay)
	if !ok {
		rules.refuse(w, nil, nil, notFound, "there is no answer to this refusal")
		return
	}
	again.writer.Share(w.Header(), again.origin)
	again.writer.Refuse(w, &again.refusal)
}

// meetForwarded takes in the request that a proxy asks about. It says no if that does not say enough, or contradicts itself.
func (v *visit) meetForwarded(r *http.Request) bool {
	method, agree := agreed(r.Header, "X-Forwarded-Method", "X-Original-Method")
	if !agree {
		return false
	}
	host, agree := agreed(r.Header, "X-Forwarded-Host")
	if !agree {
		return false
	}
	asked, agree := askedFor(r.Header)
	if !agree {
		return false
	}
	q := &v.request
	if q.Peer, r.Header["X-Forwarded-For"] = lastHop(r.Header["X-Forwarded-For"]); !q.Peer.IsValid() {
		return false
	}
	q.Method, q.Header, q.Length, q.FromProxy = cmp.Or(method, r.Method), r.Header, -1, true
	v.read(cmp.Or(host, asked.Host, r.Host), asked)
	return true
}

// agreed is the value on which headers with these canonical names agree, those that there are; empty if there are none.
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

// askedFor is what the proxy was asked for, on which all headers that say so agree. Where one of them has a whole URL, that
// one is it: it has the host as well.
func askedFor(h http.Header) (asked *url.URL, ok bool) {
	for _, name := range []string{"X-Forwarded-Uri", "X-Original-Uri", "X-Original-Url"} {
		for _, said := range h[name] {
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
	}
	return asked, asked != nil
}

// lastHop is who connected to the proxy that wrote the last address of X-Forwarded-For, and what that one said before.
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
	return peer(text), before
}
