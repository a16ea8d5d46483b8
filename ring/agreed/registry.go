package agreed

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/jeton-dev/jeton/ring"
)

// What commands do to the registry and to the limits.

// Apply implements applier.
func (c *Found) Apply(s *State) (*State, error) {
	if s.Founded() {
		if s.Cluster == c.Cluster {
			return s, nil
		}
		return nil, fmt.Errorf("%w: its id is %s", ErrFounded, s.Cluster)
	}
	switch {
	case c.Cluster == Unique{}:
		return nil, fmt.Errorf("%w: the cluster has no id", ErrInvalid)
	case c.Partitions < 1 || c.Partitions > MaxPartitions:
		return nil, fmt.Errorf("%w: %d partitions; a cluster has 1 to %d", ErrInvalid, c.Partitions, MaxPartitions)
	case len(c.Table) != c.Partitions:
		return nil, fmt.Errorf("%w: %d partitions, but the table has %d places", ErrInvalid, c.Partitions, len(c.Table))
	case !ValidReplicas(c.Replicas):
		return nil, fmt.Errorf("%w: %d replicas; use 1, 3 or 5", ErrInvalid, c.Replicas)
	}
	if err := checkLimits(c.Limits); err != nil {
		return nil, err
	}
	next := s.draft()
	next.Cluster, next.Partitions, next.Replicas = c.Cluster, c.Partitions, c.Replicas
	next.Limits, next.LimitsVersion, next.Level = slices.Clone(c.Limits), 1, c.Level
	next.Nodes, next.Removed = map[ring.NodeID]Node{}, map[ring.NodeID]string{}
	for _, n := range c.Nodes {
		if err := next.admit(n); err != nil {
			return nil, err
		}
	}
	next.Table = &ring.Table{}
	for p, replicas := range c.Table {
		if err := next.checkReplicas(ring.Partition(p), replicas); err != nil {
			return nil, err
		}
		place := ring.Place{Epoch: ring.FirstEpoch, Replicas: slices.Clone(replicas)}
		next.Table.Places = append(next.Table.Places, place)
	}
	return next, nil
}

// MaxPartitions is how many a partition's number can tell apart.
const MaxPartitions = 1 << 16

// ValidReplicas says whether a replica set may have that many members.
func ValidReplicas(n int) bool { return n == 1 || n == 3 || n == 5 }

// checkLimits refuses what would not survive a snapshot.
func checkLimits(text []byte) error {
	if !utf8.Valid(text) {
		return fmt.Errorf("%w: the limits document is not UTF-8", ErrInvalid)
	}
	return nil
}

// admit adds a node to a draft.
func (s *State) admit(n Node) error {
	if err := s.admissible(n); err != nil {
		return err
	}
	if _, ok := s.Nodes[n.ID]; ok {
		return fmt.Errorf("%w: node %s is listed twice", ErrInvalid, n.ID)
	}
	n.Leaving = false // it is never agreed
	s.Nodes[n.ID] = n
	return nil
}

// admissible says why a node cannot be a member, if it cannot.
func (s *State) admissible(n Node) error {
	if n.ID == (ring.NodeID{}) || n.Name == "" || n.Raft == "" {
		return fmt.Errorf("%w: a node needs an id, a name and a raft address", ErrInvalid)
	}
	for _, text := range []string{n.Name, n.Zone, n.GRPC, n.HTTP, n.Gossip, n.Raft} {
		if !utf8.ValidString(text) {
			return fmt.Errorf("%w: %q is not UTF-8", ErrInvalid, text)
		}
	}
	if name, gone := s.Removed[n.ID]; gone {
		return fmt.Errorf("%w: node %s, then called %q", ErrRemoved, n.ID, name)
	}
	if other, ok := s.Named(n.Name); ok && other.ID != n.ID {
		return fmt.Errorf("%w: %q is node %s", ErrNameTaken, n.Name, other.ID)
	}
	return nil
}

