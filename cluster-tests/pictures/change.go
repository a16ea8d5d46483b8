package main

import (
	"slices"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/actor/owner"
	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/ring/move"
	"github.com/jeton-dev/jeton/storage/register"
)

// A change is that of a scene's replica set. Production's own driver says what is to be done; the script decides what of
// that happens when, and what is lost.
type change struct {
	*scene
	*lane

	move  *move.Move
	place ring.Place
	open  []move.Action // what the driver wants
	asked float64       // the row from which the driver asks
}

func ids(set []*replica) (all []ring.NodeID) {
	for _, r := range set {
		all = append(all, r.id)
	}
	return all
}

// changes begins with the change agreed: the replicas of the first epoch are to be replaced by next.
func (s *scene) changes(next ...string) *change {
	var set []*replica
	for _, name := range next {
		set = append(set, s.replica(name))
	}
	s.sets = append(s.sets, set)
	place := ring.Place{Epoch: ring.FirstEpoch, Replicas: ids(s.sets[1]), Next: ids(set)}
	c := &change{scene: s, lane: s.lane("raft"), move: move.New(place), place: place}
	c.asked = s.next()
	s.noteLeft(c.lane, c.asked, "bold", "next is agreed: seal epoch 1")
	c.tell(move.Tick{})
	return c
}

// tell tells the driver something, and notes what it wants then.
func (c *change) tell(e move.Event) { c.open = append(c.open, c.move.Step(e, c.now)...) }

// wants takes an action of the driver that is like that, which it must have asked for.
func (c *change) wants(like func(move.Action) bool, what, name string) (a move.Action, ok bool) {
	i := slices.IndexFunc(c.open, like)
	c.claim(i >= 0, "the driver wants %s of %s", what, name)
	if i < 0 {
		return nil, false
	}
	a = c.open[i]
	c.open = slices.Delete(c.open, i, i+1)
	return a, true
}

// seals has nodes seal the first epoch.
func (c *change) seals(names ...string) {
	for _, name := range names {
		r := c.replica(name)
		a, ok := c.wants(func(a move.Action) bool { s, is := a.(move.Seal); return is && s.Node == r.id }, "a seal", name)
		if !ok {
			continue
		}
		var sealed bool
		r.partition, sealed = r.partition.Seal(ring.FirstEpoch)
		c.claim(sealed, "%s seals", name)
		c.done(r, a, "sealed: no more in epoch 1")
	}
}

// done draws that a node has carried something out, durably, and tells the driver.
func (c *change) done(r *replica, a move.Action, what string) {
	row := c.next()
	c.between("ask", c.lane, c.asked, r.lane, row)
	c.fsync(r, row)
	c.note(r.lane, row, "good", what)
	c.tell(move.Answer{To: a, OK: true})
}

// phase says what the driver does next.
func (c *change) phase(want move.Phase, text string) {
	c.claim(c.move.Phase() == want, "the driver is %s: it is %s", want, c.move.Phase())
	c.asked = c.next()
	c.noteLeft(c.lane, c.asked, "bold", text)
}

// installs has nodes take over what the sources of the driver's action have.
func (c *change) installs(names ...string) {
	for _, name := range names {
		r := c.replica(name)
		var sources []ring.NodeID
		enough, epoch := 0, uint64(0)
		a, ok := c.wants(func(a move.Action) bool {
			switch a := a.(type) {
			case move.Install:
				sources, enough, epoch = a.Sources, a.Enough, a.Epoch
				return a.Node == r.id
			case move.Complete:
				sources, enough, epoch = a.Sources, len(a.Sources)+1, a.Epoch
				return a.Node == r.id && a.Epoch > ring.FirstEpoch
			}
			return false
		}, "an install", name)
		if !ok {
			continue
		}
		var states []register.Partition
		joined := r.register
		for _, source := range c.replicas {
			if slices.Contains(sources, source.id) && !source.down {
				states = append(states, source.partition)
				joined = joined.Join(source.register)
			}
		}
		join, err := register.Join(states, enough, epoch)
		c.claim(err == nil, "the sources are enough: %v", err)
		c.claim(!join.Floored, "a change makes no floor")
		r.register = joined
		var installed bool
		r.partition, installed = r.partition.Install(epoch, join)
		c.claim(installed, "%s installs", name)
		c.done(r, a, "installed: H = "+place(r.register.H))
	}
}

