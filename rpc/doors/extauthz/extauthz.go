// Package extauthz is the door for proxies that speak Envoy's external authorization (ext_authz) over gRPC: Envoy, Istio, Envoy
// Gateway, Contour, and what else implements the ExternalAuth filter of the Kubernetes Gateway API. It answers
// envoy.service.auth.v3.Authorization/Check as the forward-auth handler of a gateway answers over HTTP: the gateway's document decides.
//
//	CheckRequest ─▶ question ─▶ *http.Request ─▶ Config.Handler ─▶ recorder ─▶ verdict ─▶ CheckResponse
//	                   ├─▶ error: what the proxy must always say is missing     InvalidArgument
//	                   └─▶ refusal: what only a client can have caused          400, 431
//
// The door promises three things. What the proxy says in the attributes counts, whatever headers the client sent. What a client can
// cause is answered by a denial and never by an error: a proxy with failure_mode_allow lets a request pass after an error. And an error
// means that nothing was decided. Start with [New].
package extauthz

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/jeton-dev/jeton/internal/fault"
)

// answerWithin bounds a call that has no deadline.
const answerWithin = time.Second

// Config says what a Door asks.
type Config struct {
	// Handler answers for a request that X-Forwarded headers describe, at the path /auth, as Gateway.ForwardAuth does: 2xx lets it pass,
	// any other answer is for the client. It sees the gRPC peer as RemoteAddr, and decides whether that one may ask. Required.
	Handler http.Handler

	// Registerer registers the metrics; nil leaves them unregistered.
	Registerer prometheus.Registerer

	// Logger gets panics of the handler, and bodies of denials that are too long; nil discards them.
	Logger *slog.Logger
}

// A Door answers CheckRequests. It is safe for concurrent use.
type Door struct {
	handler http.Handler
	metrics metrics
	log     *slog.Logger
}

// New makes a Door. It fails if the handler is missing or a metric cannot be registered.
func New(cfg Config) (*Door, error) {
	if cfg.Handler == nil {
		return nil, errors.New("extauthz: Handler is missing: give the forward-auth handler of a gateway")
	}
	d := &Door{handler: cfg.Handler, metrics: newMetrics(), log: cfg.Logger}
	if d.log == nil {
		d.log = slog.New(slog.DiscardHandler)
	}
	if err := d.metrics.register(cfg.Registerer); err != nil {
		return nil, err
	}
	return d, nil
}

// Register registers the service envoy.service.auth.v3.Authorization.
func (d *Door) Register(r grpc.ServiceRegistrar) { authv3.RegisterAuthorizationServer(r, d) }

// Check implements authv3.AuthorizationServer. Its errors are gRPC statuses: InvalidArgument names an attribute that the proxy must
// send, Internal is a bug of the handler, and DeadlineExceeded and Canceled are those of the call.
func (d *Door) Check(ctx context.Context, r *authv3.CheckRequest) (*authv3.CheckResponse, error) {
	if _, bounded := ctx.Deadline(); !bounded {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, answerWithin)
		defer cancel()
	}
	answer, outcome, err := d.answer(ctx, r)
	d.metrics.count(outcome)
	return answer, err
}

// answer answers one CheckRequest, and says how.
func (d *Door) answer(ctx context.Context, r *authv3.CheckRequest) (*authv3.CheckResponse, outcome, error) {
	q, err := read(r)
	switch refused, isRefusal := errors.AsType[*refusal](err); {
	case isRefusal:
		return refused.response(), outcomeRefused, nil
	case err != nil:
		return nil, outcomeInvalid, status.Error(codes.InvalidArgument, err.Error())
	}
	w := newRecorder()
	if err := fault.Safely(d.metrics.panics, func() error {
		d.handler.ServeHTTP(w, q.request(ctx, asker(ctx)))
		return nil
	}); err != nil {
		d.log.Error("the forward-auth handler panicked", fault.Attrs(err)...)
		return nil, outcomeFailed, status.Error(codes.Internal, "the forward-auth handler panicked: the log says where")
	}
	switch {
	case ctx.Err() != nil: // the handler has answered nobody
		return nil, outcomeFailed, status.FromContextError(ctx.Err()).Err()
	case w.status == 0:
		return nil, outcomeFailed, status.Error(codes.Internal, "the forward-auth handler answered nothing")
	case w.tooLong:
		d.log.Warn("the body of an answer is left out: it is too long", "status", w.status, "most_bytes", maxBody)
	}
	return w.response(q.doubtful), w.outcome(), nil
}

// asker is the address of the proxy that asks; empty if its connection has none.
func asker(ctx context.Context) string {
	if p, ok := peer.FromContext(ctx); ok && p.Addr != nil {
		return p.Addr.String()
	}
	return ""
}
