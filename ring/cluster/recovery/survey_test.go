package recovery

import (
	"errors"
	"net"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/jeton-dev/jeton/ring/agreed/agreedtest"
	"github.com/jeton-dev/jeton/ring/cluster/consensus"
	"github.com/jeton-dev/jeton/ring/cluster/message"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Where raft has kept its majority, a node that has not proved its disk yet is waited for: in a moment it may accept in an
// epoch that was left behind because it did not count.
func TestNoRecoveryBeforeADiskIsProved(t *testing.T) {
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	own := agreedtest.ID(1)
	agreement, err := consensus.Open(consensus.Config{Dir: t.TempDir(), ID: own, Listener: listener, Advertise: listener.Addr().String()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := agreement.Stop(); err != nil {
			t.Error(err)
		}
	}()
	r := New(Config{ID: own, Name: "a", Agreement: agreement})
	known := &knowledge{newest: survey{ID: own}}
	known.add("b", survey{Proved: true})
	if err := r.mayRecover(known, false); !errors.Is(err, message.ErrUnreachable) || !strings.Contains(err.Error(), "start those that are down") {
		t.Errorf("raft does not run here: %v", err)
	}
	if err := agreement.Start(); err != nil {
		t.Fatal(err)
	}
	if err := r.mayRecover(known, false); err != nil {
		t.Error(err)
	}
	known.add("c", survey{})
	if err := r.mayRecover(known, false); !errors.Is(err, message.ErrUnreachable) || !strings.Contains(err.Error(), `"c"`) {
		t.Errorf("an unproved disk is passed over: %v", err)
	}
	if err := r.mayRecover(known, true); err != nil {
		t.Errorf("with raft's majority lost no node can prove anything: %v", err)
	}
}
