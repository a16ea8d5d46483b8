package traced

import (
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/jeton-dev/jeton/actor/limit"
)

// Decided puts a check and what became of it on its span, and ends the span. There is no key in it.
func Decided(span trace.Span, r *limit.Request, d *limit.Decision, err error) {
	names := make([]string, len(r.Limits))
	for i := range r.Limits {
		names[i] = r.Limits[i].Name
	}
	span.SetAttributes(attribute.StringSlice("jeton.limits", names), attribute.Int64("jeton.cost", r.Tokens()))
	if err != nil {
		Failed(span, err)
		return
	}
	span.SetAttributes(attribute.Bool("jeton.allowed", d.Allowed))
	if o := d.Denying(); o != nil {
		span.SetAttributes(attribute.String("jeton.denied_by", o.Name), attribute.Int64("jeton.retry_after_ms", o.RetryAfter.Milliseconds()))
	}
	span.End()
}

// DecidedAll is Decided for the checks of a batch.
func DecidedAll(span trace.Span, results []limit.Result) {
	var denied, failed int
	for i := range results {
		switch {
		case results[i].Err != nil:
			failed++
		case !results[i].Decision.Allowed:
			denied++
		}
	}
	span.SetAttributes(attribute.Int("jeton.checks", len(results)), attribute.Int("jeton.denied", denied), attribute.Int("jeton.undecided", failed))
	span.End()
}

// Failed ends a span of what failed.
func Failed(span trace.Span, err error) {
	span.SetStatus(codes.Error, Reason(err))
	span.End()
}
