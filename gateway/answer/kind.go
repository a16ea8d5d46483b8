package answer

import "net/http"

// Kind is why a request is refused. The zero Kind is Exceeded.
type Kind int

// The kinds of refusals.
const (
	Exceeded          Kind = iota // denied by a limit: 429, or as the configuration says
	Unavailable                   // there is no decision, and on_unavailable is deny: 503
	Overloaded                    // the gateway has too many concurrent requests, or stops: 503
	TooManyConcurrent             // one client has too many concurrent requests: 429
	Forbidden                     // on the deny list: 403
	Unidentified                  // no key identifies the client: 401
	BadCredentials                // the token or API key is invalid: 401
	NotFound                      // no route matches, so there is no upstream: 404
	BadRequest                    // malformed, or servers might read it differently: 400
	TooLarge                      // the body is larger than allowed: 413
	BodyTimeout                   // the body came too slowly: 408
	BadGateway                    // the upstream could not be reached, or its answer could not be read: 502
	GatewayTimeout                // the upstream took too long: 504
	OverBudget                    // denied by a limit that counts money, where the configuration says 403
)

// String is the kind in one word, for logs and metrics.
func (k Kind) String() string { return k.traits().word }

// traits are the constants of a kind of refusal.
type traits struct {
	word    string
	status  int
	problem string // the type
	title   string
	limits  bool // the type has violated-policies
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
	case OverBudget:
		return traits{
			"over-budget", http.StatusForbidden, registered + "quota-exceeded",
			"Request cannot be satisfied as assigned quota has been exceeded", true,
		}
	}
	return traits{"unknown", http.StatusInternalServerError, "about:blank", http.StatusText(http.StatusInternalServerError), false}
}
