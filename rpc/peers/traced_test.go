package peers

import (
	"fmt"
	"testing"

	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	reg "github.com/jeton-dev/jeton/storage/register"
)

// However many checks of a message are traced, making its spans takes a bounded time: it holds up what is decided meanwhile.
func TestSpansOfAMessageAreBounded(t *testing.T) {
	for _, n := range []int{0, 1, 2, maxLinks + 1, maxTraced, 2 * maxTraced} {
		spans := tracetest.NewSpanRecorder()
		by := sdk.NewTracerProvider(sdk.WithSpanProcessor(spans))
		rs := make([]reg.Reservation, 3*maxTraced)
		for i := range n {
			rs[i].Trace = fmt.Sprintf("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203%03x-01", i)
		}
		done := 0
		TraceOwn(nil, by, "a").(tracedReplica).writes.follow(rs, func([]reg.Answer, error) { done++ })(make([]reg.Answer, len(rs)), nil)
		ended := spans.Ended()
		if len(ended) != min(n, maxTraced) || done != 1 {
			t.Errorf("%d checks have %d spans, and are answered %d times", n, len(ended), done)
		}
		for _, span := range ended {
			others := map[string]bool{}
			for _, link := range span.Links() {
				others[link.SpanContext.SpanID().String()] = true
			}
			if len(others) != min(maxLinks, len(ended)-1) || len(others) != len(span.Links()) || others[span.Parent().SpanID().String()] {
				t.Errorf("of %d checks, that of %s has links to %v", n, span.Parent().SpanID(), others)
			}
		}
	}
}
