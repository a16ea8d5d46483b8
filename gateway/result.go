package gateway

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/gateway/answer"
	"github.com/jeton-dev/jeton/gateway/config"
	"github.com/jeton-dev/jeton/gateway/denial"
	"github.com/jeton-dev/jeton/gateway/fallback"
	"github.com/jeton-dev/jeton/gateway/identity"
	"github.com/jeton-dev/jeton/internal/exemplar"
	"github.com/jeton-dev/jeton/internal/traced"
)

// passes reports whether the request goes on.
func (v *visit) passes() bool { return v.outcome.passes() }

// writer writes answers as the route says, or else the document.
func (v *visit) writer() *answer.Writer {
	if v.route != nil {
		return v.route.answer
	}
	return v.rules.answer
}

// finish publishes the result: the memory of denials, metrics, the log, the span.
func (v *visit) finish(ctx context.Context, span trace.Span, start time.Time) {
	g := v.gateway
	if v.outcome.remembered() {
		v.remember(start)
	}
	series := v.rules.other
	if v.route != nil {
		series = v.route.series
	}
	if v.outcome < tooLarge {
		series.count(v.outcome)
	} else {
		v.rules.failures.count(v.outcome)
	}
	if v.llm != nil && v.passes() {
		v.startExchange(ctx, start)
	}
	if v.source != "" {
		exemplar.Observe(g.metrics.seconds, max(g.now().Sub(start)-v.held, 0).Seconds(), exemplar.Of(ctx))
	}
	if v.logged() {
		v.log(ctx)
	}
	if span != nil {
		v.describe(span)
		span.End()
	}
}

// startExchange begins the exchange of a request to a language model that passes.
func (v *visit) startExchange(ctx context.Context, at time.Time) {
	record := denial.Record{
		At: at, Route: v.request.Route, Method: clip(v.request.Method, maxMethod), Path: clip(v.request.Path, maxPath), Reason: v.outcome.String(),
		Cost: v.cost, Node: v.node, Source: string(v.source), APIKey: v.facts.KeyLabel(), Exchange: v.llm.described(),
	}
	if v.key.Text != "" {
		record.Key = shownKey(v.key)
	}
	record.Undecided = v.open.why()
	v.llm.id = v.llm.exchange.Start(ctx, record, sampled(v.rules.document.Log.Allowed))
}

// remember keeps a refusal, so that operators can look it up by its id, and a forward-auth proxy can fetch the answer.
func (v *visit) remember(at time.Time) {
	r := &denial.Record{
		At: at, Route: v.request.Route, Method: clip(v.request.Method, maxMethod), Path: clip(v.request.Path, maxPath),
		Status: v.writer().Status(v.refusal.Kind), Reason: v.outcome.String(), Cost: v.cost, Node: v.node, Source: string(v.source),
		KnownSince: v.since, APIKey: v.facts.KeyLabel(),
	}
	if v.key.Text != "" {
		r.Key = shownKey(v.key)
	}
	r.Undecided = v.open.why()
	r.Why = undecided{v.asked, v.key, v.failure}.why()
	if flaw := v.facts.Flaw(); flaw != (identity.Flaw{}) {
		r.Flaw = &denial.Flaw{Credential: flaw.Credential, Check: flaw.Check}
	}
	if len(v.refusal.Quotas) > 0 {
		r.Wait = v.mayWait
	}
	for i, q := range v.refusal.Quotas {
		l := denial.Limit{Outcome: q.Outcome, Counts: countedAs(q.Counts), Earlier: i < v.earlier}
		if v.key.Secret && v.key.Text != "" {
			l.Outcome.Override = strings.ReplaceAll(l.Outcome.Override, limit.Quote(v.key.Text), r.Key)
		}
		if q.Rule != nil {
			l.Rule = &q.Rule.Limit
		}
		r.Limits = append(r.Limits, l)
	}
	if n := len(r.Limits); n > 0 {
		r.Counts = r.Limits[n-1].Counts
	}
	r.Exchange = v.llm.described()
	again := replay{refusal: v.refusal, writer: v.writer(), origin: clip(v.request.Header.Get("Origin"), maxOrigin)}
	again.refusal.Quotas = append([]answer.Quota(nil), v.refusal.Quotas...)
	r.Attached = &again
	memory := v.gateway.memory
	if v.source == fallback.ByKnown {
		memory = v.gateway.repeats
	}
	v.refusal.ID = memory.Remember(r)
	again.refusal.ID, again.refusal.Call = v.refusal.ID, 0 // the replay goes to a proxy, which makes no gRPC call
}

// countedAs is what a record says that a check counts: nothing for requests.
func countedAs(counts string) string {
	if counts == config.CountsRequests {
		return ""
	}
	return counts
}

// A replay is the answer to a refused request, kept for a forward-auth proxy that fetches it.
type replay struct {
	refusal answer.Refusal
	writer  *answer.Writer
	origin  string // of the page that sent the request; empty for none
}

