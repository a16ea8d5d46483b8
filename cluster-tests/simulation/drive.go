package simulation

import (
	"slices"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/ring/move"
)

// How long a node may take over what it is asked; see ring/cluster.
const (
	copyWithin    = 2 * minute
	sealWithin    = 2 * second
	installWithin = 30 * second
	rescueAfter   = 5 * second
)

// A driver carries out moves while its node leads, or believes so: a move.Move for each partition.
type driver struct {
	p        *process
	moves    []*move.Move
	ended    bool
	planning bool
	planned  *agreed // everything is where it is to be, in this state
	rescuing bool
	ticking  int64 // true time of the next tick that is due
	alive    [maxSlots]bool
}

// drive begins to drive, from what is agreed.
func (p *process) drive() {
	if p.driver != nil || p.latest == nil {
		return
	}
	p.w.count("drivers")
	p.w.say(noKey, "%s starts to drive moves", p.name)
	v := &driver{p: p}
	p.driver = v
	for _, place := range p.latest.places {
		v.moves = append(v.moves, move.New(place))
	}
	for i := range v.alive {
		v.alive[i] = true
	}
	for i := range v.moves {
		v.step(i, move.Tick{})
	}
	v.look()
}

// stepDown ends a leadership. What was asked for may yet happen.
func (p *process) stepDown() {
	if p.driver != nil {
		p.driver.ended = true
		p.driver = nil
	}
	if p.w.leader == p {
		p.w.leader = nil
	}
}

// follow tells the moves what is agreed.
func (v *driver) follow() {
	if v.ended {
		return
	}
	for i, place := range v.p.latest.places {
		if !samePlace(v.moves[i].Place(), place) {
			v.step(i, move.Placed{Place: place})
		}
	}
}

func samePlace(a, b ring.Place) bool {
	return a.Epoch == b.Epoch && slices.Equal(a.Replicas, b.Replicas) && slices.Equal(a.Target, b.Target) && slices.Equal(a.Next, b.Next)
}

// step tells one move what has happened, and does what it wants.
func (v *driver) step(i int, e move.Event) {
	m := v.moves[i]
	for _, a := range m.Step(e, v.p.w.now) {
		v.p.after(us, func() { v.do(i, a) })
	}
	if until := m.Until(); until > 0 && (v.ticking <= v.p.w.now || until < v.ticking) {
		v.ticking = until
		v.p.after(until-v.p.w.now, func() { v.tick(until) })
	}
}

// tick calls the moves whose time has come.
func (v *driver) tick(at int64) {
	if v.ended || v.ticking != at {
		return
	}
	v.ticking = 0
	for i, m := range v.moves {
		switch until := m.Until(); {
		case until == 0:
		case until <= v.p.w.now:
			v.step(i, move.Tick{})
		case v.ticking == 0 || until < v.ticking:
			v.ticking = until
			v.p.after(until-v.p.w.now, func() { v.tick(until) })
		}
	}
}

// do carries an action out, and tells the move how that ended.
func (v *driver) do(i int, a move.Action) {
	if v.ended {
		return
	}
	answered := func(ok, floored bool) {
		if !v.ended {
			v.step(i, move.Answer{To: a, OK: ok, Floored: floored})
		}
	}
	answer := func(ok bool) { answered(ok, false) }
	of := func(ok bool, _ struct{}) { answer(ok) }
	p, partition := v.p, ring.Partition(i)
	if !v.moves[i].Wants(a) {
		answer(false)
		return
	}
	switch a := a.(type) {
	case move.Copy:
		remote(p, a.Node, copyWithin, func(q *process, reply func(bool, struct{})) {
			q.copyFrom(partition, a.Sources, func(ok bool) { reply(ok, struct{}{}) })
		}, of)
	case move.Seal:
		remote(p, a.Node, sealWithin, func(q *process, reply func(ok, floored bool)) { q.seal(partition, a.Epoch, reply) }, answered)
	case move.Install:
		remote(p, a.Node, installWithin, func(q *process, reply func(bool, struct{})) {
			q.installFrom(partition, a.Epoch, a.Enough, a.Sources, func(ok bool) { reply(ok, struct{}{}) })
		}, of)
	case move.Complete:
		remote(p, a.Node, installWithin, func(q *process, reply func(bool, struct{})) {
			q.installFrom(partition, a.Epoch, len(a.Sources)+1, a.Sources, func(ok bool) {
				if ok {
					q.w.count("replicas completed after their move")
				}
				reply(ok, struct{}{})
			})
		}, of)
	case move.Agree:
		v.agree(partition, a, answer)
	case move.Commit:
		p.propose(commit([]change{{partition, a.Epoch, a.Next}}), answer)
	}
}

