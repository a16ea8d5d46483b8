package simulation

import (
	"slices"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/actor/owner"
	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/storage/register"
)

// A node is a machine: a disk, a clock, and a process that may run.
type node struct {
	slot     int
	name     string
	memory   bool // it keeps registers in memory
	disk     *disk
	disks    int // that it has had
	clock    clock
	wrong    int64 // by how much its clock is wrong; beyond what is tolerated, if it is not 0
	proc     *process
	lives    int
	frozen   bool
	held     []event // what happens to a frozen process happens later
	deaf     int     // faults that keep it from hearing what is agreed
	full     int     // faults that leave no room on its disk
	slow     int     // faults that make its disk slow
	silent   int64   // since when it cannot be heard of; 0: it can
	unproved bool    // it has got another disk, and no process has decided with it yet
	backup   *disk   // a copy of the disk …
	backed   int64   // … as it was then
}

// A process is one life of a node.
type process struct {
	*node

	w       *World
	life    int
	name    string
	me      ring.NodeID
	owner   limit.OwnerID // the name of its owners
	seq     uint64
	jitter  uint64
	nonce   uint64
	configs [owner.MaxReplicas + 1]owner.Config
	store   *store
	actors  []*actor // by key
	awake   int      // how many of them there are
	out     owner.Out
	dead    bool

	lost     [maxSlots]int64 // when it heard last that a message to or from there was lost, or that the clocks differ
	since    int64           // when it began to decide
	isOpen   bool            // it has proved that its registers are complete
	joined   bool            // and decides
	compared bool            // its clock was compared with the others', so that a floor can be set by them
	latest   *agreed
	seen     *agreed // what everything here follows
	settling bool
	again    bool
	learning bool
	places   []placement // by partition
	driver   *driver
	clocks   clocks
}

// id is the node's identity, that of its disk.
func (p *process) id() ring.NodeID { return p.me }

func (p *process) alive() bool { return !p.dead }

func (p *process) running() bool { return !p.dead && !p.frozen }

// read is what the node clock shows.
func (p *process) read() int64 { return p.clock.at(p.w.now) }

// after lets something happen to this process, if it lives then.
func (p *process) after(d int64, what func()) {
	p.w.push(event{at: p.w.now + d, slot: p.slot, life: p.life, what: what})
}

func (p *process) fsyncTime() int64 {
	d := throw(p.w.seed, forFsync, uint64(p.slot), uint64(p.w.now))
	t := d.between(100*us, 600*us)
	if p.slow > 0 || d.happens(p.w.rates.fsync) {
		t += d.spread(ms, 2*second)
	}
	return t
}

// start begins a life of the node in a slot.
func (w *World) start(slot int) {
	n := &w.nodes[slot]
	if n.proc != nil || n.full > 0 && w.healed == 0 {
		return
	}
	n.lives++
	n.clock.restart()
	p := &process{node: n, w: w, life: n.lives, name: n.name, actors: make([]*actor, len(w.keys)), places: make([]placement, w.partitions)}
	p.owner = limit.OwnerID{byte(slot + 1), byte(p.life >> 8), byte(p.life)}
	if w.variant.sameName {
		p.owner = limit.OwnerID{byte(slot + 1)}
	}
	n.proc, n.silent = p, 0
	p.configure()
	if n.disk == nil {
		n.disk = w.newDisk(slot)
	}
	p.me = n.disk.id
	p.store = p.open(n.disk)
	w.say(noKey, "%s starts, as owner %s", p.name, ownerName(p.owner))
	p.raiseMarks()
	p.sweepAlong(0)
	if len(w.raft.past) > 0 { // what its own log says of the past
		d := throw(w.seed, forStart, uint64(slot), uint64(w.now))
		p.latest = w.raft.past[d.below(int64(len(w.raft.past)))]
		if w.raft.state.version == 0 {
			p.latest = w.raft.state
		}
		p.follow()
	}
	p.after(ms, p.prove)
}

// configure fills in what owners need to know, as package actor does.
func (p *process) configure() {
	for n := 1; n <= owner.MaxReplicas; n++ {
		p.configs[n] = owner.Config{
			Replicas: n, Delta: owner.DefaultDelta, ReturnFor: owner.DefaultReturnFor, Busy: owner.DefaultBusy,
			Slack: p.w.bounds.Slack(), Late: 2 * p.w.bounds.EpsMax,
			NextSeq: func() uint64 {
				p.seq++
				return p.seq
			},
			Nonce: func() uint64 {
				p.nonce++
				d := throw(p.w.seed, forReceipt, uint64(p.slot), uint64(p.w.now), p.nonce)
				return uint64(d.below(1<<62)) << 2
			},
			Rand: func(n int64) int64 {
				p.jitter++
				d := throw(p.w.seed, forJitter, uint64(p.slot), uint64(p.w.now), p.jitter)
				return d.below(n)
			},
		}
		if n > 1 {
			p.configs[n].Resend, p.configs[n].Patience = owner.DefaultResend, owner.DefaultPatience
		}
	}
}

