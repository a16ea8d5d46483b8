package answer

import (
	"net/url"

	"google.golang.org/grpc/codes"
)

// A Refusal is the content of the answer to a refused request.
type Refusal struct {
	Kind   Kind
	Quotas []Quota // the outcomes of the limits, denying or not; none if they were not asked
	ID     string  // of the denial; empty for none
	Route  string  // name of the route
	Detail string  // one sentence for people; empty for none
	Param  string  // the field of the body that is wrong; empty for none. Only the dialects of language models show it.
	// Challenge is the WWW-Authenticate of a 401, such as "Bearer"; empty for none.
	Challenge string
	// Head says that the request's method is HEAD: the answer has the headers of the body and no body.
	Head bool
	// Call is the gRPC status if the refused request is a gRPC call; codes.OK if it is not.
	Call codes.Code
	// Details says that the caller of a gRPC call asks for the details of a denial: see AsksForDetails.
	Details bool
}

// RetryAfter is how long the client is asked to wait, in whole seconds, at least 1: the longest wait of the limits that
// deny, rounded up, and not less than any t of theirs in RateLimit. ok is false when no wait helps: a cost is above a
// capacity, or the reason is neither a limit nor the load.
func (r *Refusal) RetryAfter() (seconds int64, ok bool) {
	switch r.Kind {
	case Unavailable, Overloaded, TooManyConcurrent:
		return 1, true
	case Exceeded:
	default:
		return 0, false
	}
	for i := range r.Quotas {
		q := &r.Quotas[i]
		if q.Never {
			return 0, false
		}
		if !q.Allowed {
			seconds = max(seconds, q.wait())
		}
	}
	return seconds, seconds > 0
}

// violated are the names of the limits that deny, each once.
func (r *Refusal) violated() []string {
	names := []string{}
	for i := range r.Quotas {
		if !r.Quotas[i].Allowed && !r.violatedBefore(i) {
			names = append(names, r.Quotas[i].Name)
		}
	}
	return names
}

func (r *Refusal) violatedBefore(i int) bool {
	for k := range r.Quotas[:i] {
		if !r.Quotas[k].Allowed && r.Quotas[k].Name == r.Quotas[i].Name {
			return true
		}
	}
	return false
}

// instance is the URN of the denial, or empty if it has no id.
func (r *Refusal) instance() string {
	if r.ID == "" {
		return ""
	}
	return "urn:jeton:denial:" + url.PathEscape(r.ID)
}
