package gateway

import (
	"context"
	"net/http"
	"time"

	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc/codes"

	"github.com/jeton-dev/jeton/gateway/accesslog"
	"github.com/jeton-dev/jeton/gateway/answer"
	"github.com/jeton-dev/jeton/gateway/config"
	"github.com/jeton-dev/jeton/gateway/denial"
	"github.com/jeton-dev/jeton/gateway/identity"
)

// An access is the line of the access log about one request. It belongs to the goroutine of the request, which ends it. A nil access is of a
// request that has no line.
type access struct {
	entry accesslog.Entry
	log   *accesslog.Log
	start time.Time
	sent  time.Time // when an upstream was asked; zero if none was
	now   func() time.Time
}

// end writes the line, with the status of the answer, or 0 if there was none.
func (a *access) end(status int) {
	if a == nil || a.log == nil {
		return
	}
	a.entry.Status = status
	a.entry.Duration = accesslog.Millis(a.now().Sub(a.start))
	a.log.Write(&a.entry)
	a.log = nil // once
}

// endCall writes the line of a gRPC call, with its status.
func (a *access) endCall(code codes.Code) {
	if a != nil {
		a.entry.GRPC = code.String()
		a.end(answer.StatusOf(code))
	}
}

// forwards notes that an upstream is asked now.
func (a *access) forwards() {
	if a != nil {
		a.sent = a.now()
	}
}

// answered notes that its answer begins now.
func (a *access) answered() {
	if a != nil && !a.sent.IsZero() {
		a.entry.Upstream = accesslog.Millis(a.now().Sub(a.sent))
	}
}

// failed writes the line of a request that has passed, and had no answer of an upstream.
func (a *access) failed(o outcome, status int) {
	if a == nil {
		return
	}
	a.entry.Outcome = o.String()
	if o == canceled {
		status = 0
	}
	a.end(status)
}

// newAccess is the line about the request; nil if it has none.
func (v *visit) newAccess(ctx context.Context, start time.Time) *access {
	g, says := v.gateway, v.rules.document.AccessLog
	if g.access == nil {
		return nil
	}
	switch says.Logged() {
	case config.LogsDenied:
		if v.passes() || v.outcome == preflight {
			return nil
		}
	case config.LogsUndecided:
		if v.failure == nil && v.open.err == nil {
			return nil
		}
	}
	if !sampled(says.SampleShare()) {
		return nil
	}
	a := &access{log: g.access, start: start, now: g.now}
	v.tell(ctx, &a.entry, says)
	a.entry.Time, a.entry.Decision = start.UTC(), accesslog.Millis(max(g.now().Sub(start)-v.held, 0))
	return a
}

// writeAccess makes the line about the request, and writes it if the request does not pass. Otherwise the handler ends it.
func (v *visit) writeAccess(ctx context.Context, start time.Time) {
	v.access = v.newAccess(ctx, start)
	switch {
	case v.access == nil || v.passes():
	case v.outcome == preflight:
		v.access.end(http.StatusNoContent)
	case v.outcome == canceled:
		v.access.end(0)
	default:
		v.access.end(v.writer().Status(v.refusal.Kind))
	}
}

// tell writes what is known of the request after its decision.
func (v *visit) tell(ctx context.Context, e *accesslog.Entry, says config.AccessLog) {
	q := &v.request
	e.Outcome, e.Method, e.Host, e.Path = v.outcome.String(), clip(q.Method, maxMethod), clip(q.Host, maxPath), clip(v.target.Path, maxPath)
	if says.Query && q.RawQuery != "" {
		e.Path = clip(v.target.Path+"?"+q.RawQuery, maxPath)
	}
	e.Route, e.Denial, e.APIKey, e.Held = q.Route, v.refusal.ID, v.facts.KeyLabel(), accesslog.Millis(v.held)
	e.By, e.Node, e.Repeated = string(v.source), v.node, v.repeats
	e.RequestID, e.UserAgent = clip(q.Header.Get("X-Request-Id"), maxPath), clip(q.Header.Get("User-Agent"), maxPath)
	if v.call && !v.passes() {
		e.GRPC = v.outcome.code().String()
	}
	if client := v.facts.Client(); client.IsValid() {
		e.Client = hashedIf(says.HashKeys, client.String())
	}
	for i, outcome := range v.quotas {
		l := accesslog.Limit{Limit: outcome.Name, Allowed: outcome.Allowed, Remaining: outcome.Remaining, RetryAfter: accesslog.Millis(outcome.RetryAfter)}
		if i < len(v.quotaKeys) {
			l.Key = loggedKey(v.quotaKeys[i], says.HashKeys)
		}
		e.Limits = append(e.Limits, l)
	}
	if len(v.quotas) == 0 && v.key.Text != "" { // refused by a list, or undecided
		for _, name := range v.asked {
			e.Limits = append(e.Limits, accesslog.Limit{Limit: name, Key: loggedKey(v.key, says.HashKeys)})
		}
	}
	e.Error = v.undecidedBy(says.HashKeys)
	if at := trace.SpanContextFromContext(ctx); at.IsValid() {
		e.TraceID = at.TraceID().String()
	}
}

// undecidedBy says why the cluster did not decide; empty if it did.
func (v *visit) undecidedBy(hash bool) string {
	u := undecided{v.asked, v.key, v.failure}
	if u.err == nil {
		u = v.open
	}
	u.key.Secret = u.key.Secret || hash // its words have the hash then
	return u.why()
}

// loggedKey is a key as the access log has it: its hash if it contains a secret, or all keys are hashed.
func loggedKey(k identity.Key, hash bool) string {
	k.Secret = k.Secret || hash
	return shownKey(k)
}

func hashedIf(hash bool, text string) string {
	if hash {
		return denial.Hash(text)
	}
	return text
}

// logUnstarted writes the line of a request about which no more was decided than that it has no place among the concurrent ones, or that
// the proxy which asks does not say what it asks about.
func (g *Gateway) logUnstarted(r *rules, q *identity.Request, o outcome) {
	says := r.document.AccessLog
	if g.access == nil || says.Logged() == config.LogsUndecided || !sampled(says.SampleShare()) {
		return
	}
	g.access.Write(&accesslog.Entry{
		Time: g.now().UTC(), Outcome: o.String(), Status: r.answer.Status(o.kind()), Method: clip(q.Method, maxMethod), Host: clip(q.Host, maxPath),
		Path: clip(q.Path, maxPath), RequestID: clip(q.Header.Get("X-Request-Id"), maxPath), UserAgent: clip(q.Header.Get("User-Agent"), maxPath),
	})
}
