package agreed

import (
	"fmt"
	"slices"

	"github.com/jeton-dev/jeton/ring"
)

// What commands do to the table. A command about several partitions takes effect for all of them or for none.

// Apply implements applier.
func (c *SetTarget) Apply(s *State) (*State, error) {
	return s.eachChange(c.Changes, func(next *State, change Change, place *ring.Place) error {
		if len(change.Replicas) == 0 {
			place.Target = nil
			return nil
		}
		if err := next.checkReplicas(change.Partition, change.Replicas); err != nil {
			return err
		}
		place.Target = slices.Clone(change.Replicas)
		completeTarget(place)
		return nil
	})
}

// Apply implements applier.
func (c *SetNext) Apply(s *State) (*State, error) {
	return s.eachChange(c.Changes, func(next *State, change Change, place *ring.Place) error {
		if err := next.checkReplicas(change.Partition, change.Replicas); err != nil {
			return err
		}
		place.Next = slices.Clone(change.Replicas)
		return nil
	})
}

// Apply implements applier.
func (c *Commit) Apply(s *State) (*State, error) {
	return s.eachChange(c.Changes, func(next *State, change Change, place *ring.Place) error {
		if len(place.Next) == 0 || !slices.Equal(place.Next, change.Replicas) {
			return fmt.Errorf("%w: partition %d is moving to %s", ErrStale, change.Partition, place.Next)
		}
		if next.countMembers(place.Next) < ring.Enough(len(place.Next)) {
			return fmt.Errorf("%w: too many of the nodes that partition %d moves to were removed; choose others", ErrTooFew, change.Partition)
		}
		*place = ring.Place{Epoch: place.Epoch + 1, Replicas: place.Next, Target: place.Target}
		completeTarget(place)
		return nil
	})
}

// completeTarget ends the plan of a resting partition that is where it is to be, and gives the replicas its order.
func completeTarget(place *ring.Place) {
	if len(place.Next) == 0 && sameSet(place.Target, place.Replicas) {
		place.Replicas, place.Target = place.Target, nil
	}
}

// sameSet compares without the order. Neither has an id twice.
func sameSet(a, b []ring.NodeID) bool {
	return len(a) == len(b) && !slices.ContainsFunc(a, func(id ring.NodeID) bool { return !slices.Contains(b, id) })
}

// eachChange is the next state with each of the changes made, or s if none made a difference.
func (s *State) eachChange(changes []Change, edit func(*State, Change, *ring.Place) error) (*State, error) {
	next := s.draftTable()
	different := false
	seen := map[ring.Partition]bool{}
	for _, change := range changes {
		p := int(change.Partition)
		switch {
		case p >= len(next.Table.Places):
			return nil, fmt.Errorf("%w: partition %d is out of range: there are %d", ErrInvalid, p, len(next.Table.Places))
		case seen[change.Partition]:
			return nil, fmt.Errorf("%w: partition %d is listed twice", ErrInvalid, p)
		}
		seen[change.Partition] = true
		place := &next.Table.Places[p]
		before := *place
		if before.Epoch != change.Epoch {
			return nil, fmt.Errorf("%w: partition %d is in epoch %d, not %d", ErrStale, p, before.Epoch, change.Epoch)
		}
		if err := edit(next, change, place); err != nil {
			return nil, err
		}
		different = different || !SamePlace(before, *place)
	}
	if !different {
		return s, nil
	}
	return next, nil
}

// SamePlace compares two places.
func SamePlace(a, b ring.Place) bool {
	return a.Epoch == b.Epoch && a.Floored == b.Floored && slices.Equal(a.Replicas, b.Replicas) &&
		slices.Equal(a.Target, b.Target) && slices.Equal(a.Next, b.Next)
}

// Apply implements applier.
func (c *Recover) Apply(s *State) (*State, error) {
	if c.Done(s) {
		return s, nil
	}
	next := s.draftTable()
	for _, id := range c.Lost {
		if _, gone := s.Removed[id]; gone {
			continue
		}
		if _, err := next.member(id); err != nil {
			return nil, err
		}
		next.removeMember(id)
	}
	if len(next.Nodes) == 0 {
		return nil, fmt.Errorf("%w: every node is named as lost", ErrTooFew)
	}
	for _, change := range c.Places {
		p := int(change.Partition)
		if p >= len(next.Table.Places) {
			return nil, fmt.Errorf("%w: partition %d is out of range: there are %d", ErrInvalid, p, len(next.Table.Places))
		}
		place := &next.Table.Places[p]
		switch {
		case change.Epoch <= place.Epoch:
			return nil, fmt.Errorf("%w: partition %d is already in epoch %d", ErrStale, p, place.Epoch)
		case !c.Raft && next.countMembers(place.Replicas) >= ring.Enough(len(place.Replicas)):
			return nil, fmt.Errorf("%w: partition %d still has enough replicas in epoch %d", ErrStale, p, place.Epoch)
		}
		if err := next.checkReplicas(change.Partition, change.Replicas); err != nil {
			return nil, err
		}
		*place = ring.Place{Epoch: change.Epoch, Replicas: slices.Clone(change.Replicas), Floored: true}
	}
	for p := range next.Table.Places {
		place := &next.Table.Places[p]
		if next.countMembers(place.Target) < len(place.Target) {
			place.Target = nil
		}
	}
	if err := next.checkKnowledge(); err != nil {
		return nil, err
	}
	if c.Raft {
		next.Version = ring.Recovered(s.Version)
	}
	return next, nil
}

// Done says whether the state is what the recovery wants already.
func (c *Recover) Done(s *State) bool {
	for _, id := range c.Lost {
		if _, gone := s.Removed[id]; !gone {
			return false
		}
	}
	for _, change := range c.Places {
		if int(change.Partition) >= len(s.Table.Places) {
			return false
		}
		place := s.Table.Places[change.Partition]
		if !place.Floored || place.Epoch != change.Epoch || !slices.Equal(place.Replicas, change.Replicas) {
			return false
		}
	}
	return true
}
