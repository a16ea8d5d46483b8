package answer

import (
	"net/http"
	"time"

	"github.com/jeton-dev/jeton/gateway/config"
	"github.com/jeton-dev/jeton/gateway/llm/dialect"
)

// longestRetry is the longest wait for which an SDK is asked to send a request again by itself: openai-go gives up at a longer one, and
// anthropic-sdk-go would wait however long it is.
const longestRetry = 2 * time.Minute

// Dialect is the one in whose words the Writer answers; 0 for none.
func (w *Writer) Dialect() dialect.Dialect { return w.dialect }

// speak writes the headers of the dialect. It has none for money and streams.
func (w *Writer) speak(h http.Header, quotas []Quota) {
	limits := make([]dialect.Limit, 0, len(quotas))
	for i := range quotas {
		q := &quotas[i]
		if kind, ok := spokenKind(q.Counts); ok {
			limits = append(limits, dialect.Limit{Kind: kind, Limit: q.Limit, Remaining: q.Remaining, Reset: q.ResetAfter})
		}
	}
	w.dialect.SetHeaders(h, limits, w.now())
}

// spokenKind is what dialects call what a limit counts; ok is false for what they do not know.
func spokenKind(counts string) (k dialect.Kind, ok bool) {
	switch counts {
	case "", config.CountsRequests:
		return dialect.Requests, true
	case config.CountsTokens:
		return dialect.Tokens, true
	case config.CountsInput:
		return dialect.InputTokens, true
	case config.CountsOutput:
		return dialect.OutputTokens, true
	default:
		return 0, false
	}
}

// spoken is the refusal as dialects have it.
func (r *Refusal) spoken() dialect.Refusal {
	s := dialect.Refusal{Message: r.Detail, Param: r.Param, RequestID: r.ID, Reason: spokenReason(r.Kind)}
	if s.Message == "" {
		s.Message = r.Kind.traits().title
	}
	if seconds, ok := r.RetryAfter(); ok {
		s.RetryAfter = time.Duration(seconds) * time.Second
	}
	if r.Kind != Exceeded {
		return s
	}
	s.RetryAfter, s.Never = r.precisely()
	if q := Nearest(r.Quotas); q != nil {
		if kind, ok := spokenKind(q.Counts); ok {
			s.Kind = kind
		} else if q.Counts == config.CountsMoney {
			s.Kind = dialect.Tokens
		}
	}
	if s.RetryAfter > longestRetry {
		s.Reason = dialect.QuotaUsed
	}
	return s
}

// precisely is the longest wait of the limits that deny; never is whether one of them will not admit the request at any time.
func (r *Refusal) precisely() (wait time.Duration, never bool) {
	for i := range r.Quotas {
		q := &r.Quotas[i]
		never = never || q.Never
		if !q.Allowed {
			wait = max(wait, q.RetryAfter)
		}
	}
	return max(wait, time.Millisecond), never
}

// spokenReason is the reason of a kind of refusal.
func spokenReason(k Kind) dialect.Reason {
	switch k {
	case Exceeded, TooManyConcurrent:
		return dialect.RateExceeded
	case OverBudget:
		return dialect.BudgetUsed
	case Forbidden:
		return dialect.Forbidden
	case Unidentified, BadCredentials:
		return dialect.Unauthenticated
	case NotFound:
		return dialect.NotFound
	case BadRequest:
		return dialect.Invalid
	case TooLarge:
		return dialect.TooLarge
	case BodyTimeout:
		return dialect.BodyTimeout
	case BadGateway:
		return dialect.BadGateway
	case GatewayTimeout:
		return dialect.GatewayTimeout
	default:
		return dialect.Unavailable
	}
}
