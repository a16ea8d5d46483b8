package rpc

import (
	"testing"

	sdk "go.opentelemetry.io/otel/sdk/trace"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cluster-tests/conformance"
)

// A placing is a Limiter that knows who decides about a key first.
type placing struct{ limit.Limiter }

func (placing) First(key string) string { return "the owner of " + key }

// An edge on a Traced asks who decides about a key first: only the denials of that node are known there for a while.
func TestTracedKnowsWhoDecidesFirst(t *testing.T) {
	spans := sdk.NewTracerProvider()
	for want, of := range map[string]limit.Limiter{"the owner of k": placing{conformance.Stub{}}, "": conformance.Stub{}} {
		var traced limit.Limiter = NewTraced(of, spans, "a")
		if places, ok := traced.(interface{ First(key string) string }); !ok || places.First("k") != want {
			t.Errorf("%T: it does not say %q, or says nothing", of, want)
		}
	}
}
