package answer

import (
	"encoding/json"
	"net/http"
)

// problem is a body of RFC 9457.
type problem struct {
	Type     string   `json:"type"`
	Title    string   `json:"title"` // the same for all problems of a type
	Status   int      `json:"status"`
	Detail   string   `json:"detail,omitempty"`
	Instance string   `json:"instance,omitempty"`
	Violated []string `json:"violated-policies,omitzero"` // names of limits; there when the type defines it
}

// traits is what a kind of refusal always is.
type traits struct {
	word    string
	status  int
	problem string // the type
	title   string
	limits  bool // the type defines violated-policies
}

// The types that draft-ietf-httpapi-ratelimit-headers-11 registers.
const registered = "https://iana.org/assignments/http-problem-types#"

func (k Kind) traits() traits {
	const own = "urn:jeton:problem:"
	const reduced, busy = registered + "temporary-reduced-capacity",
		"Request cannot be satisfied due to temporary server capacity constraints"
	switch k {
	case Exceeded:
		return traits{
			"exceeded", http.StatusTooManyRequests, registered + "quota-exceeded",
			"Request cannot be satisfied as assigned quota has been exceeded", true,
		}
	case Unavailable:
		return traits{"unavailable", http.StatusServiceUnavailable, reduced, busy, true}
	case Overloaded:
		return traits{"overloaded", http.StatusServiceUnavailable, reduced, busy, true}
	case TooManyConcurrent:
		return traits{"too-many-concurrent", http.StatusTooManyRequests, own + "too-many-concurrent", "Too many concurrent requests from one client", false}
	case Forbidden:
		return traits{"forbidden", http.StatusForbidden, own + "forbidden", "The request is denied by a list", false}
	case Unidentified:
		return traits{"unidentified", http.StatusUnauthorized, own + "unidentified", "No credentials identify the client", false}
	case BadCredentials:
		return traits{"bad-credentials", http.StatusUnauthorized, own + "bad-credentials", "The token or API key is invalid", false}
	case NotFound:
		return traits{"not-found", http.StatusNotFound, own + "not-found", "No route matches", false}
	case BadRequest:
		return traits{"bad-request", http.StatusBadRequest, own + "bad-request", "The request is malformed or ambiguous", false}
	case TooLarge:
		return traits{"too-large", http.StatusRequestEntityTooLarge, own + "too-large", "The body is too large", false}
	case BodyTimeout:
		return traits{"body-timeout", http.StatusRequestTimeout, own + "body-timeout", "The body arrived too slowly", false}
	case BadGateway:
		return traits{"bad-gateway", http.StatusBadGateway, own + "bad-gateway", "The upstream cannot be reached", false}
	case GatewayTimeout:
		return traits{"gateway-timeout", http.StatusGatewayTimeout, own + "gateway-timeout", "The upstream did not answer in time", false}
	}
	return traits{"unknown", http.StatusInternalServerError, "about:blank", http.StatusText(http.StatusInternalServerError), false}
}

// problemOf is the body that says r, answered with that status.
func problemOf(r *Refusal, status int) []byte {
	t := r.Kind.traits()
	p := problem{Type: t.problem, Title: t.title, Status: status, Detail: r.Detail, Instance: r.instance()}
	if t.limits {
		p.Violated = r.violated()
	}
	text, err := json.Marshal(p)
	if err != nil {
		panic(err) // strings and a number can always be written
	}
	return append(text, '\n')
}
