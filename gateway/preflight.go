package gateway

import (
	"net/http"

	"github.com/jeton-dev/jeton/gateway/answer"
)

// isPreflight says whether the gateway itself answers the request, because a browser asks whether a page of another origin may
// send another one, and the document says which may. The route is then that of the other one. Behind a proxy that asks the
// gateway cannot answer with success: there, preflights are requests as any others.
func (v *visit) isPreflight() bool {
	r := &v.request
	if r.FromProxy || !answer.IsPreflight(r.Method, r.Header) {
		return false
	}
	var of *routeRules
	writer := v.rules.answer
	if at, _ := v.rules.table.Find(r.Host, answer.Preflighted(r.Header), r.Path); at >= 0 {
		of = &v.rules.routes[at]
		writer = of.answer
	}
	if !writer.Shares() {
		return false
	}
	if v.route = of; of != nil {
		r.Route = of.name
	}
	return true
}

// share lets a page of another origin read what the gateway itself may yet answer, as the route says instead of the document.
func (v *visit) share(h http.Header) {
	if w := v.writer(); w != v.rules.answer {
		v.rules.answer.Unshare(h)
		w.Share(h, v.request.Header.Get("Origin"))
	}
}

// unshare leaves it to whoever stands behind the gateway to say who may read the answer, but for what the gateway tells in it.
func unshare(w *answer.Writer, h http.Header) {
	w.Unshare(h)
	w.Expose(h)
}
