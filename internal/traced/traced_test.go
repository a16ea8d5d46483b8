package traced

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/jeton-dev/jeton/actor/limit"
)

const aParent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-"

func TestTextGoesThereAndBack(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{aParent + "01", aParent + "01"},
		{aParent + "01 a=1,b=2", aParent + "01 a=1,b=2"},
		{aParent + "00", ""}, // not sampled: nothing is said
		{aParent + "00 a=1", ""},
		{"", ""},
		{"nonsense", ""},
		{aParent + "01 not a state", aParent + "01"},
		{aParent + "01 a=" + strings.Repeat("x", maxText), ""},
	} {
		if got := Text(UnderText(t.Context(), test.text)); got != test.want {
			t.Errorf("%q comes back as %q, want %q", test.text, got, test.want)
		}
	}
}

// A span starts where the trace is sampled, and else what is asked below is not traced either.
func TestStart(t *testing.T) {
	all := sdk.NewTracerProvider(sdk.WithSampler(sdk.ParentBased(sdk.AlwaysSample()))).Tracer("test")
	none := sdk.NewTracerProvider(sdk.WithSampler(sdk.ParentBased(sdk.NeverSample()))).Tracer("test")
	for _, test := range []struct {
		what   string
		tracer trace.Tracer
		under  string
		want   bool
	}{
		{"no tracer", nil, "01", false},
		{"no parent", all, "", true},
		{"no parent, none wanted", none, "", false},
		{"a sampled parent", none, "01", true},
		{"one that is not sampled", all, "00", false},
		{"a tracer of nothing", noop.Tracer{}, "", false},
	} {
		ctx := t.Context()
		if test.under != "" {
			ctx = UnderText(ctx, aParent+test.under)
		}
		below, span := Start(ctx, test.tracer, "span")
		if (span != nil) != test.want {
			t.Errorf("%s: started is %v", test.what, span != nil)
		}
		if _, again := Start(below, test.tracer, "span"); (again != nil) != test.want {
			t.Errorf("%s: below, started is %v", test.what, again != nil)
		}
		if span != nil && test.under != "" && trace.SpanContextFromContext(below).TraceID().String() != aParent[3:35] {
			t.Errorf("%s: it is in another trace", test.what)
		}
	}
}

func TestNothingIsAllocated(t *testing.T) {
	tracer := sdk.NewTracerProvider().Tracer("test")
	unsampled := UnderText(t.Context(), aParent+"00")
	if n := testing.AllocsPerRun(100, func() {
		Start(t.Context(), nil, "span")
		Start(unsampled, tracer, "span")
		if Text(unsampled) != "" {
			t.Error("it says something of a trace that is not sampled")
		}
	}); n != 0 {
		t.Errorf("%v allocations without a sampled trace", n)
	}
}

// What traces say of an error has no key in it.
func TestReasonHasNoKey(t *testing.T) {
	for _, test := range []struct {
		err  error
		want string
	}{
		{fmt.Errorf("%w: node b is not a replica of the partition of \"secret\"", limit.ErrUnavailable), "unavailable"},
		{&limit.FieldError{Field: "key", Problem: "secret"}, "invalid: key"},
		{fmt.Errorf("secret: %w", context.DeadlineExceeded), "deadline exceeded"},
		{fmt.Errorf("secret: %w", context.Canceled), "canceled"},
		{fmt.Errorf("secret: %w", limit.ErrOverloaded), "overloaded"},
		{fmt.Errorf("secret: %w", limit.ErrUnknownLimit), "unknown limit"},
		{errors.New("secret"), "error"},
	} {
		if got := Reason(test.err); got != test.want {
			t.Errorf("%v: %q, want %q", test.err, got, test.want)
		}
	}
}

func FuzzUnderText(f *testing.F) {
	f.Add(aParent + "01 a=1")
	f.Add("00-")
	f.Fuzz(func(t *testing.T, text string) {
		once := Text(UnderText(context.Background(), text))
		if again := Text(UnderText(context.Background(), once)); again != once {
			t.Errorf("%q becomes %q, and that %q", text, once, again)
		}
	})
}
