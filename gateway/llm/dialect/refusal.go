package dialect

import (
	"encoding/json"
	"net/http"
	"strconv"
	"time"
)

// A Reason is why a request is refused.
type Reason uint8

const (
	// RateExceeded means that a limit is used up for now: 429.
	RateExceeded Reason = iota
	// QuotaUsed means that a quota of tokens or requests is used up, and that no short wait helps: 429.
	QuotaUsed
	// BudgetUsed means that a quota of money is used up: 403.
	BudgetUsed
	// Invalid means that the request cannot be read: 400.
	Invalid
	// TooLarge means that the body of the request is too large: 413.
	TooLarge
	// Unavailable means that no decision was made, or that the gateway is overloaded: 503.
	Unavailable
	// Unauthenticated means that the credentials are missing or invalid: 401.
	Unauthenticated
	// Forbidden means that the client is on a list of those that are refused: 403.
	Forbidden
	// NotFound means that nothing answers at this path: 404.
	NotFound
	// BodyTimeout means that the body of the request came too slowly: 408.
	BodyTimeout
	// BadGateway means that the model could not be reached: 502.
	BadGateway
	// GatewayTimeout means that the model did not answer in time: 504.
	GatewayTimeout
)

// A Refusal is the answer to a request that is not forwarded.
type Refusal struct {
	// Reason is why.
	Reason Reason
	// Kind is what the limit counts; only for RateExceeded.
	Kind Kind
	// Message is for people.
	Message string
	// Param is the field that is wrong, such as max_tokens; only for Invalid, and only OpenAI has a place for it.
	Param string
	// RetryAfter is how long the client should wait, 0 if that is not known.
	RetryAfter time.Duration
	// Never says that no wait helps, such as for a request that is greater than the limit.
	Never bool
	// RequestID is the id of the request in the log; empty for none.
	RequestID string
}

// words are what an answer is made of.
type words struct {
	status                  int
	openAI, code, anthropic string // types of the error
	final                   bool   // asking again is of no use
}

func (r *Refusal) words() words {
	switch r.Reason {
	case QuotaUsed:
		return words{http.StatusTooManyRequests, "insufficient_quota", "insufficient_quota", "rate_limit_error", true}
	case BudgetUsed:
		return words{http.StatusForbidden, "insufficient_quota", "insufficient_quota", "permission_error", true}
	case Invalid:
		return words{http.StatusBadRequest, "invalid_request_error", "", "invalid_request_error", true}
	case TooLarge:
		return words{http.StatusRequestEntityTooLarge, "invalid_request_error", "request_too_large", "request_too_large", true}
	case Unavailable:
		return words{http.StatusServiceUnavailable, "server_error", "", "api_error", r.Never}
	case Unauthenticated:
		return words{http.StatusUnauthorized, "invalid_request_error", "invalid_api_key", "authentication_error", true}
	case Forbidden:
		return words{http.StatusForbidden, "invalid_request_error", "forbidden", "permission_error", true}
	case NotFound:
		return words{http.StatusNotFound, "invalid_request_error", "not_found", "not_found_error", true}
	case BodyTimeout:
		return words{http.StatusRequestTimeout, "invalid_request_error", "request_timeout", "invalid_request_error", r.Never}
	case BadGateway:
		return words{http.StatusBadGateway, "server_error", "bad_gateway", "api_error", r.Never}
	case GatewayTimeout:
		return words{http.StatusGatewayTimeout, "server_error", "timeout", "timeout_error", r.Never}
	default:
		kind := "tokens"
		if r.Kind == Requests {
			kind = "requests"
		}
		return words{http.StatusTooManyRequests, kind, "rate_limit_exceeded", "rate_limit_error", r.Never}
	}
}

// Status is the HTTP status of the answer.
func (r *Refusal) Status() int { return r.words().status }

// SetRefusal sets the headers that tell an SDK whether to ask again and when: retry-after in seconds and retry-after-ms, both rounded up,
// and x-should-retry: false where asking again is of no use; and the id of the request.
func (d Dialect) SetRefusal(h http.Header, r *Refusal) {
	if r.RetryAfter > 0 && !r.Never {
		h.Set("Retry-After", strconv.FormatInt(int64(up(r.RetryAfter, time.Second)/time.Second), 10))
		h.Set("Retry-After-Ms", strconv.FormatInt(int64(up(r.RetryAfter, time.Millisecond)/time.Millisecond), 10))
	}
	if r.words().final {
		h.Set("X-Should-Retry", "false")
	}
	if r.RequestID != "" {
		h.Set(d.RequestID(), r.RequestID)
	}
}

// The bodies. A pointer is null where there is nothing to say.
type (
	openAIBody struct {
		Error openAIError `json:"error"`
	}
	openAIError struct {
		Message string  `json:"message"`
		Type    string  `json:"type"`
		Param   *string `json:"param"`
		Code    *string `json:"code"`
	}
	anthropicBody struct {
		Type      string         `json:"type"`
		Error     anthropicError `json:"error"`
		RequestID *string        `json:"request_id"`
	}
	anthropicError struct {
		Type    string `json:"type"`
		Message string `json:"message"`
	}
)

// orNull is a pointer to text, nil for none.
func orNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// Body is the JSON of the answer.
func (d Dialect) Body(r *Refusal) []byte {
	w := r.words()
	var document any = openAIBody{openAIError{Message: r.Message, Type: w.openAI, Param: orNull(r.Param), Code: orNull(w.code)}}
	if d == Anthropic {
		document = anthropicBody{"error", anthropicError{w.anthropic, r.Message}, orNull(r.RequestID)}
	}
	body, _ := json.Marshal(document) //nolint:errchkjson // texts cannot fail
	return body
}

// Refuse writes the whole answer.
func (d Dialect) Refuse(w http.ResponseWriter, r *Refusal) {
	d.SetRefusal(w.Header(), r)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(r.Status())
	_, _ = w.Write(d.Body(r)) // a client that is gone needs no answer
}
