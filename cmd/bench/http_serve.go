package bench

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"sync"
	"time"
)

// The roles of [ServeHTTP].
const (
	Upstream     = "upstream"    // answers 200 with a small body
	BareProxy    = "bare-proxy"  // passes everything on to an upstream
	BareAnswer   = "bare-answer" // answers 204
	BareDenial   = "bare-denial" // answers 429 with a small body
	Model        = "model"       // a language model that answers with a stream, see streamModel
	upstreamBody = `{"id":"0193f1c2","name":"a thing","tags":["small","usual"],"price":1250,"currency":"EUR"}` + "\n"
)

// ServeHTTP serves HTTP in one of these roles, and limits nothing, until ctx ends: they are what stands behind a gateway
// that is measured, and what it is measured against. What a proxy passes on goes to the URL upstream. Where it listens
// is logged as a node logs it.
func ServeHTTP(ctx context.Context, role, upstream string, log *slog.Logger) error {
	handler, err := httpRole(role, upstream)
	if err != nil {
		return err
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s := &http.Server{Handler: handler, ReadHeaderTimeout: 5 * time.Second, IdleTimeout: 2 * time.Minute}
	release := context.AfterFunc(ctx, func() { s.Close() }) //nolint:errcheck // no answer is awaited any more
	defer release()
	log.Info("serving", "grpc", "", "http", l.Addr().String())
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// httpRole is the handler of a role.
func httpRole(role, upstream string) (http.Handler, error) {
	if err := oneOf("role", role, Upstream, BareProxy, BareAnswer, BareDenial, Model); err != nil {
		return nil, err
	}
	switch role {
	case Upstream:
		return http.HandlerFunc(answerSmall), nil
	case BareAnswer:
		return http.HandlerFunc(answerNothing), nil
	case BareDenial:
		return http.HandlerFunc(answerDenial), nil
	case Model:
		return http.HandlerFunc(streamModel), nil
	}
	u, err := url.Parse(upstream)
	if err != nil || u.Host == "" {
		return nil, flagError("upstream", "%q is not a URL such as http://127.0.0.1:9000", upstream)
	}
	return bareProxy(u), nil
}

func answerSmall(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(upstreamBody)))
	w.Write([]byte(upstreamBody)) //nolint:errcheck // a client that does not read it has gone
}

func answerNothing(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }

// deniedBody is a problem of RFC 9457 as services write it by hand.
const deniedBody = `{"type":"about:blank","title":"Too Many Requests","status":429,"detail":"too many requests; try again later"}` + "\n"

func answerDenial(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.Header().Set("Retry-After", "60")
	w.Header().Set("Content-Length", strconv.Itoa(len(deniedBody)))
	w.WriteHeader(http.StatusTooManyRequests)
	w.Write([]byte(deniedBody)) //nolint:errcheck // a client that does not read it has gone
}

// bareProxy is what the standard library has for a reverse proxy, with the transport and the reuse of buffers of a gateway.
func bareProxy(upstream *url.URL) http.Handler {
	dialer := &net.Dialer{Timeout: 5 * time.Second, KeepAlive: 30 * time.Second}
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(upstream)
			r.SetXForwarded()
		},
		Transport: &http.Transport{
			DialContext: dialer.DialContext, ResponseHeaderTimeout: time.Minute,
			MaxIdleConnsPerHost: 256, IdleConnTimeout: 90 * time.Second, ExpectContinueTimeout: time.Second,
			ForceAttemptHTTP2: true, DisableCompression: true,
		},
		BufferPool: &copyBuffers{},
	}
}

// copyBuffers are what answers are copied through.
type copyBuffers struct{ pool sync.Pool }

const copyBuffer = 32 << 10

// Get implements [httputil.BufferPool].
func (b *copyBuffers) Get() []byte {
	if at, ok := b.pool.Get().(*[copyBuffer]byte); ok {
		return at[:]
	}
	return make([]byte, copyBuffer)
}

// Put implements [httputil.BufferPool].
func (b *copyBuffers) Put(buffer []byte) { b.pool.Put((*[copyBuffer]byte)(buffer)) }
