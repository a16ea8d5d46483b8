package simulation

import (
	"slices"

	"github.com/jeton-dev/jeton/ring"
)

// maxSlots is the most nodes that a world has at a time. A slot is a machine with a name; its disk, and with it the
// node's id, may be replaced.
const maxSlots = 6

// A mark is how far a disk has come; see storage.Mark.
type mark struct {
	boot   uint64
	minute int64
}

func (m mark) above(other mark) bool {
	return m.boot > other.boot || m.boot == other.boot && m.minute > other.minute
}

// A member is what is agreed of the node in a slot.
type member struct {
	id       ring.NodeID
	in       bool
	draining bool
	mark     mark
	life     int // of the process that has raised it
}

// An agreed is one state of what stands for raft: linearizable, at times not to be had, and its answers may be lost. It
// never changes; a change makes the next one.
type agreed struct {
	version int
	places  []ring.Place
	members [maxSlots]member
	removed []ring.NodeID
	limits  int // the version of the limits in force
}

// A command makes the next state of one, or nil if it is refused.
type command func(s *agreed) *agreed

func (s *agreed) draft() *agreed {
	next := *s
	next.version++
	next.places = slices.Clone(s.places)
	return &next
}

// slot is where a member is; −1 if there is none of that id.
func (s *agreed) slot(id ring.NodeID) int {
	return slices.IndexFunc(s.members[:], func(m member) bool { return m.in && m.id == id })
}

func (s *agreed) present(ids []ring.NodeID) (n int) {
	for _, id := range ids {
		if s.slot(id) >= 0 {
			n++
		}
	}
	return n
}

func (s *agreed) size() (n int) {
	for i := range s.members {
		if s.members[i].in {
			n++
		}
	}
	return n
}

// staying are the members that may be given partitions.
func (s *agreed) staying() (list []ring.Member) {
	for i := range s.members {
		if m := &s.members[i]; m.in && !m.draining {
			list = append(list, ring.Member{ID: m.id})
		}
	}
	return list
}

// knowledgeable says whether of every partition enough replicas are left to move it.
func (s *agreed) knowledgeable() bool {
	return !slices.ContainsFunc(s.places, func(p ring.Place) bool {
		return s.present(p.Replicas) < ring.Enough(len(p.Replicas))
	})
}

// A change is one of a partition's place.
type change struct {
	partition ring.Partition
	epoch     uint64
	replicas  []ring.NodeID
}

// each makes a command of an edit of several places, which takes effect for all or for none.
func each(changes []change, edit func(next *agreed, c change, p *ring.Place) bool) command {
	return func(s *agreed) *agreed {
		next := s.draft()
		for _, c := range changes {
			p := &next.places[c.partition]
			if p.Epoch != c.epoch || !edit(next, c, p) {
				return nil
			}
		}
		return next
	}
}

func setTarget(changes []change) command {
	return each(changes, func(next *agreed, c change, p *ring.Place) bool {
		if next.present(c.replicas) < len(c.replicas) {
			return false
		}
		p.Target = c.replicas
		reach(p)
		return true
	})
}

func setNext(changes []change) command {
	return each(changes, func(next *agreed, c change, p *ring.Place) bool {
		if next.present(c.replicas) < len(c.replicas) {
			return false
		}
		p.Next = c.replicas
		return true
	})
}

func commit(changes []change) command {
	return each(changes, func(next *agreed, c change, p *ring.Place) bool {
		if len(p.Next) == 0 || !slices.Equal(p.Next, c.replicas) || next.present(p.Next) < ring.Enough(len(p.Next)) {
			return false
		}
		*p = ring.Place{Epoch: p.Epoch + 1, Replicas: p.Next, Target: p.Target}
		reach(p)
		return true
	})
}

// reach ends the plan of a resting partition that is where it is to be.
func reach(p *ring.Place) {
	if len(p.Next) == 0 && len(p.Target) == len(p.Replicas) &&
		!slices.ContainsFunc(p.Target, func(id ring.NodeID) bool { return !p.Has(id) }) {
		p.Replicas, p.Target = p.Target, nil
	}
}

// join lets the node of a slot in with a disk, or puts that in the place of the one that was there.
func join(slot int, id ring.NodeID, m mark, life int) command {
	return func(s *agreed) *agreed {
		before := s.members[slot]
		if slices.Contains(s.removed, id) {
			return nil
		}
		next := s.draft()
		next.members[slot] = member{id: id, in: true, mark: m, life: life}
		if !before.in || before.id == id {
			next.members[slot].draining = before.in && before.draining
			return next
		}
		next.members[slot].draining = before.draining
		next.removed = append(slices.Clone(s.removed), before.id)
		if !next.knowledgeable() {
			return nil
		}
		for i := range next.places {
			p := &next.places[i]
			wanted := p.Target
			if len(wanted) == 0 && p.Has(before.id) {
				wanted = p.Replicas
			}
			if p.Target = instead(wanted, before.id, id); next.present(p.Target) < len(p.Target) {
				p.Target = nil
			}
			p.Next = instead(p.Next, before.id, id)
		}
		return next
	}
}

// instead is ids with one of them replaced.
func instead(ids []ring.NodeID, old, with ring.NodeID) []ring.NodeID {
	i := slices.Index(ids, old)
	if i < 0 {
		return ids
	}
	ids = slices.Clone(ids)
	ids[i] = with
	return ids
}

// raise notes a higher mark of a node, of this process or a later start of the same disk.
func raise(slot int, id ring.NodeID, m mark, life int) command {
	return func(s *agreed) *agreed {
		of := s.members[slot]
		same := of.life == life && of.mark.boot == m.boot
		if !of.in || of.id != id || !m.above(of.mark) || m.boot == of.mark.boot && !same {
			return nil
		}
		next := s.draft()
		next.members[slot].mark, next.members[slot].life = m, life
		return next
	}
}

// drain has a node's partitions moved away, or no longer. Three nodes must be left, though that may mean fewer replicas.
func drain(slot int, draining bool) command {
	return func(s *agreed) *agreed {
		if of := s.members[slot]; !of.in || of.draining == draining {
			return nil
		}
		next := s.draft()
		next.members[slot].draining = draining
		if draining && len(next.staying()) < min(len(s.staying()), 3) {
			return nil
		}
		return next
	}
}

// remove lets a node go that has no partition any more.
func remove(slot int) command {
	return func(s *agreed) *agreed {
		of := s.members[slot]
		if !of.in {
			return nil
		}
		for _, p := range s.places {
			if p.Has(of.id) || slices.Contains(p.Next, of.id) || slices.Contains(p.Target, of.id) {
				return nil
			}
		}
		next := s.draft()
		next.members[slot] = member{}
		next.removed = append(slices.Clone(s.removed), of.id)
		return next
	}
}

// replaceLimits puts another version of the limits in force.
func replaceLimits(version int) command {
	return func(s *agreed) *agreed {
		if s.limits == version {
			return nil
		}
		next := s.draft()
		next.limits = version
		return next
	}
}
