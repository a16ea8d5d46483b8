package owner

import (
	"fmt"
	"math/bits"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/storage/register"
)

// A change is that of a world's replica set, from its first epoch to the next. Production's own steps are taken: those of
// ring/move by its drivers, of storage/register by the nodes, of Enter by the owners. Whatever a driver has ever wanted of a
// node may happen at any time; nodes and owners see at any time, each for itself, what raft has agreed.
type change struct {
	from, to members
	instead  members // raft may make it next in the place of to; 0: never
	planned  bool    // it begins with the plan, and so with copies; else with what is agreed as next
	drivers  int8    // that begin after the first one, from what raft knows; it goes on all the same
	failures int8    // answers that drivers do not get, whether something was done or not
	// elsewhere lets owners hear that a node does not serve their epoch. Else they hear nothing of it.
	elsewhere bool
	// atOnce takes all that must happen until the change is committed, and what must follow at the nodes that are ready
	// then, for one event. Nothing is lost by it but ways: to be sealed later, to install later what is sealed, and to
	// enter earlier differs from what may happen anyway only in that messages arrive or do not.
	atOnce bool
}

func (c *change) replacements() int8 {
	if c.instead != 0 {
		return 1
	}
	return 0
}

// A wrongMove is what is wrong with a change of the replica set.
type wrongMove struct {
	noSeal    bool // to seal does nothing
	fewSeals  bool // one sealed replica counts as enough
	oneJoined bool // of enough sealed replicas, the registers of one are joined
	soon      bool // the change may be committed before any member has installed
	unready   bool // a replica answers in the next epoch when it sees the commit, installed or not
	dropped   bool // a replica that has dropped its registers passes for a source
	outcome   bool // only the outcome is looked at, not what replicas have forgotten on the way
}

// begin places the registers where they are at the beginning.
func (w *world) begin() {
	c := &w.change
	w.place = place{epoch: ring.FirstEpoch, replicas: 0b111}
	if w.lone {
		w.place.replicas = 1
	}
	w.machines = w.place.replicas
	if c.to != 0 {
		w.place.replicas = c.from
		w.machines = c.from | c.to | c.instead
	}
	w.first = w.place.replicas
	for n := range w.first.all() {
		w.nodes[n].partition.Epoch = ring.FirstEpoch
	}
	if c.to == 0 {
		return
	}
	if c.planned {
		w.place.target = c.to
	} else {
		w.place.next = c.to
	}
	if w.fewSeals {
		for n := range w.machines.all() {
			w.orders[n] |= 1<<seals | 1<<installs
		}
	}
	w.drive(0, told{tidings: toBegin, place: w.place})
}

// set is the replica set of an epoch.
func (w *world) set(epoch uint64) members {
	if epoch == ring.FirstEpoch {
		return w.first
	}
	return w.place.replicas
}

// answers says whether owners hear of a node what it says in an epoch.
func (w *world) answers(epoch uint64, n int) bool {
	p := &w.nodes[n].partition
	return w.change.elsewhere || w.replica != nil || p.Epoch == epoch && !p.Sealed
}

func (w *world) terms(who int, epoch uint64) *Terms {
	return NewTerms(&w.cfgs[w.set(epoch).size()], limit.OwnerID{byte(who) + 1, w.players[who].life}, epoch)
}

// drive tells a driver something, and then of everything that it wants and that was done before: to hear of that later
// would let it want nothing else.
func (w *world) drive(which int, t told) {
	state := w.moves.step(w.drivers[which], t)
	for {
		d := &w.moves.states[state]
		ready := -1
		for i := range d.open {
			o := &d.open[i]
			if o.task < agrees {
				w.orders[o.node] |= 1 << o.task
			}
			if w.hasDone(o) {
				ready = i
			}
		}
		switch {
		case ready >= 0:
			state = w.moves.step(state, told{tidings: ofSuccess, code: d.open[ready].code()})
		case len(d.open) == 0 && d.waits:
			state = w.moves.step(state, told{tidings: ofTime})
		default:
			w.drivers[which] = state
			return
		}
	}
}

// hasDone says whether to carry out an order would change nothing.
func (w *world) hasDone(o *order) bool {
	if o.node == raft {
		return false
	}
	p := &w.nodes[o.node].partition
	switch o.task {
	case seals:
		return p.Epoch == o.epoch && p.Sealed && !p.Incomplete
	case installs, completes:
		_, err := register.Join([]register.Partition{*p}, nodes+1, o.epoch) // only what is installed is complete alone
		return err == nil || p.Epoch == o.epoch && p.Installed > o.epoch
	case copies, agrees, commits:
	}
	return false
}

