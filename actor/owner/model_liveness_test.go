package owner

import (
	"cmp"
	"testing"

	"github.com/jeton-dev/jeton/ring"
)

// patient is how many ticks without further faults a check may take to be decided, in any state. It is the time in which
// a floor fades, and a few ticks for messages to be sent again.
const patient = 12

// restless is how much may happen within a tick without coming to an end.
const restless = 200

// From every state, whatever has gone wrong before, checks are decided once nothing more goes wrong: those that wait and
// a new one of each owner. A majority suffices; which replica is dead, or whether one is, makes no difference. Nor does
// whether owners find out that it is dead, if the checks have a deadline.
func TestModelDecidesInTheEnd(t *testing.T) {
	for _, s := range []setting{
		{name: "checks", capacity: 2, ticks: 1, checks: [owners][]int64{{2}, {2}}, epsMax: 1},
		{name: "checks of one", capacity: 2, checks: [owners][]int64{{1}, {1}}, epsMax: 9},
		{name: "three owners", capacity: 2, checks: [owners][]int64{{2}, {2}, {2}}, epsMax: 1},
		{name: "a restart", capacity: 2, checks: [owners][]int64{{2}, {1}}, epsMax: 1, restarts: 1},
		{name: "clocks that differ", capacity: 2, ticks: 1, checks: [owners][]int64{{2}, {1}}, epsMax: 1, clock: [owners]int64{0, 1}},
		{name: "reserving ahead", capacity: 2, checks: [owners][]int64{{1, 1}, {1}}, epsMax: 1, busy: true},
		{name: "a reset", capacity: 2, checks: [owners][]int64{{2}, {}}, epsMax: 1, resets: 1},
		{name: "a reset that fails", capacity: 2, ticks: 1, checks: [owners][]int64{{2}, {}}, resets: 1, patience: 1},
		{name: "a lost disk", capacity: 2, ticks: 1, checks: [owners][]int64{{2}, {2}}, epsMax: 1, losses: 1},
		{name: "a sweep", capacity: 2, ticks: 1, checks: [owners][]int64{{2}, {1}}, epsMax: 1, sweeps: 1},
		{name: "other replicas", capacity: 2, checks: [owners][]int64{{2}, {}}, epsMax: 1, change: change{from: 0b0111, to: 0b1011, atOnce: true}},
		{name: "three replicas for one", capacity: 2, checks: [owners][]int64{{2}, {}}, epsMax: 1, change: change{from: 0b0001, to: 0b0111}},
		{name: "another next", capacity: 2, epsMax: 1, opening: spentByTwo, change: change{from: 0b0111, to: 0b1011, instead: 0b1101}},
		{name: "other replicas, step by step", capacity: 2, epsMax: 1, opening: spentByTwo, change: change{from: 0b0111, to: 0b1011, planned: true, failures: 1}},
	} {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			var enc encoder
			end := &world{}
			x := &exploration{digest: enc.digest}
			states := 0
			x.visit = func(w *world, way []event) {
				if states++; t.Failed() || !largeSettings && states%50 != 0 {
					return
				}
				for dead := range nodes + 1 { // the last number is no node's
					if dead < nodes && !w.machines.has(dead) || !w.canEnd(dead) {
						continue
					}
					for _, frozen := range []bool{false, true} {
						if frozen && w.waiting() > 0 && s.patience == 0 {
							continue // who has no deadline waits until it is known to be dead
						}
						w.copyTo(end)
						if !end.settles(dead, frozen) {
							t.Fatalf("with replica %d dead, or frozen is %v, %d checks are still waiting, and %d are undecided, after\n%s",
								dead+1, frozen, end.waiting(), end.undecided, tell(&s, way))
						}
					}
				}
			}
			if broken := x.from(newWorld(&s)); broken != "" {
				t.Fatal(broken)
			}
			t.Logf("%d states", states)
		})
	}
}

// settles asks each owner for one more check and lets everything happen that is due, in a fair order and without faults
// but for one dead replica, of which owners are told, or one that is frozen. It says whether all checks were decided.
func (w *world) settles(dead int, frozen bool) bool {
	w.ending = true
	defer func() { w.ending = false }()
	w.endChange(dead)
	w.expire()
	w.undecided = 0
	for who := range w.team() {
		w.askBy(who, 1, w.clock(who)+patient*tick)
	}
	for range patient {
		for happened := 0; w.fair(dead, frozen); happened++ {
			if happened > restless {
				return false
			}
			w.tidy()
		}
		if w.waiting() == 0 {
			return w.undecided == 0
		}
		w.now += tick
	}
	return false
}

// expire lets time pass until no check waits that has a deadline.
func (w *world) expire() {
	if w.patience == 0 {
		return
	}
	w.now += w.patience * tick
	for who := range w.team() {
		w.step(who, func(o *Owner, now int64, out *Out) { o.Wake(now, out) })
	}
}

// canEnd says whether there is enough without one node: a majority, and those who know what a replica set must know.
func (w *world) canEnd(dead int) bool {
	alive := ^members(1 << dead)
	next := cmp.Or(w.place.next, w.place.target, w.place.replicas)
	known := w.place.epoch > ring.FirstEpoch || (w.first&alive).size() >= ring.Enough(w.first.size())
	for n := range (next & alive).all() {
		known = known || w.hasDone(w.late(n, installs))
	}
	return known && (next&alive).size() >= ring.Majority(next.size())
}

// vain is how often something may fail when a replica set changes before what is left to be done is left.
const vain = 12

// endChange lets a change of the replica set come to its end without one node, if there is a change, and the owners follow.
// The driver of the change is gone; another one goes on from what raft knows.
func (w *world) endChange(dead int) {
	if w.change.to == 0 {
		return
	}
	w.drivers = [2]uint16{}
	w.drive(0, told{tidings: toBegin, place: w.place})
	for w.left.failures = vain; w.left.failures > 0; {
		for n := range w.machines.all() {
			if do := w.duty(n); do != nil && n != dead {
				do()
			}
		}
		e, more := w.nextOfChange(dead)
		if !more {
			break
		}
		w.applyChange(e)
	}
	for who := range w.team() {
		if w.players[who].epoch < uint64(w.place.epoch) {
			w.applyChange(event{kind: follows, a: uint8(who)})
		}
	}
}

// nextOfChange is something that a driver wants: if it can be done it is done, else it fails.
func (w *world) nextOfChange(dead int) (next event, more bool) {
	for which, state := range w.drivers {
		for i := range w.moves.states[state].open {
			o := &w.moves.states[state].open[i]
			for sources := range w.ways(o) {
				if o.node != dead && !members(sources).has(dead) {
					return event{performs, uint8(which), o.code(), sources}, true
				}
			}
			next, more = event{fails, uint8(which), o.code(), nothing}, true
		}
	}
	return next, more
}

// fair makes one thing happen that has to happen now: a message or an answer arrives, or an owner wakes. It says whether
// there was one.
func (w *world) fair(dead int, frozen bool) bool {
	for i := range w.post {
		m := &w.post[i]
		for n := range w.set(m.Epoch).all() {
			switch {
			case n == dead && !frozen && !w.knownLost(m, n):
				w.miss(m, n)
				return true
			case n == dead || w.heard(m, n):
			case m.said[n]:
				w.accepted(*m, n)
				return true
			default:
				w.deliver(m, n)
				return true
			}
		}
	}
	for who := range w.team() {
		if w.players[who].Due() <= w.clock(who) {
			w.step(who, func(o *Owner, now int64, out *Out) { o.Wake(now, out) })
			return true
		}
	}
	return false
}
