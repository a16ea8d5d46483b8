package move

import "github.com/jeton-dev/jeton/ring"

// An Event is an input of a move: Placed, Answer, Back or Tick.
type Event interface{ event() }

// Placed is the partition's place as raft has agreed on it, at the request of any driver.
type Placed struct{ Place ring.Place }

// An Answer is the result of an action. If it is not OK, the action may still have happened: its answer may be lost.
type Answer struct {
	To Action
	OK bool
	// Floored says of a node that has sealed that it has a floor: it does not know all that it has accepted.
	Floored bool
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