const nothing = 0xff // instead of the sources of an order: it is not carried out

// changeEvents are all things that can happen next to the replica set.
func (w *world) changeEvents(list []event, elapsed int64) []event {
	add := func(k kind, a int, b, c uint8) {
		if e := (event{k, uint8(a), b, c}); w.calendar == nil || w.calendar(w, e, elapsed) {
			list = append(list, e)
		}
	}
	for who := range w.team() {
		if w.players[who].epoch < uint64(w.place.epoch) {
			add(follows, who, 0, 0)
		}
	}
	if w.isOver() {
		return list
	}
	if w.change.atOnce && w.place.next != 0 {
		w.atOnce(func(sealed, ready members) { add(changes, 0, uint8(sealed), uint8(ready)) })
		return list
	}
	for which, state := range w.drivers {
		open := w.moves.states[state].open
		for i := range open {
			o := &open[i]
			for sources := range w.ways(o) {
				add(performs, which, o.code(), sources)
				if w.left.failures > 0 && o.node != raft {
					add(fails, which, o.code(), sources)
				}
			}
			if w.left.failures > 0 && o.node != raft {
				add(fails, which, o.code(), nothing)
			}
		}
	}
	if w.change.atOnce {
		return list
	}
	for n := range w.machines.all() {
		for t := seals; t <= completes; t++ {
			if o := w.late(n, t); w.orders[n]>>t&1 == 1 && !w.wanted(o) && !w.hasDone(o) {
				for sources := range w.ways(o) {
					add(lags, n, uint8(t), sources)
				}
			}
		}
		if w.duty(n) != nil {
			add(notices, n, 0, 0)
		}
	}
	if w.left.drivers > 0 {
		add(begins, 1, 0, 0)
	}
	if w.left.replacements > 0 && w.place.next != 0 {
		add(replaces, 0, 0, 0)
	}
	if w.soon && w.place.next != 0 {
		add(hastens, 0, 0, 0)
	}
	return list
}

// isOver says whether nothing changes any more but the owners.
func (w *world) isOver() bool {
	if w.place.epoch == ring.FirstEpoch {
		return false
	}
	for n := range w.machines.all() {
		if w.place.replicas.has(n) && w.nodes[n].partition.Epoch != uint64(w.place.epoch) || w.duty(n) != nil {
			return false
		}
	}
	return true
}

// atOnce calls f with who is sealed and who installs before the commit, in each of the ways that differ.
func (w *world) atOnce(f func(sealed, ready members)) {
	for sealed := range w.place.replicas + 1 {
		if sealed&^w.place.replicas != 0 || sealed.size() != ring.Enough(w.place.replicas.size()) {
			continue
		}
		for ready := range w.place.next + 1 {
			if ready&^w.place.next == 0 && ready.size() >= ring.Majority(w.place.next.size()) {
				f(sealed, ready)
			}
		}
	}
}

// changeAtOnce lets the first driver bring the change to its end.
func (w *world) changeAtOnce(sealed, ready members) {
	for n := range sealed.all() {
		w.applyChange(event{performs, 0, uint8(seals)<<4 | uint8(n), 0})
	}
	for n := range ready.all() {
		w.applyChange(event{performs, 0, uint8(installs)<<4 | uint8(n), uint8(sealed)})
	}
	w.applyChange(event{performs, 0, uint8(commits)<<4 | raft, 0})
	w.noticeAll()
}

func (w *world) noticeAll() {
	for n := range w.machines.all() {
		if do := w.duty(n); do != nil {
			do()
		}
	}
}

// late is what a driver once wanted of a node.
func (w *world) late(n int, t task) *order {
	o := &order{task: t, node: n, epoch: ring.FirstEpoch + 1, sources: w.machines, enough: ring.Enough(w.first.size())}
	switch t {
	case seals:
		o.epoch = ring.FirstEpoch
	case completes:
		o.enough = nodes + 1
	case copies, installs, agrees, commits:
	}
	return o
}

// wanted says whether a driver waits for it.
func (w *world) wanted(o *order) bool {
	for _, state := range w.drivers {
		for i := range w.moves.states[state].open {
			if w.moves.states[state].open[i].code() == o.code() {
				return true
			}
		}
	}
	return false
}

// ways are the ways in which an order can be carried out: the sources that can be reached, no more than it takes.
func (w *world) ways(o *order) func(yield func(uint8) bool) {
	return func(yield func(uint8) bool) {
		switch o.task {
		case seals:
			if p := &w.nodes[o.node].partition; p.Epoch == o.epoch && !p.Incomplete {
				yield(0)
			}
			return
		case agrees, commits:
			yield(0)
			return
		case copies, installs, completes:
		}
		for sources := members(1); sources < 1<<nodes; sources++ {
			if sources&^o.sources == 0 && w.justEnough(o, sources) && !yield(uint8(sources)) {
				return
			}
		}
	}
}

