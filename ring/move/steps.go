package move

import (
	"slices"

	"github.com/jeton-dev/jeton/ring"
)

// How often something must have failed in a row before a move goes on without it.
const (
	// A new member whose copy fails for ever must not hold up the others. With this many failures, half a minute has
	// passed.
	copyTries = 5
	// A staying member has most registers anyway: to copy is only a help.
	stayingTries = 1
	// A member of next that does not install is given up, once another plan is there.
	installTries = 4
)

// complete has the members of the present epoch install it that have not, as far as this move knows: those that were
// down when it was committed, or asked by a driver that is gone. Nothing waits for them, unless too few of them can seal.
func (m *Move) complete(now int64) {
	members := m.place.Replicas
	if len(members) == 1 {
		return // there is nobody to complete it from
	}
	for _, node := range members {
		if m.seals.of(node).done {
			m.completed.of(node).done = true // only a complete member seals
		}
	}
	for _, node := range members {
		e := m.completed.of(node)
		if !m.due(e, now) {
			continue
		}
		sources := without(m.completed.done(members), node)
		if len(sources) == 0 || e.failures > 0 {
			sources = without(members, node)
		}
		m.actions = append(m.actions, Complete{Node: node, Epoch: m.place.Epoch, Sources: sources})
	}
}

// copy has the members of the target fetch the registers.
func (m *Move) copy(now int64) {
	for _, node := range m.place.Target {
		sources := without(m.place.Replicas, node)
		if e := m.copies.of(node); len(sources) > 0 && m.due(e, now) {
			m.actions = append(m.actions, Copy{Node: node, Epoch: m.place.Epoch, Sources: sources})
		}
	}
}

// copied says whether the target is ready to be agreed on: W of its members have copied, and the others have too, or
// have failed often enough.
func (m *Move) copied() bool {
	ready := 0
	for _, node := range m.place.Target {
		e, tries := m.copies.of(node), copyTries
		if m.place.Has(node) {
			tries = stayingTries
		}
		alone := m.place.Has(node) && len(m.place.Replicas) == 1 // nobody else has anything
		switch {
		case e.done, alone:
			ready++
		case e.failures < tries:
			return false
		}
	}
	return ready >= ring.Majority(len(m.place.Target))
}

// replace takes the partition from its epoch to the next one. All old members are asked to seal, and go on being asked
// when enough have: each one more is a source more.
func (m *Move) replace(now int64) {
	p := &m.place
	for _, node := range p.Replicas {
		if m.due(m.seals.of(node), now) {
			m.actions = append(m.actions, Seal{Node: node, Epoch: p.Epoch})
		}
	}
	switch {
	case m.enoughSealed():
		m.install(m.seals.done(p.Replicas), now)
	case m.sealingFails():
		m.carryOver(now)
	}
	switch {
	case m.carried():
		m.askRaft(&m.commit, Commit{Epoch: p.Epoch, Next: p.Next}, now)
	case m.otherTarget() && m.enoughSealed() && m.hopeless():
		m.askRaft(&m.agree, Agree{Epoch: p.Epoch, Next: p.Target}, now)
	}
}

// install has the members of next install from the sealed ones. A sealed one may die: whoever has installed is as good.
func (m *Move) install(sealed []ring.NodeID, now int64) {
	p := &m.place
	for _, node := range p.Next {
		e := m.installs.of(node)
		if !m.due(e, now) {
			continue
		}
		sources := slices.Clone(sealed)
		if e.failures > 0 {
			for _, other := range m.installs.done(p.Next) {
				if !slices.Contains(sources, other) {
					sources = append(sources, other)
				}
			}
		}
		m.actions = append(m.actions, Install{Node: node, Epoch: p.Epoch + 1, Enough: ring.Enough(len(p.Replicas)), Sources: sources})
	}
}

// carryOver looks whether members of next have installed already, asked by a driver that is gone. Then the move can be
// ended though too few old members are left to be sealed again.
func (m *Move) carryOver(now int64) {
	p := &m.place
	for _, node := range p.Next {
		if m.due(m.installs.of(node), now) {
			m.actions = append(m.actions, Complete{Node: node, Epoch: p.Epoch + 1, Sources: slices.Clone(p.Next)})
		}
	}
}

// enoughSealed says whether the sealed ones share a member with every majority of their epoch.
func (m *Move) enoughSealed() bool {
	return len(m.seals.done(m.place.Replicas)) >= ring.Enough(len(m.place.Replicas))
}

// sealingFails says whether so many old members have not sealed when they were asked that the rest is not enough.
func (m *Move) sealingFails() bool {
	hope := 0
	for _, node := range m.place.Replicas {
		if e := m.seals.of(node); e.done || e.failures == 0 {
			hope++
		}
	}
	return hope < ring.Enough(len(m.place.Replicas))
}

// carried says whether W members of next have installed.
func (m *Move) carried() bool {
	return len(m.installs.done(m.place.Next)) >= ring.Majority(len(m.place.Next))
}

// otherTarget says whether the plan is not what is agreed as next.
func (m *Move) otherTarget() bool {
	return len(m.place.Target) > 0 && !slices.Equal(m.place.Target, m.place.Next)
}

// hopeless says whether so many members of next fail that the rest is no majority.
func (m *Move) hopeless() bool {
	hope := 0
	for _, node := range m.place.Next {
		if e := m.installs.of(node); e.done || e.failures < installTries {
			hope++
		}
	}
	return hope < ring.Majority(len(m.place.Next))
}

// without are the nodes but one, as a slice of their own.
func without(nodes []ring.NodeID, node ring.NodeID) []ring.NodeID {
	return slices.DeleteFunc(slices.Clone(nodes), func(n ring.NodeID) bool { return n == node })
}
