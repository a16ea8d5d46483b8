package rpc

import (
	"testing"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cluster-tests/conformance"
)

// A placing is a Limiter that knows who decides about a key first.
type placing struct{ limit.Limiter }

func (placing) First(key string) string { return "the owner of " + key }

// An edge on an Observed asks who decides about a key first: only the denials of that node are known there for a while.
func TestObservedKnowsWhoDecidesFirst(t *testing.T) {
	for want, of := range map[string]limit.Limiter{"the owner of k": placing{conformance.Stub{}}, "": conformance.Stub{}} {
		var around limit.Limiter = observed(t, ObservedConfig{Limiter: of})
		if places, ok := around.(interface{ First(key string) string }); !ok || places.First("k") != want {
			t.Errorf("%T: it does not say %q, or says nothing", of, want)
		}
	}
}
