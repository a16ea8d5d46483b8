package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	core "github.com/jeton-dev/jeton/gateway"
	"github.com/jeton-dev/jeton/gateway/config"
	"github.com/jeton-dev/jeton/internal/door"
)

// A front is a door for HTTP: one listener with its server.
type front struct {
	name     string
	listener net.Listener
	server   *http.Server

	underWay atomic.Int64            // requests, upgraded connections among them
	cut      context.CancelCauseFunc // ends the contexts of all requests
}

// openFronts opens the listeners that the document names, so that an address in use is found before anything else runs.
func (e *Gateway) openFronts(s *setup) (err error) {
	if s.doc.Proxy != nil {
		if e.proxy, err = e.listen("proxy", s.doc.Proxy.Address()); err != nil {
			return err
		}
	}
	if s.doc.ForwardAuth != nil {
		if e.forwardAuth, err = e.listen("forward_auth", s.doc.ForwardAuth.Address()); err != nil {
			return err
		}
	}
	if err := e.openForeign(s.doc.Doors); err != nil {
		return err
	}
	e.admin, err = e.listen("admin", s.doc.Admin.Address())
	return err
}

func (e *Gateway) listen(name, address string) (*front, error) {
	l, err := door.Listen(name+".listen", address)
	if err != nil {
		return nil, err
	}
	e.closers.Add(door.CloseListener(l))
	return &front{name: name, listener: l}, nil
}

// Name implements door.Door: it is the field of the document.
func (f *front) Name() string { return f.name }

// Addr implements door.Door; empty for a nil front.
func (f *front) Addr() string {
	if f == nil {
		return ""
	}
	return f.listener.Addr().String()
}

// The bounds of connections. The proxy's are the document's.
const (
	// Another proxy has bounded the header that it asks about, and adds some lines of its own.
	maxAuthHeader     = 128 << 10 // bytes
	authHeaderWithin  = 5 * time.Second
	authRequestWithin = 10 * time.Second
	authIdleWithin    = 2 * time.Minute
)

// maxStreams is how many requests may be under way on one connection of HTTP/2.
const maxStreams = 100

// proxyServer is the server of the proxy. It accepts HTTP/2 without TLS too, from clients that start with it, as gRPC clients do; it
// does not upgrade a connection to HTTP/2. The proxy itself bounds the time of a request's body, and the listener bounds how long an
// answer may stay unread; streams have no other time limit.
func proxyServer(p *config.Proxy) *http.Server {
	speaks := new(http.Protocols)
	speaks.SetHTTP1(true)
	speaks.SetHTTP2(true)
	speaks.SetUnencryptedHTTP2(true)
	return &http.Server{
		Protocols:         speaks,
		HTTP2:             &http.HTTP2Config{MaxConcurrentStreams: maxStreams},
		MaxHeaderBytes:    p.MaxHeaderBytes(),
		ReadHeaderTimeout: p.HeaderTimeout(),
		IdleTimeout:       p.IdleTimeout(),
	}
}

// forwardAuthServer is the server that other proxies ask: their questions are small, and so are the answers.
func forwardAuthServer() *http.Server {
	return &http.Server{
		MaxHeaderBytes:    maxAuthHeader,
		ReadHeaderTimeout: authHeaderWithin,
		ReadTimeout:       authRequestWithin,
		IdleTimeout:       authIdleWithin,
	}
}

// prepare makes the front answer with h, by a server that is not serving yet.
func (f *front) prepare(server *http.Server, h http.Handler, log *slog.Logger) {
	f.server = server
	life, cut := context.WithCancelCause(context.Background())
	f.cut = cut
	f.server.DisableGeneralOptionsHandler = true // OPTIONS * is a request as any other, and no path
	f.server.BaseContext = func(net.Listener) context.Context { return life }
	f.server.ErrorLog = slog.NewLogLogger(clientErrors{log.Handler()}, slog.LevelWarn)
	f.server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.underWay.Add(1)
		defer f.underWay.Add(-1)
		h.ServeHTTP(w, r)
	})
}

// Serve implements door.Door.
func (f *front) Serve() error { return door.ServeHTTP(f.server, f.listener) }

const (
	// lookAgain is how often Stop checks whether requests that the server does not count have ended.
	lookAgain = 10 * time.Millisecond
	// answerWithin is how long the requests that are held may take to be answered, and streams to end, before their connections are closed.
	answerWithin = 500 * time.Millisecond
	// cutWithin is how long a request that was cut off may take to notice.
	cutWithin = time.Second
)

// Stop implements door.Door. Shutdown does not wait for upgraded connections: the front counts these itself, and cancels their
// contexts. Requests that are held notice that, and are answered.
func (f *front) Stop(ctx context.Context) error {
	err := f.server.Shutdown(ctx)
	if err == nil {
		err = f.rest(ctx)
	}
	f.cut(core.ErrStopping)
	if err != nil {
		f.lastAnswers(ctx)
	}
	if cerr := f.server.Close(); err == nil {
		err = cerr
	}
	noticed, cancel := context.WithTimeout(context.WithoutCancel(ctx), cutWithin)
	defer cancel()
	return errors.Join(err, f.rest(noticed))
}

// lastAnswers waits a moment for what is written to clients that were cut off. What has not ended then is closed.
func (f *front) lastAnswers(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerWithin)
	defer cancel()
	_ = f.server.Shutdown(ctx) // the first one has said what is to be said
}

// rest waits until no request is under way.
func (f *front) rest(ctx context.Context) error {
	tick := time.NewTicker(lookAgain)
	defer tick.Stop()
	for f.underWay.Load() > 0 {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("%d requests under way: %w", f.underWay.Load(), ctx.Err())
		}
	}
	return nil
}

// clientErrors is the log handler of net/http. It lowers failed TLS handshakes to debug: port scanners cause most of them.
type clientErrors struct{ slog.Handler }

// Handle implements slog.Handler.
func (c clientErrors) Handle(ctx context.Context, r slog.Record) error {
	if strings.HasPrefix(r.Message, "http: TLS handshake error") {
		r.Level = slog.LevelDebug
		if !c.Enabled(ctx, r.Level) {
			return nil
		}
	}
	return c.Handler.Handle(ctx, r)
}
