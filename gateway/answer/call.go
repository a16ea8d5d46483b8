package answer

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"google.golang.org/grpc/codes"
)

// refuseCall answers a call of gRPC: a status of gRPC in an answer that is a header and nothing else, as services of gRPC
// answer that have no message to send. What the configuration says of statuses, bodies and redirects is for other clients.
func (w *Writer) refuseCall(rw http.ResponseWriter, r *Refusal) {
	h := rw.Header()
	h.Del("Trailer")
	w.Tell(h, r.Quotas)
	r.Pushback(h)
	h.Set("Content-Type", "application/grpc")
	h.Set("Grpc-Status", decimal(int64(r.Call)))
	h.Set("Grpc-Message", percentEncoded(r.Message()))
	rw.WriteHeader(http.StatusOK)
}

// Pushback tells clients of gRPC in h when to try again, as their retry policy understands it; -1 is never. Of a service that
// cannot be reached nothing is told: the client's own policy counts.
func (r *Refusal) Pushback(h http.Header) {
	seconds, ok := r.RetryAfter()
	switch {
	case !ok && (r.Kind == BadGateway || r.Kind == GatewayTimeout):
		return
	case !ok:
		h.Set("Grpc-Retry-Pushback-Ms", "-1")
		return
	}
	h.Set("Retry-After", decimal(seconds))
	h.Set("Grpc-Retry-Pushback-Ms", decimal(seconds*1000))
}

// Message is what a client of gRPC is told: the detail and the id of the denial.
func (r *Refusal) Message() string {
	if r.ID == "" {
		return r.Detail
	}
	return r.Detail + " (" + r.ID + ")"
}

// percentEncoded is s as grpc-message has it.
func percentEncoded(s string) string {
	var out strings.Builder
	for _, c := range []byte(s) {
		if c < ' ' || c > '~' || c == '%' {
			fmt.Fprintf(&out, "%%%02X", c)
		} else {
			out.WriteByte(c)
		}
	}
	return out.String()
}

// IsCall says whether a request is a call of gRPC, which is answered by a status of gRPC.
func IsCall(r *http.Request) bool {
	return r.ProtoMajor >= 2 && r.Method == http.MethodPost && callType(r.Header)
}

// callType says whether a message of HTTP/2 is one of gRPC; application/grpc-web is something else.
func callType(h http.Header) bool {
	rest, ok := strings.CutPrefix(h.Get("Content-Type"), "application/grpc")
	return ok && (rest == "" || rest[0] == '+' || rest[0] == ';')
}

// Result is the status of a service's answer: its own, or for a call of gRPC that which stands for its end. known is false while
// that is still to come; at the end of the answer it is known.
func Result(r *http.Response, ended bool) (status int, known bool) {
	if r.StatusCode != http.StatusOK || !callType(r.Header) {
		return r.StatusCode, true
	}
	for _, h := range []http.Header{r.Header, r.Trailer} {
		if code, err := strconv.ParseUint(h.Get("Grpc-Status"), 10, 32); err == nil {
			return StatusOf(codes.Code(code)), true
		}
	}
	return StatusOf(codes.Unknown), ended // which is what clients take it for
}

// StatusOf is the status of HTTP that stands for one of gRPC, as google.rpc.Code has them.
func StatusOf(c codes.Code) int {
	switch c {
	case codes.OK:
		return http.StatusOK
	case codes.Canceled:
		return 499 // the client has left; net/http has no name for it
	case codes.InvalidArgument, codes.FailedPrecondition, codes.OutOfRange:
		return http.StatusBadRequest
	case codes.Unauthenticated:
		return http.StatusUnauthorized
	case codes.PermissionDenied:
		return http.StatusForbidden
	case codes.NotFound:
		return http.StatusNotFound
	case codes.AlreadyExists, codes.Aborted:
		return http.StatusConflict
	case codes.ResourceExhausted:
		return http.StatusTooManyRequests
	case codes.Unimplemented:
		return http.StatusNotImplemented
	case codes.Unavailable:
		return http.StatusServiceUnavailable
	case codes.DeadlineExceeded:
		return http.StatusGatewayTimeout
	default: // Unknown, Internal, DataLoss, and what is none
		return http.StatusInternalServerError
	}
}
