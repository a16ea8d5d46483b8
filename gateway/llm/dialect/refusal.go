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
	// RateExceeded means that a limit is used up for now.
	RateExceeded Reason = iota
	// QuotaUsed means that a quota of tokens or requests is used up, and that no short wait helps.
	QuotaUsed
	// BudgetUsed means that a quota of money is used up.
	BudgetUsed
	// Invalid means that the request cannot be read.
	Invalid
	// TooLarge means that the body of the request is too large.
	TooLarge
	// Unavailable means that no decision was made, or that the gateway is overloaded.
	Unavailable
	// Unauthenticated means that the credentials are missing or invalid.
	Unauthenticated
	// Forbidden means that the client is on a list of those that are refused.
	Forbidden
	// NotFound means that nothing answers at this path.
	NotFound
	// BodyTimeout means that the body of the request came too slowly.
	BodyTimeout
	// BadGateway means that the model could not be reached.
	BadGateway
	// GatewayTimeout means that the model did not answer in time.
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
	openAI, code, anthropic string // types of the error
	final                   bool   // asking again is of no use
}

func (r *Refusal) words() words {
	switch r.Reason {
	case QuotaUsed:
		return words{"insufficient_quota", "insufficient_quota", "rate_limit_error", true}
	case BudgetUsed:
		return words{"insufficient_quota", "insufficient_quota", "permission_error", true}
	case Invalid:
		return words{"invalid_request_error", "", "invalid_request_error", true}
	case TooLarge:
		return words{"invalid_request_error", "request_too_large", "request_too_large", true}
	case Unavailable:
		return words{"server_error", "", "api_error", r.Never}
	case Unauthenticated:
		return words{"invalid_request_error", "invalid_api_key", "authentication_error", true}
	case Forbidden:
		return words{"invalid_request_error", "forbidden", "permission_error", true}
	case NotFound:
		return words{"invalid_request_error", "not_found", "not_found_error", true}
	case BodyTimeout:
		return words{"invalid_request_error", "request_timeout", "invalid_request_error", r.Never}
	case BadGateway:
		return words{"server_error", "bad_gateway", "api_error", r.Never}
	case GatewayTimeout:
		return words{"server_error", "timeout", "timeout_error", r.Never}
	default:
		kind := "tokens"
		if r.Kind == Requests {
			kind = "requests"
		}
		return words{kind, "rate_limit_exceeded", "rate_limit_error", r.Never}
	}
}

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