// prove finds out, with a majority of the others, that the disk is no old copy, has the node let in, and opens its
// registers.
func (p *process) prove() {
	w := p.w
	d := throw(w.seed, forStart, uint64(p.slot), uint64(w.now), 1)
	retry := func() { p.after(d.between(100*ms, 500*ms), p.prove) }
	if !w.agrees(p.slot) {
		retry()
		return
	}
	of := w.raft.state.members[p.slot]
	switch {
	case slices.Contains(w.raft.state.removed, p.id()):
		p.replaceDisk("its disk was removed")
		return
	case of.in && of.id == p.id() && of.mark.above(p.store.confirmed):
		w.count("old copies of disks detected")
		p.replaceDisk("its disk is an old copy")
		return
	}
	p.store.confirm(func() {
		let := raise(p.slot, p.id(), p.store.mark, p.life)
		if !of.in || of.id != p.id() {
			let = join(p.slot, p.id(), p.store.mark, p.life)
		}
		p.propose(let, func(ok bool) {
			of := w.raft.state.members[p.slot]
			mine := of.in && of.id == p.id()
			switch {
			case ok, mine && of.life == p.life && of.mark.boot == p.store.mark.boot:
				p.comeIn()
			case mine && of.mark.boot >= p.store.mark.boot && w.agrees(p.slot):
				w.count("old copies of disks detected")
				p.replaceDisk("another process has gone on from this copy of its disk")
			default:
				retry()
			}
		})
	})
}

// comeIn waits until it has seen what is agreed, and then opens the registers: a floor, if they have one, now lies beyond
// every clock that was heard.
func (p *process) comeIn() {
	w := p.w
	if !w.agrees(p.slot) {
		p.after(300*ms, p.comeIn)
		return
	}
	p.latest = w.raft.state
	finish := func() {
		p.compared = true
		p.store.raiseFloor(max(p.read(), p.clocks.highest(p.read()))+w.bounds.EpsMax, func() {
			p.whenSettled(func() {
				p.isOpen, p.joined, p.unproved, p.since = true, true, false, w.now
				w.say(noKey, "%s decides", p.name)
				p.learn()
			})
		})
	}
	if p.store.floorDue || p.floorsAhead() {
		p.compareUntilHeard(w.now+3*second, finish)
		return
	}
	finish()
}

// replaceDisk goes on with an empty disk, as a new node.
func (p *process) replaceDisk(why string) {
	p.w.say(noKey, "%s: %s; it restarts with an empty disk", p.name, why)
	d := throw(p.w.seed, forStart, uint64(p.slot), uint64(p.w.now), 2)
	n, slot := p.node, p.slot
	p.w.crash(slot, &d)
	n.disk = nil
	p.w.restartAfter(slot, d.between(ms, second), 0)
}

// crash ends the process of a slot, if there is one. What was under way to its disk may be lost.
func (w *World) crash(slot int, d *die) {
	n := &w.nodes[slot]
	p := n.proc
	if p == nil {
		return
	}
	p.store.crash(d)
	p.end()
}

// stop ends a process as one that was asked to: everything is on its disk.
func (w *World) stop(slot int) bool {
	p := w.nodes[slot].proc
	if p == nil || p.frozen || p.store.busy {
		return false
	}
	p.store.save()
	p.end()
	return true
}

// restartAfter starts a node again, with a clock that is off by that much.
func (w *World) restartAfter(slot int, after, off int64) {
	n := &w.nodes[slot]
	life := n.lives
	w.after(after, func() {
		if n.proc != nil || n.lives != life || w.raft.state.slot(n.idOrNone()) < 0 && w.mask>>slot&1 == 0 {
			return
		}
		if off != 0 && w.anotherIsWrong(n) {
			off = 0
		}
		w.setClock(n, off)
		w.start(slot)
		if p := n.proc; off != 0 && p != nil { // until an operator notices, and restarts it
			p.after(5*minute, func() {
				d := throw(w.seed, forFault, uint64(slot), uint64(w.now))
				w.crash(slot, &d)
				w.restartAfter(slot, second, 0)
			})
		}
	})
}

// setClock puts the clock of a machine whose process does not run right, but for off.
func (w *World) setClock(n *node, off int64) {
	n.clock.set(w.now, w.homes[n.slot]+off, 0)
	n.wrong = off
	if off != 0 {
		w.count("clocks wrong from the start")
	}
}