// Apply implements applier.
func (c *Join) Apply(s *State) (*State, error) {
	if err := s.admissible(c.Node); err != nil {
		return nil, err
	}
	node := c.Node
	node.Leaving = false
	if known, ok := s.Nodes[node.ID]; ok {
		node.Draining, node.Mark, node.Process = known.Draining, known.Mark, known.Process
		if node == known {
			return s, nil
		}
	}
	next := s.draft()
	next.Nodes[node.ID] = node
	return next, nil
}

// Apply implements applier.
func (c *Replace) Apply(s *State) (*State, error) {
	if _, gone := s.Removed[c.Old]; gone {
		if n, ok := s.Nodes[c.New.ID]; ok && n.Name == c.New.Name {
			return s, nil
		}
		return nil, fmt.Errorf("%w: node %s was replaced by another node", ErrStale, c.Old)
	}
	old, ok := s.Nodes[c.Old]
	switch {
	case !ok:
		return nil, fmt.Errorf("%w: %s", ErrUnknownNode, c.Old)
	case c.New.Name != old.Name:
		return nil, fmt.Errorf("%w: node %q cannot replace node %q: their names differ", ErrInvalid, c.New.Name, old.Name)
	}
	next := s.draftTable()
	next.Nodes[c.New.ID] = c.New // a member of another name is noticed by admit
	next.removeMember(c.Old)
	if _, known := s.Nodes[c.New.ID]; !known {
		delete(next.Nodes, c.New.ID)
	}
	node := c.New
	node.Draining = old.Draining // operators drain names
	if err := next.admit(node); err != nil {
		return nil, err
	}
	if err := next.checkKnowledge(); err != nil {
		return nil, err
	}
	for p := range next.Table.Places {
		place := &next.Table.Places[p]
		wanted := place.Target
		if len(wanted) == 0 && place.Has(c.Old) {
			wanted = place.Replicas
		}
		place.Target = replaceID(wanted, c.Old, node.ID)
		if next.countMembers(place.Target) < len(place.Target) {
			place.Target = nil // another one was removed too: the leader plans anew
		}
		place.Next = replaceID(place.Next, c.Old, node.ID)
	}
	return next, nil
}

// replaceID is ids with one of them replaced.
func replaceID(ids []ring.NodeID, old, with ring.NodeID) []ring.NodeID {
	i := slices.Index(ids, old)
	if i < 0 {
		return ids
	}
	ids = slices.Clone(ids)
	ids[i] = with
	return ids
}

// removeMember removes a member of a draft for ever.
func (s *State) removeMember(id ring.NodeID) {
	s.Removed[id] = s.Nodes[id].Name
	delete(s.Nodes, id)
}

// checkKnowledge refuses a draft in which a partition has too few members left that know its registers to move it.
func (s *State) checkKnowledge() error {
	for p, place := range s.Table.Places {
		if present, enough := s.countMembers(place.Replicas), ring.Enough(len(place.Replicas)); present < enough {
			return fmt.Errorf("%w: partition %d (epoch %d) would keep %d replicas, and a move takes %d",
				ErrTooFew, p, place.Epoch, present, enough)
		}
	}
	return nil
}

// Apply implements applier.
func (c *RaiseMark) Apply(s *State) (*State, error) {
	node, err := s.member(c.ID)
	if err != nil {
		return nil, err
	}
	same := node.Process == c.Process && node.Mark.Boot == c.Mark.Boot
	switch {
	case same && node.Mark == c.Mark:
		return s, nil
	case same && node.Mark.Minute < c.Mark.Minute, node.Mark.Boot < c.Mark.Boot:
	case node.Mark.Boot == c.Mark.Boot && !same:
		return nil, fmt.Errorf("%w: %s, raised by another process: two processes run on copies of one disk", ErrMarkNotHigher, node.Mark)
	default:
		return nil, fmt.Errorf("%w: %s, which is higher than %s", ErrMarkNotHigher, node.Mark, c.Mark)
	}
	node.Mark, node.Process = c.Mark, c.Process
	next := s.draft()
	next.Nodes[c.ID] = node
	return next, nil
}

