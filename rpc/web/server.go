package web

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/internal/bound"
)

// The bounds of an HTTP connection. Writing has none: a profile may take as long as it was asked to, and what the JSON
// API answers is small and has its own deadline.
const (
	maxBody        = 1 << 20          // bytes that the body of a request may have
	maxHeader      = 16 << 10         // bytes; the longest key, percent-encoded, is 1.5 KiB
	headerWithin   = 5 * time.Second  // from the start of a request to the end of its header
	requestWithin  = 10 * time.Second // to the end of its body
	idleConnection = 2 * time.Minute  // between two requests
	lineCost       = 96               // bytes that a line of a header takes besides its own
)

// NewServer makes the server of an HTTP port for operators and the JSON API: h behind bounds on what a client may send, and how
// slowly. The logger gets what net/http has to say, a line a minute about each reason; nil discards it.
func NewServer(h http.Handler, l *slog.Logger) *http.Server {
	only := new(http.Protocols)
	only.SetHTTP1(true) // in HTTP/2 one connection may send as much as many
	return &http.Server{
		Protocols:         only,
		Handler:           Counted(h),
		MaxHeaderBytes:    maxHeader,
		ReadHeaderTimeout: headerWithin,
		ReadTimeout:       requestWithin,
		IdleTimeout:       idleConnection,
		ConnContext:       ofConnection,
		ErrorLog:          bound.NewLogger(orDiscard(l)),
	}
}

// orDiscard is l, or a logger that discards everything for nil.
func orDiscard(l *slog.Logger) *slog.Logger {
	if l == nil {
		return slog.New(slog.DiscardHandler)
	}
	return l
}

// Counted wraps h: the header of each request counts against the bounds of its connection until the request is answered. It is for
// callers that give a server of NewServer another handler.
func Counted(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if conn, ok := r.Context().Value(boundKey{}).(*bound.Conn); ok {
			if !conn.Begin(headerCost(r.Header)) {
				return // it is cut off
			}
			defer conn.End()
		}
		h.ServeHTTP(w, r)
	})
}

// headerCost is about how many bytes a header takes.
func headerCost(h http.Header) (bytes int) {
	for name, values := range h {
		for _, v := range values {
			bytes += len(name) + len(v) + lineCost
		}
	}
	return bytes
}

// boundKey is of the bounds of a connection, in the contexts of what comes over it.
type boundKey struct{}

// ofConnection is the context of a request as that of its connection, which takes turns with the others, with the bounds of the
// connection if it has some.
func ofConnection(ctx context.Context, c net.Conn) context.Context {
	if of := bound.Of(c); of != nil {
		ctx = context.WithValue(ctx, boundKey{}, of)
	}
	return limit.WithCaller(ctx, c.RemoteAddr())
}