func (w *World) anotherIsWrong(n *node) bool {
	for i := range w.nodes {
		other := &w.nodes[i]
		soon := other.clock.still || other.clock.ppm != 0 // be wrong, though it may still be right
		if other != n && (other.proc != nil || other.wrong != 0) && (soon || !w.isRight(other)) {
			return true
		}
	}
	return false
}

func (n *node) idOrNone() (id ring.NodeID) {
	if n.disk != nil {
		id = n.disk.id
	}
	return id
}

func (p *process) end() {
	p.dead = true
	p.proc, p.node.frozen, p.held, p.silent = nil, false, nil, p.w.now
	if p.clock.still {
		p.clock.resume(p.w.now)
	}
	p.w.ledger.ended(p)
}

// raiseMarks raises the mark every minute, on the disk first.
func (p *process) raiseMarks() {
	p.after(minute-p.read()%minute+ms, func() {
		p.store.raiseMark(func(m mark) {
			if p.joined {
				p.propose(raise(p.slot, p.id(), m, p.life), func(bool) {})
			}
		})
		p.raiseMarks()
	})
}

// sweepEvery is how long a round of sweeps takes.
const sweepEvery = 10 * minute

// sweepAlong sweeps one partition after the other.
func (p *process) sweepAlong(next ring.Partition) {
	p.after(sweepEvery/int64(p.w.partitions), func() {
		if p.joined && p.clockAgrees() {
			p.store.sweep(next)
		}
		p.compareSoon()
		p.sweepAlong((next + 1) % ring.Partition(p.w.partitions))
	})
}

// A replicaSet is the nodes that keep a partition, in the order in which they are numbered.
type replicaSet struct{ ids []ring.NodeID }

// A placement is where a partition's registers are, as one process has seen it; without a set, not here.
type placement struct {
	set   *replicaSet
	terms *owner.Terms
	epoch uint64
	since int64 // when it was seen
}

// follow makes everything here follow what is agreed: first the registers, then the owners.
func (p *process) follow() {
	if p.settling {
		p.again = true
		return
	}
	s := p.latest
	if s == nil {
		return
	}
	p.settling = true
	open := 1
	settled := func() {
		if open--; open == 0 {
			p.adopt(s)
		}
	}
	for i, place := range s.places {
		open += p.duty(ring.Partition(i), place, settled)
	}
	settled()
}

// duty does what the registers have to do about a partition, and says how many times done will be called.
func (p *process) duty(i ring.Partition, place ring.Place, done func()) int {
	here, id, s := p.store.shown(i), p.id(), p.store
	blank := here.Epoch == 0 && here.Installed == 0
	whatever := func(bool) { done() }
	switch {
	case place.Has(id):
		switch {
		case here.Epoch >= place.Epoch:
		case place.Epoch == ring.FirstEpoch && blank:
			s.change(i, func(part register.Partition) (register.Partition, bool) { return part.Found(), true }, whatever)
			return 1
		case place.Floored && here.Installed <= place.Epoch && p.compared:
			p.begun(i, place, done)
			return 1
		case here.Installed == place.Epoch && !place.Floored:
			p.w.count("epochs entered by nodes")
			s.change(i, func(part register.Partition) (register.Partition, bool) { return part.Enter(place.Epoch) }, whatever)
			return 1
		}
	case slices.Contains(place.Next, id) || slices.Contains(place.Target, id):
	case place.Epoch > here.Epoch && place.Epoch >= here.Installed && !blank && !here.Incomplete:
		s.drop(i, done)
		return 1
	}
	return 0
}

// adopt lets owners follow a state which the registers are in.
func (p *process) adopt(s *agreed) {
	p.settling, p.seen = false, s
	for i, place := range s.places {
		at := &p.places[i]
		switch {
		case !place.Has(p.id()):
			*at = placement{}
		case at.set == nil || at.epoch != place.Epoch:
			set := p.w.setOf(place.Replicas)
			*at = placement{set, owner.NewTerms(&p.configs[len(set.ids)], p.owner, place.Epoch), place.Epoch, p.w.now}
		}
	}
	if p.again || p.latest != s {
		p.again = false
		p.follow()
	}
}

// whenSettled calls f once what is known to be agreed is followed.
func (p *process) whenSettled(f func()) {
	p.follow()
	if p.settling || p.seen != p.latest {
		p.after(ms, func() { p.whenSettled(f) })
		return
	}
	f()
}

// setOf is the replica set of nodes, one for each set of them.
func (w *World) setOf(ids []ring.NodeID) *replicaSet {
	ids = slices.SortedFunc(slices.Values(ids), ring.NodeID.Compare)
	for _, set := range w.sets {
		if slices.Equal(set.ids, ids) {
			return set
		}
	}
	set := &replicaSet{ids}
	w.sets = append(w.sets, set)
	return set
}
