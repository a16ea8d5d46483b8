package agreed

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/jeton-dev/jeton/ring"
)

// A Command asks for the next state. Exactly one field is set, and By, where an operator has asked for it. Commands compare and set: one that was made for another
// state is refused, so one whose fate is unknown may be proposed again.
type Command struct {
	Found     *Found     `json:"found,omitempty"`
	Join      *Join      `json:"join,omitempty"`
	Replace   *Replace   `json:"replace,omitempty"`
	Mark      *RaiseMark `json:"mark,omitempty"`
	Drain     *Drain     `json:"drain,omitempty"`
	Undrain   *Undrain   `json:"undrain,omitempty"`
	Remove    *Remove    `json:"remove,omitempty"`
	SetTarget *SetTarget `json:"set_target,omitempty"`
	SetNext   *SetNext   `json:"set_next,omitempty"`
	Commit    *Commit    `json:"commit,omitempty"`
	SetLimits *SetLimits `json:"set_limits,omitempty"`
	Recover   *Recover   `json:"recover,omitempty"`
	Note      *Note      `json:"note,omitempty"`

	SetOverride   *SetOverride   `json:"set_override,omitempty"`
	UnsetOverride *UnsetOverride `json:"unset_override,omitempty"`

	Raise *Raise `json:"raise,omitempty" level:"2"`

	// Level is that of the cluster by which a process was let in, in a Join, Replace or Mark: 0 for level.First. At another one it is refused
	// (ErrStale): the process may not know that one.
	Level int `json:"level,omitempty" level:"2"`
	// By goes into the audit log if the command takes effect; nil leaves nothing there.
	By *Entry `json:"by,omitempty"`
}

// A Change is what a command wants of one partition.
type Change struct {
	Partition ring.Partition `json:"partition"`
	// Epoch is the one that the partition is in (in a recovery, the one that it is to enter).
	Epoch    uint64        `json:"epoch"`
	Replicas []ring.NodeID `json:"replicas"`
}

type (
	// Found makes the cluster: all of it is given. Table holds the replica sets by partition. The nodes' marks and
	// processes count as raised. A second one with the same Cluster has no effect.
	Found struct {
		Cluster    Unique          `json:"cluster"`
		Partitions int             `json:"partitions"`
		Replicas   int             `json:"replicas"`
		Nodes      []Node          `json:"nodes"`
		Table      [][]ring.NodeID `json:"table"`
		Limits     Document        `json:"limits"`
		// Level is the highest that all of Nodes know; 0 means level.First.
		Level int `json:"level,omitempty" level:"2"`
	}
	// Join makes the node a member, or renews the name, zone and addresses of one. A new member's mark and process count
	// as raised; a known one's stay. It is never given partitions by this.
	Join struct {
		Node Node `json:"node"`
	}
	// Replace gives the name and the places of Old, whose disk is lost, to New, a new disk. Old is removed for ever;
	// partitions that have it get a target with New instead. It is refused (ErrTooFew) while a partition would keep too
	// few members that know its registers: then an earlier replacement's moves come first, or a recovery.
	Replace struct {
		Old ring.NodeID `json:"old"`
		New Node        `json:"new"`
	}
	// RaiseMark raises a node's mark: to a higher boot, or, by the process that raised it last, to a later minute.
	RaiseMark struct {
		ID      ring.NodeID `json:"id"`
		Mark    Mark        `json:"mark"`
		Process Unique      `json:"process"`
	}
	// Drain says that a node is to be emptied. It is refused (ErrTooFew) where the nodes left could not keep as many
	// replicas of each partition as there are now, unless Force.
	Drain struct {
		ID    ring.NodeID `json:"id"`
		Force bool        `json:"force,omitempty"`
	}
	// Undrain takes a drain back.
	Undrain struct {
		ID ring.NodeID `json:"id"`
	}
	// Remove ends a membership for ever. A node with partitions is refused unless Force, and even then if a partition
	// would keep too few members that know its registers.
	Remove struct {
		ID    ring.NodeID `json:"id"`
		Force bool        `json:"force,omitempty"`
	}
	// SetTarget plans replica sets; no replicas withdraw a plan. A target of the very nodes that a resting partition has
	// gives them this order at once.
	SetTarget struct {
		Changes []Change `json:"changes"`
	}
	// SetNext begins moves, or gives moves that are under way other nodes.
	SetNext struct {
		Changes []Change `json:"changes"`
	}
	// Commit ends moves: Replicas must be the partition's Next, in that order. It is refused (ErrTooFew) if members of it
	// were removed meanwhile, so many that the partition could not be moved on.
	Commit struct {
		Changes []Change `json:"changes"`
	}
	// SetLimits replaces the limits document of version Base.
	SetLimits struct {
		Base   uint64   `json:"base"`
		Limits Document `json:"limits"`
		// Shorter are the limits that reach less far ahead than in version Base, with how far that is there, in nanoseconds; At is
		// when the change was asked for.
		Shorter map[string]int64 `json:"shorter,omitempty"`
		At      int64            `json:"at,omitempty"`
		// Longer are the limits of which some override reaches further than it has so far, with how far one does at most.
		Longer map[string]int64 `json:"longer,omitempty"`
	}
	// SetOverride sets an override, in the place of the one of the same limit and key. It is refused (ErrTooMany) where there are
	// MaxOverrides, or prefixes of MaxLengths lengths, and (ErrStale) where that one was set later.
	SetOverride struct {
		Override
	}
	// UnsetOverride removes one. At is when that was asked for.
	UnsetOverride struct {
		Limit string `json:"limit"`
		Key   string `json:"key"`
		At    int64  `json:"at"`
	}
	// Recover is what forced recovery writes: Lost are removed for ever, and each partition of Places begins its Epoch,
	// which is above the one it was in, with these replicas and a floor. Where raft has not lost its majority, only a
	// partition may that keeps too few replicas to go on by itself, else ErrStale.
	Recover struct {
		Lost   []ring.NodeID `json:"lost"`
		Places []Change      `json:"places"`
		// Raft says that raft has lost its majority: the lost nodes may have agreed on commands that no survivor has heard of.
		// By then no survivor accepts anything, so all partitions may begin anew. Version jumps, as epochs do.
		Raft bool `json:"raft,omitempty"`
	}
)

