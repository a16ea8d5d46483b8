package answer

import (
	"net/http"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/jeton-dev/jeton/rpc/details"
)

// AsksForDetails reports whether the caller of a gRPC call wants the status of a denial to have details: it says so as it says it to a
// node. Other values are for the service behind the gateway.
func AsksForDetails(h http.Header) bool {
	asked := h[http.CanonicalHeaderKey(details.Asked)]
	return len(asked) == 1 && asked[0] == details.AsErrors
}

// GRPCStatus is the refusal as the status of a call, of that code. That of a denial has [details.Denial], if the caller asks for them, with
// the wait that Retry-After tells. Its violations have no subject: the key by which the gateway counts the client is told in none of its
// answers.
func (r *Refusal) GRPCStatus(code codes.Code) *status.Status {
	if !r.hasDetails() {
		return status.New(code, r.Message())
	}
	seconds, ok := r.RetryAfter()
	denial := details.Denial{Message: r.Message(), Wait: time.Duration(seconds) * time.Second, Never: !ok}
	for i := range r.Quotas {
		if !r.violatedBefore(i) {
			denial.Limits = append(denial.Limits, r.Quotas[i].Outcome)
		}
	}
	return denial.Status()
}

// hasDetails reports whether the status of a call has any.
func (r *Refusal) hasDetails() bool { return r.Details && r.Kind == Exceeded }

// setDetails writes the details of the status in the header in which gRPC has them.
func (r *Refusal) setDetails(h http.Header) {
	const name = "Grpc-Status-Details-Bin"
	h.Del(name) // describes another answer
	if r.hasDetails() {
		h.Set(name, details.Header(r.GRPCStatus(r.Call)))
	}
}
