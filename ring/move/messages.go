package move

import (
	"slices"

	"github.com/jeton-dev/jeton/ring"
)

// An Event is an input of a move: Placed, Answer, Back or Tick.
type Event interface{ event() }

// Placed is the partition's place as raft has agreed on it, at the request of any driver.
type Placed struct{ Place ring.Place }

// An Answer is the result of an action. If it is not OK, the action may still have happened: its answer may be lost.
type Answer struct {
	To Action
	OK bool
}

// Back says that a node can be reached again after failures: failed tasks are retried at once.
type Back struct{ Node ring.NodeID }

// A Tick says that time has passed.
type Tick struct{}

func (Placed) event() {}
func (Answer) event() {}
func (Back) event()   {}
func (Tick) event()   {}

// An Action is a request of a move to its driver: Copy, Agree, Seal, Install, Commit or Complete. Each may be repeated, also
// after it has succeeded.
type Action interface{ action() }

// Copy makes the node fetch the partition's registers from those sources that it can reach, ahead of its install.
type Copy struct {
	Node    ring.NodeID
	Epoch   uint64 // the present one, in which the sources are replicas
	Sources []ring.NodeID
}

// Agree makes raft set the partition's Next, if Epoch is still its epoch.
type Agree struct {
	Epoch uint64
	Next  []ring.NodeID
}

// Seal makes the node refuse the epoch from now on. Only a node that has all registers of the epoch may do so.
type Seal struct {
	Node  ring.NodeID
	Epoch uint64
}

// Install makes the node complete its registers for the epoch, from Enough sources that are sealed in the one before, or
// from one source that has installed the epoch already.
type Install struct {
	Node    ring.NodeID
	Epoch   uint64
	Enough  int
	Sources []ring.NodeID // the node itself may be among them
}

// Complete makes the node complete its registers for the epoch from one source that has installed it. The number of sealed
// sources does not count: the replicas of the previous epoch are not known any more. A node that has installed the epoch
// itself is complete whatever its sources are.
type Complete struct {
	Node    ring.NodeID
	Epoch   uint64
	Sources []ring.NodeID
}

// Commit makes raft begin Epoch+1 with the replicas Next, if Epoch and Next are still the partition's.
type Commit struct {
	Epoch uint64
	Next  []ring.NodeID
}

func (Copy) action()     {}
func (Agree) action()    {}
func (Seal) action()     {}
func (Install) action()  {}
func (Complete) action() {}
func (Commit) action()   {}

// A Phase is how far the move of a partition has come.
type Phase uint8

// The phases, in their order.
const (
	Settled    Phase = iota // nothing to do
	Completing              // a member of the present epoch has not installed it yet, as far as this move knows
	Copying
	Agreeing
	Sealing
	Installing
	Committing
)

// String is the phase for logs and terminals.
func (p Phase) String() string {
	return [...]string{"settled", "completing", "copying", "agreeing", "sealing", "installing", "committing"}[p]
}

// Phase is the present phase.
func (m *Move) Phase() Phase {
	p := &m.place
	switch {
	case len(p.Next) > 0 && m.carried():
		return Committing
	case len(p.Next) > 0 && m.enoughSealed():
		return Installing
	case len(p.Next) > 0:
		return Sealing
	case len(p.Target) > 0 && !m.copied():
		return Copying
	case len(p.Target) > 0:
		return Agreeing
	case len(p.Replicas) > 1 && len(m.completed.done(p.Replicas)) < len(p.Replicas):
		return Completing
	}
	return Settled
}

// Wants reports whether an action that has not started is still useful. The driver may report any other as failed.
func (m *Move) Wants(a Action) bool {
	p := &m.place
	switch a := a.(type) {
	case Copy:
		return a.Epoch == p.Epoch && len(p.Next) == 0 && slices.Contains(p.Target, a.Node)
	case Agree:
		return a.Epoch == p.Epoch && slices.Equal(a.Next, p.Target) && !slices.Equal(a.Next, p.Next)
	case Seal:
		return a.Epoch == p.Epoch && len(p.Next) > 0
	case Install:
		return m.wantsInstall(a.Node, a.Epoch)
	case Complete:
		return m.wantsInstall(a.Node, a.Epoch)
	case Commit:
		return a.Epoch == p.Epoch && slices.Equal(a.Next, p.Next)
	}
	return false
}

func (m *Move) wantsInstall(node ring.NodeID, epoch uint64) bool {
	switch epoch {
	case m.place.Epoch:
		return m.place.Has(node) && !m.completed.of(node).done
	case m.place.Epoch + 1:
		return slices.Contains(m.place.Next, node) && !m.installs.of(node).done
	}
	return false
}
