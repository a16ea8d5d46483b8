package move

import (
	"slices"

	"github.com/jeton-dev/jeton/ring"
)

// How many failures in a row a move waits for before it continues without a task.
const (
	// A new member whose copy always fails must not hold up the others. With this many failures, half a minute has
	// passed.
	copyTries = 5
	// A member that stays has most registers already: its copy is optional.
	stayingTries = 1
	// A member of next that does not install is given up, if there is another plan.
	installTries = 4
)

// complete makes those members of the present epoch install it that have not, as far as this move knows: they were down at
// the commit, or an earlier driver asked them. Nothing waits for them, unless too few members can seal.
func (m *Move) complete(now int64) {
	members := m.place.Replicas
	if len(members) == 1 {
		return // there is no source
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

// copy makes the members of the target fetch the registers.
func (m *Move) copy(now int64) {
	for _, node := range m.place.Target {
		sources := without(m.place.Replicas, node)
		if e := m.copies.of(node); len(sources) > 0 && m.due(e, now) {
			m.actions = append(m.actions, Copy{Node: node, Epoch: m.place.Epoch, Sources: sources})
		}
	}
}

// copied reports whether raft can agree on the target: W of its members have copied, and the others have too or have failed
// often enough.
func (m *Move) copied() bool {
	ready := 0
	for _, node := range m.place.Target {
		e, tries := m.copies.of(node), copyTries
		if m.place.Has(node) {
			tries = stayingTries
		}
		alone := m.place.Has(node) && len(m.place.Replicas) == 1 // no other node has registers
		switch {
		case e.done, alone:
			ready++
		case e.failures < tries:
			return false
		}
	}
	return ready >= ring.Majority(len(m.place.Target))
}

// replace moves the partition to the next epoch. It asks all old members to seal, also after enough have: each is one more
// source.
func (m *Move) replace(now int64) {
	p := &m.place
	for _, node := range p.Replicas {
		if m.due(m.seals.of(node), now) {
			m.actions = append(m.actions, Seal{Node: node, Epoch: p.Epoch})
		}
	}
	switch {
	case m.mayInstall():
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

// install makes the members of next install from the sealed ones. If those die, a member that has installed is a source too.
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

// carryOver checks whether members of next have installed already, at the request of an earlier driver. Then the move can
// finish even if too few old members are left to seal.
func (m *Move) carryOver(now int64) {
	p := &m.place
	for _, node := range p.Next {
		if m.due(m.installs.of(node), now) {
			m.actions = append(m.actions, Complete{Node: node, Epoch: p.Epoch + 1, Sources: slices.Clone(p.Next)})
		}
	}
}

// enoughSealed reports whether the sealed members intersect every majority of their epoch.
func (m *Move) enoughSealed() bool {
	return len(m.seals.done(m.place.Replicas)) >= ring.Enough(len(m.place.Replicas))
}

// mayInstall reports whether members of next may install: enough old members are sealed. Where too few of these have no floor, so that the
// next epoch would begin with one, it waits for what the others say to the first attempt, as long as they could be enough.
func (m *Move) mayInstall() bool {
	exact, awaited, enough := 0, 0, ring.Enough(len(m.place.Replicas))
	for _, node := range m.place.Replicas {
		switch e := m.seals.of(node); {
		case !e.done && e.failures == 0:
			awaited++
		case e.done && !e.floored:
			exact++
		}
	}
	return m.enoughSealed() && (exact >= enough || exact+awaited < enough)
}

// sealingFails reports whether so many old members have failed to seal that the others are not enough.
func (m *Move) sealingFails() bool {
	hope := 0
	for _, node := range m.place.Replicas {
		if e := m.seals.of(node); e.done || e.failures == 0 {
			hope++
		}
	}
	return hope < ring.Enough(len(m.place.Replicas))
}

// carried reports whether W members of next have installed.
func (m *Move) carried() bool {
	return len(m.installs.done(m.place.Next)) >= ring.Majority(len(m.place.Next))
}

// otherTarget reports whether the plan differs from the agreed next.
func (m *Move) otherTarget() bool {
	return len(m.place.Target) > 0 && !slices.Equal(m.place.Target, m.place.Next)
}

// hopeless reports whether so many members of next fail that the others are no majority.
func (m *Move) hopeless() bool {
	hope := 0
	for _, node := range m.place.Next {
		if e := m.installs.of(node); e.done || e.failures < installTries {
			hope++
		}
	}
	return hope < ring.Majority(len(m.place.Next))
}

// without returns a new slice of the nodes except one.
func without(nodes []ring.NodeID, node ring.NodeID) []ring.NodeID {
	return slices.DeleteFunc(slices.Clone(nodes), func(n ring.NodeID) bool { return n == node })
}

// askRaft asks raft to agree, if that is due.
func (m *Move) askRaft(e *task, a Action, now int64) {
	if m.due(e, now) {
		m.actions = append(m.actions, a)
	}
}

// due reports whether a task is to be attempted now, and marks it as under way. If it is due later, due lowers until.
func (m *Move) due(e *task, now int64) bool {
	switch {
	case e.done || e.asked:
		return false
	case now < e.at:
		if m.until == 0 || e.at < m.until {
			m.until = e.at
		}
		return false
	}
	e.asked = true
	return true
}
