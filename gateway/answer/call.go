package answer

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"google.golang.org/grpc/codes"
)

// Pushback tells gRPC clients in h when to try again, in the header that their retry policy reads; -1 means never. When the
// service cannot be reached, it sets nothing: the client's own retry policy applies.
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

// Message is the message of the gRPC status: the detail and the id of the denial.
func (r *Refusal) Message() string {
	if r.ID == "" {
		return r.Detail
	}
	return r.Detail + " (" + r.ID + ")"
}

// percentEncoded is s in the encoding of the header grpc-message.
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

// IsCall reports whether a request is a gRPC call, which is answered with a gRPC status.
func IsCall(r *http.Request) bool {
	return r.ProtoMajor >= 2 && r.Method == http.MethodPost && hasCallType(r.Header)
}

// hasCallType reports whether the content type is that of gRPC; application/grpc-web is something else.
func hasCallType(h http.Header) bool {
	rest, ok := strings.CutPrefix(h.Get("Content-Type"), "application/grpc")
	return ok && (rest == "" || rest[0] == '+' || rest[0] == ';')
}

// Result is the HTTP status of a service's answer; for a gRPC call, the one that its gRPC status maps to. known is false while
// the gRPC status, which comes in the trailer, has not arrived. ended says that the answer is complete: then it is always known.
func Result(r *http.Response, ended bool) (status int, known bool) {
	if r.StatusCode != http.StatusOK || !hasCallType(r.Header) {
		return r.StatusCode, true
	}
	for _, h := range []http.Header{r.Header, r.Trailer} {
		if code, err := strconv.ParseUint(h.Get("Grpc-Status"), 10, 32); err == nil {
			return StatusOf(codes.Code(code)), true
		}
	}
	return StatusOf(codes.Unknown), ended // clients read a missing status as Unknown
}

// StatusOf maps a gRPC status to HTTP, as google.rpc.Code does.
func StatusOf(c codes.Code) int {
	switch c {
	case codes.OK:
		return http.StatusOK
	case codes.Canceled:
		return 499 // the client closed the connection; net/http has no constant for it
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
	default: // Unknown, Internal, DataLoss and undefined codes
		return http.StatusInternalServerError
	}
}
