package gateway

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/jeton-dev/jeton/gateway/answer"
	"github.com/jeton-dev/jeton/gateway/denial"
	"github.com/jeton-dev/jeton/gateway/identity"
)

// tracerName is the instrumentation scope of the spans.
const tracerName = "github.com/jeton-dev/jeton/gateway"

// w3c reads and writes the trace context of W3C (https://www.w3.org/TR/trace-context/).
var w3c = propagation.TraceContext{}

// startSpan begins the span of a decision, as a part of the trace that the request came with. Without a tracer there is
// none: then its headers go on as they came.
func (g *Gateway) startSpan(ctx context.Context, from http.Header) (context.Context, trace.Span) {
	if g.tracer == nil {
		return ctx, nil
	}
	if from != nil {
		ctx = w3c.Extract(ctx, propagation.HeaderCarrier(from))
	}
	return g.tracer.Start(ctx, "jeton.decide", trace.WithSpanKind(trace.SpanKindInternal))
}

// inject says to an upstream which span its request is a part of, if there is one.
func inject(r *http.Request) {
	if trace.SpanContextFromContext(r.Context()).IsValid() {
		w3c.Inject(r.Context(), propagation.HeaderCarrier(r.Header))
	}
}

// finish makes known what became of a request.
func (v *visit) finish(ctx context.Context, span trace.Span, start time.Time) {
	g := v.gateway
	if v.outcome.remembered() {
		v.remember(start)
	}
	series := v.rules.other
	if v.route != nil {
		series = v.route.series
	}
	series.count(v.outcome)
	if v.source != "" {
		g.metrics.seconds.Observe(g.now().Sub(start).Seconds())
	}
	if v.sampled() {
		v.log(ctx)
	}
	if span != nil {
		v.describe(span)
		span.End()
	}
}

// sampled says whether the request is logged.
func (v *visit) sampled() bool {
	share := v.rules.document.Log.Allowed
	if !v.passes() && v.outcome != preflight {
		share = v.rules.document.Log.DeniedShare()
	}
	return drawn(share)
}

// drawn says yes for that share of the calls.
func drawn(share float64) bool { return share >= 1 || share > 0 && rand.Float64() < share }

// log writes the line of a decision. Paths and headers may hold secrets, and are not in it.
func (v *visit) log(ctx context.Context) {
	attrs := make([]slog.Attr, 0, 16)
	attrs = append(attrs, slog.String("outcome", v.outcome.String()), slog.String("method", brief(v.request.Method, mostMethod)))
	if v.route != nil {
		attrs = append(attrs, slog.String("route", v.route.name))
	}
	if v.key.Text != "" {
		attrs = append(attrs, slog.String("key", shown(v.key)), slog.Int64("cost", v.cost))
	}
	if label := v.facts.KeyLabel(); label != "" {
		attrs = append(attrs, slog.String("api_key", label))
	}
	if flaw := v.facts.Flaw(); flaw != (identity.Flaw{}) {
		attrs = append(attrs, slog.String("flaw", flaw.String()))
	}
	if q := answer.Nearest(v.quotas); q != nil {
		attrs = append(attrs, slog.String("limit", q.Name), slog.Int64("remaining", q.Remaining), slog.Duration("retry_after", q.RetryAfter))
	}
	if v.source != "" {
		attrs = append(attrs, slog.String("by", string(v.source)), slog.String("node", v.node))
	}
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

// shown is a key for people: its hash if it is made of what nobody else may know.
func shown(k identity.Key) string {
	if k.Secret {
		return denial.Hash(k.Text)
	}
	return k.Text
}

// describe puts on a span what was decided.
func (v *visit) describe(span trace.Span) {
	if !span.IsRecording() {
		return
	}
	span.SetAttributes(attribute.String("jeton.outcome", v.outcome.String()))
	if v.route != nil {
		span.SetAttributes(attribute.String("jeton.route", v.route.name))
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
		span.SetStatus(codes.Error, v.failure.Error())
	}
}

// Of what clients send, no more than this is kept.
const (
	mostPath   = 512
	mostMethod = 16
	mostOrigin = 300 // a scheme, a name of at most 253 bytes, and a port
)

// brief is the beginning of a text, apart from the much longer one that it may be a piece of.
func brief(s string, most int) string { return strings.Clone(s[:min(len(s), most)]) }

// remember keeps a refusal for whoever asks why.
func (v *visit) remember(at time.Time) {
	r := &denial.Record{
		At: at, Route: v.request.Route, Method: brief(v.request.Method, mostMethod), Path: brief(v.request.Path, mostPath),
		Status: v.writer().Status(v.refusal.Kind), Reason: v.outcome.String(), Cost: v.cost, Node: v.node, Source: string(v.source),
		APIKey: v.facts.KeyLabel(),
	}
	if v.key.Text != "" {
		r.Key = shown(v.key)
	}
	if r.Why = undecided(v.asked, v.failure); v.key.Secret && v.key.Text != "" {
		r.Why = strings.ReplaceAll(r.Why, v.key.Text, r.Key)
	}
	if flaw := v.facts.Flaw(); flaw != (identity.Flaw{}) {
		r.Flaw = &denial.Flaw{Credential: flaw.Credential, Check: flaw.Check}
	}
	for _, q := range v.refusal.Quotas {
		l := denial.Limit{Outcome: q.Outcome}
		if q.Rule != nil {
			l.Rule = &q.Rule.Limit
		}
		r.Limits = append(r.Limits, l)
	}
	again := replay{refusal: v.refusal, writer: v.writer(), origin: brief(v.request.Header.Get("Origin"), mostOrigin)}
	again.refusal.Quotas = append([]answer.Quota(nil), v.refusal.Quotas...)
	r.Attached = &again
	v.refusal.ID = v.gateway.memory.Remember(r)
	again.refusal.ID, again.refusal.Call = v.refusal.ID, 0 // whoever asks again makes no call
}

// A replay is the answer to a refused request, to be given again.
type replay struct {
	refusal answer.Refusal
	writer  *answer.Writer
	origin  string // of the page that sent the request; empty for none
}
