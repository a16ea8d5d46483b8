package tracing

import (
	"fmt"
	"sync/atomic"
	"time"

	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// mostFromElsewhere is how many spans a second are made in traces that began elsewhere. Whoever sends a request can say that its trace is
// sampled: a client that says so of every request does not make a process trace all of them.
const mostFromElsewhere = 1000

// An atMost samples so many spans a second, by GCRA (ITU-T I.371) with a burst of a second's worth.
type atMost struct {
	every time.Duration
	now   func() time.Duration // since some moment; it never goes back, as clocks do that are set
	tat   atomic.Int64         // up to when the bucket's future is spent, in nanoseconds since that moment
}

func newAtMost(perSecond int, now func() time.Duration) *atMost {
	return &atMost{every: time.Second / time.Duration(perSecond), now: now}
}

// ShouldSample implements [sdk.Sampler].
func (a *atMost) ShouldSample(p sdk.SamplingParameters) sdk.SamplingResult {
	result := sdk.SamplingResult{Decision: sdk.Drop, Tracestate: trace.SpanContextFromContext(p.ParentContext).TraceState()}
	if a.take() {
		result.Decision = sdk.RecordAndSample
	}
	return result
}

// take reports whether there is a token, and takes it.
func (a *atMost) take() bool {
	now := int64(a.now())
	for {
		was := a.tat.Load()
		next := max(was, now) + int64(a.every)
		if next > now+int64(time.Second) {
			return false
		}
		if a.tat.CompareAndSwap(was, next) {
			return true
		}
	}
}

// Description implements [sdk.Sampler].
func (a *atMost) Description() string { return fmt.Sprintf("AtMost{%d/s}", time.Second/a.every) }