// justEnough says whether these sources suffice for an order, and each of them makes a difference to how it ends.
func (w *world) justEnough(o *order, sources members) bool {
	if o.task == copies {
		return sources.size() == 1
	}
	if p := &w.nodes[o.node].partition; p.Epoch > o.epoch || p.Installed > o.epoch {
		return false
	}
	joined, err := w.join(o, sources)
	if err != nil {
		return false
	}
	for n := range sources.all() {
		if less, err := w.join(o, sources&^(1<<n)); err == nil && less.Floored == joined.Floored {
			return false
		}
	}
	return true
}

func (w *world) join(o *order, sources members) (register.Partition, error) {
	var room [nodes]register.Partition
	states := room[:0]
	for n := range sources.all() {
		p := w.nodes[n].partition
		p.Sealed = p.Sealed || w.noSeal && p.Epoch == ring.FirstEpoch
		p.Incomplete = p.Incomplete && !w.wrongMove.dropped
		states = append(states, p)
	}
	enough := o.enough
	if w.fewSeals {
		enough = 1
	}
	return register.Join(states, enough, o.epoch)
}

// applyChange makes e happen, which concerns the replica set.
func (w *world) applyChange(e event) {
	switch e.kind {
	case performs:
		o := w.open(int(e.a), e.b)
		w.carryOut(o, members(e.c))
		if o.node != raft { // of what raft has agreed it is told so
			w.drive(int(e.a), told{tidings: ofSuccess, code: e.b})
		}
		if w.change.atOnce && w.place.next == 0 {
			w.noticeAll()
		}
	case changes:
		w.changeAtOnce(members(e.b), members(e.c))
	case fails:
		w.left.failures--
		o := w.open(int(e.a), e.b)
		if e.c != nothing {
			w.carryOut(o, members(e.c))
		}
		w.say("driver %d does not hear of it, and takes it for a failure", e.a+1)
		w.drive(int(e.a), told{tidings: ofFailure, code: e.b})
	case lags:
		w.carryOut(w.late(int(e.a), task(e.b)), members(e.c))
	case begins:
		w.left.drivers--
		w.say("another driver begins")
		w.drive(int(e.a), told{tidings: toBegin, place: w.place})
	case replaces:
		w.left.replacements--
		w.say("raft makes %s next instead", w.change.instead)
		w.place.next = w.change.instead
		w.tellDrivers()
	case hastens:
		w.commit()
	case notices:
		w.duty(int(e.a))()
	case follows:
		w.say("%s follows into epoch %d", w.name(int(e.a)), w.place.epoch)
		t := w.terms(int(e.a), uint64(w.place.epoch))
		w.step(int(e.a), func(o *Owner, now int64, out *Out) { o.Enter(t, now, out) })
	default:
		panic("no such event")
	}
}

// open is what a driver wants, by its code.
func (w *world) open(which int, code uint8) *order {
	open := w.moves.states[w.drivers[which]].open
	for i := range open {
		if open[i].code() == code {
			return &open[i]
		}
	}
	panic("no setting has that")
}

// agreed notes what a majority of the first epoch has accepted, if there is another one.
func (w *world) agreed(m *message) {
	votes, set := 0, w.set(m.Epoch)
	for n := range set.all() {
		if m.said[n] {
			votes++
		}
	}
	if w.change.to == 0 || m.Epoch > ring.FirstEpoch || votes < ring.Majority(set.size()) {
		return
	}
	accepted, _ := line(m.From, m.To)
	w.history.era(m.Generation).agreed |= accepted
}

// remember asserts that who answers in the next epoch knows what a majority accepted in the first one.
func (w *world) remember() {
	if w.change.to == 0 || w.outcome || w.broken != "" {
		return
	}
	for i := range w.nodes {
		n := &w.nodes[i]
		if n.partition.Epoch <= ring.FirstEpoch || n.partition.Sealed {
			continue
		}
		for _, a := range w.history.eras {
			to := int64(bits.Len64(a.agreed)-1) * tick
			generation := max(n.Register.Generation, a.generation)
			if to <= 0 || generation > a.generation && to <= generation {
				continue // the reset knew of it
			}
			if free := n.partition.Free(n.Register, generation, w.rules[0].Reach(), w.bounds()); free < to {
				w.broken = fmt.Sprintf("replica %d answers in epoch %d from %d on, and a majority had accepted the line up to %d in the epoch before",
					i+1, n.partition.Epoch, free/tick, to/tick)
			}
		}
	}
}