// applier is one kind of command. It is pure: it returns s itself when there is nothing to do, a new state, or why not.
type applier interface {
	Apply(s *State) (*State, error)
}

// DecodeCommand reads a command as it stands in raft's log.
func DecodeCommand(data []byte) (c Command, err error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields() // a kind or field of a later version must not be passed over
	if err := decoder.Decode(&c); err != nil {
		return Command{}, fmt.Errorf("reading a command: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return Command{}, errors.New("reading a command: unexpected data after it")
	}
	_, err = c.kind()
	return c, err
}

// kind is the field that is set.
func (c *Command) kind() (applier, error) {
	var kinds []applier
	for _, k := range []struct {
		set bool
		applier
	}{
		{c.Found != nil, c.Found},
		{c.Join != nil, c.Join},
		{c.Replace != nil, c.Replace},
		{c.Mark != nil, c.Mark},
		{c.Drain != nil, c.Drain},
		{c.Undrain != nil, c.Undrain},
		{c.Remove != nil, c.Remove},
		{c.SetTarget != nil, c.SetTarget},
		{c.SetNext != nil, c.SetNext},
		{c.Commit != nil, c.Commit},
		{c.SetLimits != nil, c.SetLimits},
		{c.Recover != nil, c.Recover},
		{c.Note != nil, c.Note},
		{c.SetOverride != nil, c.SetOverride},
		{c.UnsetOverride != nil, c.UnsetOverride},
		{c.Raise != nil, c.Raise},
	} {
		if k.set {
			kinds = append(kinds, k.applier)
		}
	}
	if len(kinds) != 1 {
		return nil, fmt.Errorf("%w: it has %d kinds, want exactly one", ErrInvalid, len(kinds))
	}
	return kinds[0], nil
}

// Apply is the state after the command: s itself if there was nothing to do, or why the command is refused.
func (c *Command) Apply(s *State) (*State, error) {
	kind, err := c.kind()
	if err != nil {
		return s, err
	}
	if !s.Founded() && c.Found == nil {
		return s, ErrNotFounded
	}
	if err := c.checkLevel(s); err != nil {
		return s, err
	}
	next, err := kind.Apply(s)
	if err != nil {
		return s, err
	}
	if next != s {
		next.record(s, c.By) // it is new, and nobody has seen it
	}
	return next, nil
}

// record writes into a draft what is kept of how it came to be.
func (s *State) record(before *State, by *Entry) {
	if s.LimitsVersion != before.LimitsVersion {
		s.edit(before, by)
	}
	if by != nil {
		s.audit(*by)
	}
}

// Check says what is wrong with the command: it has no kind, or several.
func (c *Command) Check() error {
	_, err := c.kind()
	return err
}

// EachMark calls f with every mark that the command carries, and its node.
func (c *Command) EachMark(f func(ring.NodeID, Mark)) {
	switch {
	case c.Mark != nil:
		f(c.Mark.ID, c.Mark.Mark)
	case c.Join != nil:
		f(c.Join.Node.ID, c.Join.Node.Mark)
	case c.Replace != nil:
		f(c.Replace.New.ID, c.Replace.New.Mark)
	case c.Found != nil:
		for _, n := range c.Found.Nodes {
			f(n.ID, n.Mark)
		}
	}
}