// agree begins a move if enough nodes are alive for it to come to its end.
func (v *driver) agree(partition ring.Partition, a move.Agree, answer func(bool)) {
	place := v.moves[partition].Place()
	under := len(place.Next) > 0
	if !under && (v.living(place.Replicas) < ring.Enough(len(place.Replicas)) || v.living(a.Next) < ring.Majority(len(a.Next))) {
		v.p.after(500*ms, func() { answer(false) })
		return
	}
	v.p.propose(setNext([]change{{partition, a.Epoch, a.Next}}), answer)
}

// dead says whether a node has not been heard of for so long.
func (v *driver) dead(id ring.NodeID, lasting int64) bool {
	w, slot := v.p.w, int(id[0])-1
	if v.p.latest.slot(id) < 0 {
		return true
	}
	since := w.nodes[slot].silent
	return since > 0 && w.now-since >= max(lasting, second)
}

func (v *driver) living(ids []ring.NodeID) (n int) {
	for _, id := range ids {
		if !v.dead(id, 0) {
			n++
		}
	}
	return n
}

// look finds the nodes that are back, and plans, twice a second.
func (v *driver) look() {
	if v.ended {
		return
	}
	s := v.p.latest
	for slot := range s.members {
		m := &s.members[slot]
		before := v.alive[slot]
		v.alive[slot] = m.in && !v.dead(m.id, 0)
		if v.alive[slot] && !before {
			for i := range v.moves {
				v.step(i, move.Back{Node: m.id})
			}
		}
	}
	v.plan(s)
	v.rescue(s)
	v.p.after(500*ms, v.look)
}

// plan has the table planned for the members that there are.
func (v *driver) plan(s *agreed) {
	members := s.staying()
	if v.planning || v.planned == s || len(members) == 0 {
		return
	}
	w := v.p.w
	var current [][]ring.NodeID
	for _, place := range s.places {
		current = append(current, place.Planned())
	}
	planned, err := ring.Assign(current, members, w.partitions, ring.Replication(len(members), w.scenario.wanted))
	if err != nil {
		return
	}
	var changes []change
	for i := range planned {
		if !slices.Equal(planned[i], current[i]) {
			changes = append(changes, change{ring.Partition(i), s.places[i].Epoch, planned[i]})
		}
	}
	if len(changes) == 0 {
		v.planned = s
		return
	}
	v.planning = true
	v.p.propose(setTarget(changes), func(bool) { v.planning = false })
}

// rescue gives moves other nodes of which too many are dead for too long.
func (v *driver) rescue(s *agreed) {
	if v.rescuing {
		return
	}
	for i := range s.places {
		place := &s.places[i]
		if len(place.Next) == 0 || v.livingFor(place.Next, rescueAfter) >= ring.Majority(len(place.Next)) ||
			v.living(place.Replicas) < ring.Enough(len(place.Replicas)) {
			continue
		}
		var next []ring.NodeID
		all := slices.Concat(place.Next, place.Replicas, place.Target)
		for _, m := range s.staying() {
			all = append(all, m.ID)
		}
		for _, id := range all {
			if len(next) < len(place.Next) && !v.dead(id, 0) && !slices.Contains(next, id) {
				next = append(next, id)
			}
		}
		next = next[:min(len(next), ring.Replication(len(next), len(place.Next)))]
		if len(next) == 0 || slices.Equal(next, place.Next) {
			continue
		}
		v.rescuing = true
		v.p.w.count("moves directed to other nodes")
		v.p.propose(setNext([]change{{ring.Partition(i), place.Epoch, next}}), func(bool) { v.rescuing = false })
		return
	}
}

// livingFor counts the nodes that have not been dead for so long.
func (v *driver) livingFor(ids []ring.NodeID, lasting int64) (n int) {
	for _, id := range ids {
		if !v.dead(id, lasting) {
			n++
		}
	}
	return n
}
