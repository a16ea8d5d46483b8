package gateway

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/jeton-dev/jeton/gateway/answer"
)

// withDeadline is the context of a request. That of a gRPC or Connect call ends when the client stops waiting. The service reads the
// same header; it may reset the call then, answer 504, or ignore it.
func withDeadline(r *http.Request) (context.Context, context.CancelFunc) {
	timeout, ok := connectTimeout(r.Header.Get("Connect-Timeout-Ms"))
	if answer.IsCall(r) {
		timeout, ok = callTimeout(r.Header.Get("Grpc-Timeout"))
	}
	if ok {
		return context.WithTimeout(r.Context(), timeout)
	}
	return r.Context(), func() {}
}

// connectTimeout reads a connect-timeout-ms: at most ten digits.
func connectTimeout(text string) (time.Duration, bool) {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || len(text) > 10 {
		return 0, false
	}
	return time.Duration(n) * time.Millisecond, true
}

// deadlinePassed reports whether the deadline of the context has passed, even if the context has not ended yet.
func deadlinePassed(ctx context.Context) bool {
	at, ok := ctx.Deadline()
	return ok && !time.Now().Before(at)
}

// callTimeout reads a grpc-timeout: at most eight digits and a unit.
func callTimeout(text string) (time.Duration, bool) {
	units := map[byte]time.Duration{
		'H': time.Hour, 'M': time.Minute, 'S': time.Second, 'm': time.Millisecond, 'u': time.Microsecond, 'n': time.Nanosecond,
	}
	if len(text) < 2 || len(text) > 9 {
		return 0, false
	}
	unit, ok := units[text[len(text)-1]]
	n, err := strconv.ParseUint(text[:len(text)-1], 10, 32)
	if !ok || err != nil {
		return 0, false
	}
	if n > uint64(maxTimeout/unit) {
		return maxTimeout, true
	}
	return time.Duration(n) * unit, true
}

// maxTimeout is as good as no timeout.
const maxTimeout = 10 * 365 * 24 * time.Hour