// member is a member, or why there is none of that id.
func (s *State) member(id ring.NodeID) (Node, error) {
	if node, ok := s.Nodes[id]; ok {
		return node, nil
	}
	if name, gone := s.Removed[id]; gone {
		return Node{}, fmt.Errorf("%w: node %s, then called %q", ErrRemoved, id, name)
	}
	return Node{}, fmt.Errorf("%w: %s", ErrUnknownNode, id)
}

// Apply implements applier.
func (c *Drain) Apply(s *State) (*State, error) {
	node, err := s.member(c.ID)
	if err != nil || node.Draining {
		return s, err
	}
	left, needed := len(s.Members())-1, 1
	if !c.Force {
		for _, place := range s.Table.Places {
			needed = max(needed, len(place.Replicas))
		}
	}
	if left < needed {
		return nil, fmt.Errorf("%w: %d without %q, and each partition has %d replicas; add a node first",
			ErrTooFew, left, node.Name, needed)
	}
	return s.withDraining(node, true), nil
}

// Apply implements applier.
func (c *Undrain) Apply(s *State) (*State, error) {
	node, err := s.member(c.ID)
	if err != nil || !node.Draining {
		return s, err
	}
	return s.withDraining(node, false), nil
}

// withDraining is the next state, with that said of node.
func (s *State) withDraining(node Node, draining bool) *State {
	node.Draining = draining
	next := s.draft()
	next.Nodes[node.ID] = node
	return next
}

// Apply implements applier.
func (c *Remove) Apply(s *State) (*State, error) {
	if _, gone := s.Removed[c.ID]; gone {
		return s, nil
	}
	node, err := s.member(c.ID)
	if err != nil {
		return nil, err
	}
	next := s.draftTable()
	next.removeMember(c.ID)
	if len(next.Nodes) == 0 {
		return nil, fmt.Errorf("%w: %q is the last node", ErrTooFew, node.Name)
	}
	for p := range next.Table.Places {
		place := &next.Table.Places[p]
		held := place.Has(c.ID) || slices.Contains(place.Next, c.ID)
		planned := slices.Contains(place.Target, c.ID)
		if (held || planned) && !c.Force {
			return nil, fmt.Errorf("%w: %q still has partition %d; drain the node first", ErrHasPlaces, node.Name, p)
		}
		if planned {
			place.Target = nil // a next that has it stays, until another one is agreed on: the partition may be sealed
		}
	}
	if err := next.checkKnowledge(); err != nil {
		return nil, err
	}
	return next, nil
}

// Apply implements applier.
func (c *SetLimits) Apply(s *State) (*State, error) {
	if err := errors.Join(checkLimits(c.Limits), c.checkReaches()); err != nil {
		return nil, err
	}
	same := bytes.Equal(c.Limits, s.Limits)
	switch {
	case same && (c.Base == s.LimitsVersion || c.Base+1 == s.LimitsVersion):
		return s, nil // the last: proposed again
	case c.Base != s.LimitsVersion:
		return nil, fmt.Errorf("%w: the limits document is version %d, not %d", ErrStale, s.LimitsVersion, c.Base)
	}
	next := s.draft()
	next.Limits, next.LimitsVersion = slices.Clone(c.Limits), s.LimitsVersion+1
	next.Earlier = s.earlier(c.ended(), c.At)
	next.Overrides = s.Overrides.reaching(c.Longer)
	return next, nil
}

// checkReplicas refuses a set that cannot be a partition's: another number than 1, 3 or 5, one twice, or no member.
func (s *State) checkReplicas(p ring.Partition, replicas []ring.NodeID) error {
	if !ValidReplicas(len(replicas)) {
		return fmt.Errorf("%w: partition %d with %d replicas; use 1, 3 or 5", ErrInvalid, p, len(replicas))
	}
	for i, id := range replicas {
		if slices.Contains(replicas[:i], id) {
			return fmt.Errorf("%w: partition %d has replica %s twice", ErrInvalid, p, id)
		}
		if _, err := s.member(id); err != nil {
			return fmt.Errorf("partition %d: %w", p, err)
		}
	}
	return nil
}
