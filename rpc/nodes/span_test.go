package nodes

import (
	"errors"
	"testing"
	"time"

	"go.opentelemetry.io/otel/propagation"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"google.golang.org/grpc/metadata"

	"github.com/jeton-dev/jeton/actor/limit"
)

// A call that asks one node after another and one beside another says so on its span, once, and its key is not there.
func TestSpanOfACall(t *testing.T) {
	spans := tracetest.NewInMemoryExporter()
	p := sdk.NewTracerProvider(sdk.WithSyncer(spans))
	s := &Set{tracer: p.Tracer("test")}
	s.table.Store(&table{})
	ctx, above := p.Tracer("test").Start(t.Context(), "above")
	w := s.watch(ctx)
	below := w.begin(w.begin(ctx, "jeton.check"), "jeton.check")
	a, b := &Node{address: "a"}, &Node{address: "b"}
	w.asks(a, 1)
	w.hedged(a)
	w.asks(b, 1)
	w.failed(b, errors.New("secret"))
	w.end(&limit.Request{Key: "secret", Limits: []limit.Ref{limit.Named("login")}}, &limit.Decision{Node: "b", Limits: []limit.Outcome{{Name: "login", RetryAfter: time.Second}}}, nil)
	above.End()
	got := spans.GetSpans()
	if len(got) != 2 || got[0].Name != "jeton.check" || got[0].Parent.SpanID() != got[1].SpanContext.SpanID() {
		t.Fatalf("%+v", got)
	}
	has := map[string]string{}
	for _, a := range got[0].Attributes {
		has[string(a.Key)] = a.Value.String()
	}
	for name, want := range map[string]string{
		"server.address": "b", "jeton.nodes_asked": "2", "jeton.hedges": "1", "jeton.retries": "1", "jeton.allowed": "false",
		"jeton.denied_by": "login", "jeton.retry_after_ms": "1000", "jeton.limits": `["login"]`,
	} {
		if has[name] != want {
			t.Errorf("%s is %q, want %q", name, has[name], want)
		}
	}
	if n := len(got[0].Events); n != 4 {
		t.Errorf("%d events, want 4", n)
	}
	// The node that is asked hears of that span, and of no other.
	md, _ := metadata.FromOutgoingContext(named(below))
	heard := propagation.TraceContext{}.Extract(t.Context(), propagation.HeaderCarrier{"Traceparent": md["traceparent"]})
	if text := (&Node{traces: true}).traceOf(heard); text == "" || text != (&Node{traces: true}).traceOf(below) {
		t.Errorf("the node hears of %q", text)
	}
}

// What is not traced costs no allocation, whether there is a tracer or not, and no trace begins at a node for a call to another one.
func TestNoSpan(t *testing.T) {
	p := sdk.NewTracerProvider()
	none, node := &Set{}, &Set{tracer: p.Tracer("test"), own: &Node{}}
	unsampled := propagation.TraceContext{}.Extract(t.Context(), propagation.MapCarrier{"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"})
	n, d := &Node{address: "a", traces: true}, limit.Decision{}
	if allocated := testing.AllocsPerRun(100, func() {
		for _, w := range []*watch{none.watch(unsampled), node.watch(unsampled), node.watch(t.Context())} {
			if w != nil {
				t.Error("a call is traced that is not to be")
			}
			ctx := w.begin(unsampled, "jeton.check")
			w.asks(n, 1)
			w.hedged(n)
			w.failed(n, nil)
			w.end(nil, &d, nil)
			w.endAll(nil)
			if n.traceOf(ctx) != "" || named(ctx) != ctx {
				t.Error("a node hears of a trace that is not sampled")
			}
		}
	}); allocated != 0 {
		t.Errorf("%v allocations", allocated)
	}
}
