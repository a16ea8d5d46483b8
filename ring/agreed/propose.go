package agreed

import "errors"

// Why a command that was proposed is not known to have taken effect, beside the reasons why it may be refused.
var (
	// ErrNotLeader says that nothing was proposed: another node leads, or none does.
	ErrNotLeader = errors.New("this node is not the leader")
	// ErrUnknownOutcome says that a proposal may take effect, later too. Commands compare and set: look at the state, or
	// propose it again.
	ErrUnknownOutcome = errors.New("the outcome of the proposal is unknown: it may still take effect")
)
