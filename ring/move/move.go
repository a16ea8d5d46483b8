// Package move changes the replica set of one partition from epoch e to e+1, as pure steps: it has no clock, goroutine
// or I/O. The driver performs the actions that a step returns, and reports the result of each.
//
// Every member that answers in epoch e+1 must know all reservations that a majority of epoch e accepted. So enough of the old
// members refuse epoch e first, and the new members copy what those know after that:
//
//	Target planned   Copy     members of the target fetch the registers, while checks go on
//	                 Agree    raft makes the target Next
//	Next agreed      Seal     R − W + 1 old members, or more, refuse epoch e from now on
//	                 Install  each member of next completes its registers from sealed members
//	                 Commit   once W members of next have: raft makes next the Replicas of epoch e+1
//	committed        Complete the remaining members do the same, from one that has done it
//
// The [ring.Place], which raft holds, is all that a move needs to start or to continue: every action may be repeated, by this
// driver or another one, and several drivers may work on the same partition at once.
//
// Start with [New] and [Move.Step].
package move

import (
	"slices"

	"github.com/jeton-dev/jeton/ring"
)

// A Move drives one partition: its replica set becomes the planned one, and all its members install their epoch. It continues
// with the next change. A Move is for one goroutine at a time.
type Move struct {
	place ring.Place

	// The requests to nodes, and to raft, in this epoch.
	copies    tasks
	seals     tasks
	completed tasks // of the present epoch
	installs  tasks // of the next one
	agree     task
	commit    task

	until   int64
	actions []Action
}

// New makes the Move of the partition with that place. The first Step, with a [Tick], starts it.
func New(place ring.Place) *Move {
	m := &Move{}
	m.restart(place)
	return m
}

// Step handles an event at the time now, in nanoseconds of any monotonic clock, and returns the actions to perform. The caller
// reports each action with one [Answer]. It must call Step again at the time [Move.Until], with a [Tick] if nothing else
// happens.
func (m *Move) Step(e Event, now int64) []Action {
	m.actions, m.until = nil, 0
	switch e := e.(type) {
	case Placed:
		m.follow(e.Place)
	case Answer:
		m.answered(e, now)
	case Back:
		for _, all := range []tasks{m.copies, m.seals, m.completed, m.installs} {
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

// Until is when the next Step is due; 0 if nothing is due without an event.
func (m *Move) Until() int64 { return m.until }

// Place is the place as the move knows it.
func (m *Move) Place() ring.Place { return m.place }

// follow adopts the state that raft reports. What nodes have done in an epoch remains valid for the whole epoch, even if the
// plan changes: an install joins the registers of sealed members, whichever other nodes install. For the same reason, what
// was installed for the next epoch remains valid when that one begins. Only a node that is no longer in next may have dropped
// what it installed, and starts again if it comes back.
func (m *Move) follow(place ring.Place) {
	before := m.place
	switch place.Epoch {
	case before.Epoch:
		m.place = clone(place)
	case before.Epoch + 1:
		installs := m.installs
		m.restart(place)
		m.completed = installs.at(patient)
	default:
		m.restart(place)
	}
	if !slices.Equal(before.Target, place.Target) {
		m.agree = task{pace: prompt}
	}
	if !slices.Equal(before.Next, place.Next) {
		m.agree, m.commit = task{pace: prompt}, task{pace: prompt}
		m.installs.keep(place.Next)
	}
}

func (m *Move) restart(place ring.Place) {
	*m = Move{
		place:     clone(place),
		copies:    newTasks(patient),
		seals:     newTasks(urgent),
		completed: newTasks(patient),
		installs:  newTasks(urgent),
		agree:     task{pace: prompt},
		commit:    task{pace: prompt},
		actions:   m.actions,
		until:     m.until,
	}
}

func clone(p ring.Place) ring.Place {
	p.Replicas, p.Target, p.Next = slices.Clone(p.Replicas), slices.Clone(p.Target), slices.Clone(p.Next)
	return p
}

// answered handles the result of an action. One of another epoch is ignored. Raft's answers only end an attempt: a Placed
// says that raft has agreed.
func (m *Move) answered(a Answer, now int64) {
	switch to := a.To.(type) {
	case Copy:
		if to.Epoch == m.place.Epoch {
			m.copies.of(to.Node).answered(a.OK, now)
		}
	case Seal:
		if to.Epoch == m.place.Epoch {
			m.sealed(to.Node, a, now)
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

// sealed handles the result of a seal. Once enough members are sealed, installs that failed for lack of sources are retried.
func (m *Move) sealed(node ring.NodeID, a Answer, now int64) {
	before, e := m.enoughSealed(), m.seals.of(node)
	if e.answered(a.OK, now); a.OK {
		e.floored = a.Floored
	}
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