// commits has raft agree on the next epoch, and nodes see it.
func (c *change) commits(names ...string) {
	_, ok := c.wants(func(a move.Action) bool { _, is := a.(move.Commit); return is }, "a commit", "raft")
	c.claim(ok, "the change can be committed")
	c.place = ring.Place{Epoch: ring.FirstEpoch + 1, Replicas: c.place.Next}
	c.tell(move.Placed{Place: c.place})
	c.asked = c.next()
	c.noteLeft(c.lane, c.asked, "bold", "epoch 2 is agreed")
	c.enters(names...)
}

// enters has nodes that see the commit answer in the new epoch.
func (c *change) enters(names ...string) {
	for _, name := range names {
		r := c.replica(name)
		var entered bool
		r.partition, entered = r.partition.Enter(ring.FirstEpoch + 1)
		c.claim(entered, "%s enters epoch 2", name)
		row := c.next()
		c.between("ask", c.lane, c.asked, r.lane, row)
		c.note(r.lane, row, "good", "answers in epoch 2")
	}
}

// follows has an owner see the commit.
func (c *change) follows(name string) {
	p := c.owner(name)
	row := c.next()
	c.between("ask", c.lane, c.asked, p.lane, row)
	c.note(p.lane, row, p.class, "sees epoch 2")
	p.epoch++
	c.step(p, func(out *owner.Out) { p.Enter(owner.NewTerms(p.cfg, limit.OwnerID{p.id}, p.epoch), c.now, out) })
}

// moved is a replica set that is replaced while an owner is late to see it.
func moved() (string, error) {
	s := newScene("caller", "A", "raft", "node 1", "node 2", "node 3", "node 4")
	s.places("node 1", "node 2", "node 3")
	s.ask("A", 2)
	m := s.last("A")
	s.arrives(m, "node 1", "node 2")
	s.hears(m, "node 1", "node 2")
	c := s.changes("node 1", "node 2", "node 4")
	c.seals("node 1", "node 3")
	s.ask("A", 1)
	late := s.last("A")
	s.arrives(late, "node 1", "node 2", "node 3")
	s.hears(late, "node 1", "node 2", "node 3")
	s.claim(len(s.spans) == 1, "one yes in the sealed epoch is no majority")
	c.phase(move.Installing, "2 of 3 are sealed: install")
	c.installs("node 1", "node 4")
	c.claim(s.replica("node 4").register.H == s.spans[0].End, "node 4 knows what A has reserved")
	c.claim(c.move.Phase() == move.Committing, "2 of 3 have installed")
	c.commits("node 1", "node 4")
	c.follows("A")
	s.round("A", "node 1", "node 4")
	s.claim(len(s.spans) == 2, "A reserves anew in epoch 2")
	c.phase(move.Completing, "node 2 is late")
	c.installs("node 2")
	c.enters("node 2")
	s.sound()
	return s.picture("A replica set changes from nodes 1, 2, 3 to 1, 2, 4, and the owner is late to see it", 12), s.err()
}

// lostDisk is a node whose disk is replaced: it comes back as another one.
func lostDisk() (string, error) {
	s := newScene("caller", "A", "raft", "node 1", "node 2", "node 3", "node 3′")
	s.places("node 1", "node 2", "node 3")
	fresh := s.lane("node 3′")
	fresh.down = true
	s.ask("A", 2)
	s.round("A", "node 2", "node 3")
	s.at(100)
	s.ends(s.lane("node 3"), s.next())
	s.note(s.lane("node 3"), s.rows, "wrong", "its disk is lost")
	s.at(5000)
	s.runs(fresh, s.next())
	s.note(fresh, s.rows, "good", "empty: a new id")
	c := s.changes("node 1", "node 2", "node 3′")
	c.seals("node 1", "node 2")
	c.phase(move.Installing, "2 of 3 are sealed: install")
	c.installs("node 3′", "node 1")
	c.claim(s.replica("node 1").register.H == s.spans[0].End, "node 1, which A's message never reached, knows of it now")
	c.commits("node 1", "node 3′")
	c.follows("A")
	s.ask("A", 3)
	s.round("A", "node 1", "node 3′")
	s.claim(len(s.spans) == 2, "the new disk counts")
	s.sound()
	return s.picture("A disk is lost: its node returns as a new one, and takes over what a majority knows", 12), s.err()
}
