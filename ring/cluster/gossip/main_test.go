package gossip

import (
	"testing"

	"go.uber.org/goleak"
)

// A memberlist that is shut down does not wait for a probe that is under way, which gives up a node some seconds later.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/hashicorp/memberlist.(*Memberlist).probeNode"))
}
