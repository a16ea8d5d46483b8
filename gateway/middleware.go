package gateway

import (
	"net/http"

	"github.com/jeton-dev/jeton/gateway/answer"
)

// Middleware puts a gateway in front of a handler: a request that does not pass is answered by the gateway; for one that passes,
// the limit headers are set before the handler is called. Where a route says refund or charge_when, the status that the handler
// writes counts: 200 if it writes none, and 500 if it panics before it has written. The panic goes on.
//
// A request that is held counts against the WriteTimeout of its server: that must be longer than the waits of the document. A server that
// stops can end the contexts of its requests with [ErrStopping], so that those that are held are answered.
func Middleware(g *Gateway) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler { return &middleware{g, next} }
}

type middleware struct {
	gateway *Gateway
	next    http.Handler
}

// ServeHTTP decides about a request, and calls the handler if it passes.
func (m *middleware) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rules := m.gateway.rules.Load()
	slot, ok := m.gateway.enter(w, r, rules)
	if !ok {
		return
	}
	defer slot.release()
	var a admission
	r, ok = m.gateway.admit(w, r, rules, statusFeedback, &a)
	if !ok {
		return
	}
	writer := rules.answer
	if a.route != nil {
		writer = a.route.answer
	}
	unshare(writer, w.Header())
	if a.charge.taken == nil && a.access == nil { // nothing to give back for any answer, nor to log
		m.next.ServeHTTP(w, r)
		return
	}
	m.settle(w, r, a.charge, a.access)
}

// settle calls the handler, and settles the charge by the status of its answer, which the access log has too.
func (m *middleware) settle(w http.ResponseWriter, r *http.Request, c charge, line *access) {
	shown := 0
	h := &statusWriter{ResponseWriter: w, report: func(status int) {
		shown = status
		c.answered(r.Context(), status)
	}}
	status := http.StatusInternalServerError // if it panics
	defer func() {
		h.reportOnce(status)
		line.end(shown)
	}()
	m.next.ServeHTTP(h, r)
	status = http.StatusOK
}

// unshare leaves it to the service behind the gateway which pages may read the answer; they may read the gateway's own headers.
func unshare(w *answer.Writer, h http.Header) {
	w.Unshare(h)
	w.Expose(h)
}