// logged reports whether the request is one of those that are logged. A denial that is repeated is not: the next one that a node decides
// says how many there were. Where there is an access log, it has them.
func (v *visit) logged() bool {
	if v.source == fallback.ByKnown || v.gateway.access != nil {
		return false
	}
	share := v.rules.document.Log.Allowed
	if !v.passes() && v.outcome != preflight {
		share = v.rules.document.Log.DeniedShare()
	}
	return sampled(share)
}

// log writes the line of a decision. It has no paths and headers, which may contain secrets.
func (v *visit) log(ctx context.Context) {
	attrs := make([]slog.Attr, 0, 16)
	attrs = append(attrs, slog.String("outcome", v.outcome.String()), slog.String("method", clip(v.request.Method, maxMethod)))
	if v.route != nil {
		attrs = append(attrs, slog.String("route", v.route.name))
	}
	if v.key.Text != "" {
		attrs = append(attrs, slog.String("key", shownKey(v.key)), slog.Int64("cost", v.cost))
	}
	if label := v.facts.KeyLabel(); label != "" {
		attrs = append(attrs, slog.String("api_key", label))
	}
	if flaw := v.facts.Flaw(); flaw != (identity.Flaw{}) {
		attrs = append(attrs, slog.String("flaw", flaw.String()))
	}
	attrs = append(attrs, v.llm.attrs()...)
	if q := answer.Nearest(v.quotas); q != nil {
		attrs = append(attrs, slog.String("limit", q.Name), slog.Int64("remaining", q.Remaining), slog.Duration("retry_after", q.RetryAfter))
	}
	if v.source != "" {
		attrs = append(attrs, slog.String("by", string(v.source)), slog.String("node", v.node))
	}
	attrs = append(attrs, repeatedAttr(v.repeats))
	if v.failure != nil {
		attrs = append(attrs, slog.String("error", v.failure.Error()))
	}
	if v.refusal.ID != "" {
		attrs = append(attrs, slog.String("denial", v.refusal.ID))
	}
	if at := trace.SpanContextFromContext(ctx); at.IsValid() {
		attrs = append(attrs, slog.String("trace_id", at.TraceID().String()))
	}
	v.gateway.log.LogAttrs(ctx, slog.LevelInfo, "decision", attrs...)
}

// repeatedAttr says how many times the denial before was repeated; a log leaves it out where that is 0.
func repeatedAttr(n int64) slog.Attr {
	if n == 0 {
		return slog.Attr{}
	}
	return slog.Int64("repeated", n)
}

// describe puts the result on the span.
func (v *visit) describe(span trace.Span) {
	if !span.IsRecording() {
		return
	}
	span.SetAttributes(attribute.String("jeton.outcome", v.outcome.String()))
	if v.route != nil {
		span.SetAttributes(attribute.String("jeton.route", v.route.name))
	}
	if v.llm != nil {
		span.SetAttributes(attribute.String("jeton.exchange", v.llm.id), attribute.Int64("jeton.estimate", v.llm.estimate.Total()),
			attribute.Int64("jeton.lowered", v.llm.lowered))
	}
	if q := answer.Nearest(v.quotas); q != nil {
		span.SetAttributes(attribute.String("jeton.limit", q.Name), attribute.Int64("jeton.remaining", q.Remaining))
	}
	if v.source != "" {
		span.SetAttributes(attribute.String("jeton.by", string(v.source)), attribute.String("jeton.node", v.node))
	}
	if v.refusal.ID != "" {
		span.SetAttributes(attribute.String("jeton.denial", v.refusal.ID))
	}
	if v.failure != nil {
		span.SetStatus(codes.Error, traced.Reason(v.failure)) // its words may have the key in them
	}
}

// answer puts the headers on the answer of a request and, if it does not pass, answers it. It reports whether it passes.
func (v *visit) answer(w http.ResponseWriter) bool {
	if v.passes() {
		v.setHeaders(w.Header())
		return true
	}
	v.setDecisionHeader(w.Header())
	if v.outcome == preflight {
		v.writer().Preflight(w, v.request.Header)
		return false
	}
	v.writer().Refuse(w, &v.refusal)
	return false
}

// setHeaders sets the limit headers of a request that passes.
func (v *visit) setHeaders(h http.Header) {
	if len(v.quotas) > 0 {
		v.writer().Tell(h, v.quotas)
	}
	v.llm.setID(h, v.writer().Dialect())
	v.setDecisionHeader(h)
}

// setDecisionHeader says what decided, if the document asks for that header.
func (v *visit) setDecisionHeader(h http.Header) {
	w := v.writer()
	if !w.Explains() {
		return
	}
	by := v.outcome.String()
	switch {
	case v.failure != nil:
		by += "; by=" + string(v.source) + "; because=" + v.failure.Error()
	case v.source != "":
		by += "; by=" + string(v.source) + "; node=" + v.node
		if !v.since.IsZero() {
			by += "; since=" + v.since.UTC().Format("2006-01-02T15:04:05.000Z")
		}
	}
	w.Explain(h, by)
}

// share lets pages of other origins read the answer as the route says, where that differs from the document.
func (v *visit) share(h http.Header) {
	if w := v.writer(); w != v.rules.answer {
		v.rules.answer.Unshare(h)
		w.Share(h, v.request.Header.Get("Origin"))
	}
}
