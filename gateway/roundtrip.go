package gateway

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync/atomic"

	"github.com/jeton-dev/jeton/gateway/denial"
)

// A roundTrip is one request that passed, on its way to the upstream and back.
type roundTrip struct {
	admission

	gateway *Gateway
	rules   *rules
	writer  http.ResponseWriter
	headers http.Header    // that the gateway set before the upstream answered
	body    io.ReadCloser  // of the request; a *requestBody if there is one
	answer  *http.Response // of the upstream, once there is one
	sent    atomic.Bool    // there was a connection for it, on which something may have been sent
}

type roundTripKey struct{}

func roundTripOf(r *http.Request) *roundTrip {
	x, _ := r.Context().Value(roundTripKey{}).(*roundTrip)
	return x
}

// status is that of the upstream's answer; 0 without one.
func (x *roundTrip) status() int {
	if x.answer == nil {
		return 0
	}
	return x.answer.StatusCode
}

// restoreHeaders sets the gateway's headers again, which an interim answer removes.
func (x *roundTrip) restoreHeaders() {
	h := x.writer.Header()
	for name, values := range x.headers {
		if _, ok := h[name]; !ok {
			h[name] = values
		}
	}
}

// failure classifies the error of a request that the upstream has not answered. detail is the text for the client.
func (x *roundTrip) failure(ctx context.Context, err error) (o outcome, detail string) {
	var slow net.Error
	var tooLong *http.MaxBytesError
	body, _ := x.body.(*requestBody)
	switch {
	case errors.As(err, &tooLong):
		return tooLarge, bodyTooLarge(tooLong.Limit)
	case body != nil && body.late.Load():
		return bodyTimeout, "the body of the request arrived too slowly"
	case errors.Is(err, context.Canceled), body != nil && body.broken.Load():
		return canceled, ""
	case !x.sent.Load() && deadlinePassed(ctx):
		return clientTimeout, "the deadline of the request passed before the service behind this gateway was asked"
	case deadlinePassed(ctx), errors.Is(err, context.DeadlineExceeded), errors.As(err, &slow) && slow.Timeout():
		return upstreamTimeout, "the service behind this gateway did not answer in time"
	default:
		return upstreamFailed, "the service behind this gateway cannot be reached"
	}
}

// recordFailure settles the charge of a request that an upstream has not answered, and remembers it for operators.
func (x *roundTrip) recordFailure(r *http.Request, o outcome, err error) (id string) {
	status := x.route.answer.Status(o.kind())
	x.charge.answered(r.Context(), status)
	record := &denial.Record{
		At: x.gateway.now(), Route: x.route.name, Method: clip(r.Method, maxMethod), Path: clip(x.target.Path, maxPath),
		Status: status, Reason: o.String(), Upstream: x.route.upstream.name, Why: clip(err.Error(), maxWhy),
	}
	if x.key.Text != "" {
		record.Key = shownKey(x.key)
	}
	return x.gateway.memory.Remember(record)
}
