// Package move changes the replica set of one partition from epoch e to e+1, as pure steps: it has no clock, goroutine
// or I/O. Whoever drives it performs the actions that a step returns, and reports how each one ended.
//
// Reservations that a majority of epoch e accepted must be known to every member that answers for e+1. So enough of the
// old members refuse epoch e first, and only what they know after that is handed on:
//
//	Target planned   Copy     members of the target fetch the registers, while checks go on
//	                 Agree    raft makes the target Next
//	Next agreed      Seal     R − W + 1 old members, or more, refuse epoch e from now on
//	                 Install  each member of next completes its registers from sealed members
//	                 Commit   once W members of next have: raft makes next the Replicas of epoch e+1
//	committed        Complete the members that were late do the same, from one that has done it
//
// What raft holds, the [ring.Place], is all that a move needs to begin or to go on: every action may be repeated, by
// this driver or another one, and several may drive the same partition at once.
//
// Start with [New] and [Move.Step].
package move

import (
	"slices"

	"github.com/jeton-dev/jeton/ring"
)

// A Move sees to one partition: that its replica set becomes the one that is planned, and that all its members have
// installed the epoch that they are in. It goes on from one change to the next. A Move is for one goroutine at a time.
type Move struct {
	place ring.Place

	// What has been asked of nodes, and of raft, in this epoch.
	copies    errands
	seals     errands
	completed errands // of the present epoch
	installs  errands // of the next one
	agree     errand
	commit    errand

	until   int64
	actions []Action
}

// New is the move of the partition that is at place. The first Step, with a [Tick], begins it.
func New(place ring.Place) *Move {
	m := &Move{}
	m.restart(place)
	return m
}

// Step takes an event in at the time now, in nanoseconds of any clock that does not go back, and returns what is to be
// done. Each action is to be answered by one [Answer]. Step must be called again, with a [Tick] if nothing else happens,
// at the time [Move.Until].
func (m *Move) Step(e Event, now int64) []Action {
	m.actions, m.until = nil, 0
	switch e := e.(type) {
	case Placed:
		m.follow(e.Place)
	case Answer:
		m.answered(e, now)
	case Back:
		for _, all := range []errands{m.copies, m.seals, m.completed, m.installs} {
			all.again(e.Node)
		}
	case Tick:
	}
	m.complete(now)
	switch m.Phase() {
	case Copying:
		m.copy(now)
	case Agreeing:
		m.askRaft(&m.agree, Agree{Epoch: m.place.Epoch, Next: m.place.Target}, now)
	case Sealing, Installing, Committing:
		m.replace(now)
	case Settled, Completing:
	}
	return m.actions
}

// Until is when the next Step is due at the latest; 0 if nothing is to happen without an event.
func (m *Move) Until() int64 { return m.until }

// Place is the place as the move knows it.
func (m *Move) Place() ring.Place { return m.place }

// follow takes over what raft says. What nodes have done in an epoch stays true for as long as the epoch lasts,
// whatever the plan becomes: an install joins the registers of sealed members, and whoever else installs does not matter
// to it. For the same reason what was installed for the next epoch holds when that one begins. Only a node that is not
// in next any more may drop what it has installed, and begins anew when it comes back.
func (m *Move) follow(place ring.Place) {
	before := m.place
	switch place.Epoch {
	case before.Epoch:
		m.place = clone(place)
	case before.Epoch + 1:
		installs := m.installs
		m.restart(place)
		m.completed = installs.at(leisurely)
	default:
		m.restart(place)
	}
	if !slices.Equal(before.Target, place.Target) {
		m.agree = errand{pace: agreement}
	}
	if !slices.Equal(before.Next, place.Next) {
		m.agree, m.commit = errand{pace: agreement}, errand{pace: agreement}
		m.installs.keep(place.Next)
	}
}

func (m *Move) restart(place ring.Place) {
	*m = Move{
		place:     clone(place),
		copies:    newErrands(leisurely),
		seals:     newErrands(urgent),
		completed: newErrands(leisurely),
		installs:  newErrands(urgent),
		agree:     errand{pace: agreement},
		commit:    errand{pace: agreement},
		actions:   m.actions,
		until:     m.until,
	}
}

func clone(p ring.Place) ring.Place {
	p.Replicas, p.Target, p.Next = slices.Clone(p.Replicas), slices.Clone(p.Target), slices.Clone(p.Next)
	return p
}

// answered notes how an action ended. What belongs to another epoch says nothing about this one. Only a Placed says
// that raft has agreed: its answers end an attempt, no more.
func (m *Move) answered(a Answer, now int64) {
	switch to := a.To.(type) {
	case Copy:
		if to.Epoch == m.place.Epoch {
			m.copies.of(to.Node).answered(a.OK, now)
		}
	case Seal:
		if to.Epoch == m.place.Epoch {
			m.sealed(to.Node, a.OK, now)
		}
	case Install:
		m.hasInstalled(to.Node, to.Epoch, a.OK, now)
	case Complete:
		m.hasInstalled(to.Node, to.Epoch, a.OK, now)
	case Agree:
		if to.Epoch == m.place.Epoch && slices.Equal(to.Next, m.place.Target) {
			m.agree.answered(false, now)
		}
	case Commit:
		if to.Epoch == m.place.Epoch && slices.Equal(to.Next, m.place.Next) {
			m.commit.answered(false, now)
		}
	}
}

// sealed notes how a seal ended. Once enough have sealed, installs that failed for want of sources are worth another try.
func (m *Move) sealed(node ring.NodeID, ok bool, now int64) {
	before := m.enoughSealed()
	m.seals.of(node).answered(ok, now)
	if m.enoughSealed() && !before {
		for _, e := range m.installs.by {
			e.at, e.failures = 0, 0
		}
	}
}

func (m *Move) hasInstalled(node ring.NodeID, epoch uint64, ok bool, now int64) {
	switch epoch {
	case m.place.Epoch:
		m.completed.of(node).answered(ok, now)
	case m.place.Epoch + 1:
		m.installs.of(node).answered(ok, now)
	}
}

// askRaft asks for an agreement, if its time has come.
func (m *Move) askRaft(e *errand, a Action, now int64) {
	if m.due(e, now) {
		m.actions = append(m.actions, a)
	}
}

// due says whether an errand is to be run now, and counts it as being run. If it is only later, it says when.
func (m *Move) due(e *errand, now int64) bool {
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
