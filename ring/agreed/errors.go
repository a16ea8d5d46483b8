package agreed

import "errors"

// Why a command is refused. A refused command has changed nothing.
var (
	// ErrNotFounded refuses every command before the cluster is founded.
	ErrNotFounded = errors.New("the cluster is not founded yet")
	// ErrFounded refuses to found a cluster twice.
	ErrFounded = errors.New("the cluster is already founded")
	// ErrInvalid refuses a command that makes no sense in any state.
	ErrInvalid = errors.New("the command is invalid")
	// ErrStale refuses a command that was made for another state: look again.
	ErrStale = errors.New("the state has changed meanwhile")
	// ErrUnknownNode refuses a command about a node that is no member.
	ErrUnknownNode = errors.New("the node is not a member of the cluster")
	// ErrRemoved refuses a node that was removed or replaced: its disk is not taken back.
	ErrRemoved = errors.New("the node was permanently removed from the cluster")
	// ErrNameTaken refuses a name that another member has.
	ErrNameTaken = errors.New("another node has this name")
	// ErrMarkNotHigher refuses a mark: the disk is an old copy, or two processes run on copies of one disk.
	ErrMarkNotHigher = errors.New("the node has already raised a higher mark")
	// ErrHasPlaces refuses to remove a node that still keeps partitions.
	ErrHasPlaces = errors.New("the node still has partitions")
	// ErrTooMany refuses what would be more than the agreed state may hold.
	ErrTooMany = errors.New("the cluster keeps no more of these")
	// ErrLevel refuses what only a higher level of the cluster allows, or what a node cannot do at that level.
	ErrLevel = errors.New("the level of the cluster does not allow it")
	// ErrTooFew refuses what would leave too few nodes, or too few that know a partition's registers.
	ErrTooFew = errors.New("too few nodes would be left")
)

// Why a command that was proposed is not known to have taken effect, beside the reasons why it may be refused.
var (
	// ErrNotLeader says that nothing was proposed: another node leads, or none does.
	ErrNotLeader = errors.New("this node is not the leader")
	// ErrUnknownOutcome says that a proposal may take effect, later too. Commands compare and set: look at the state, or
	// propose it again.
	ErrUnknownOutcome = errors.New("the outcome of the proposal is unknown: it may still take effect")
)
