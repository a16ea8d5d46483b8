package simulation

import "github.com/jeton-dev/jeton/ring"

// caller is the slot from which calls come.
const caller = -1

// lateBy is more than an owner once waited for the answers that were missing.
const lateBy = 10 * ms

// transit draws how long a message is on its way. Within a machine it takes no time to speak of.
func (w *World) transit(d *die, from, to int) int64 {
	t := d.between(50*us, 800*us)
	if from == to {
		t = d.between(1*us, 30*us)
	}
	if d.happens(w.rates.slow) {
		t += d.spread(5*ms, 10*second)
	}
	if from != to && d.happens(w.rates.late) {
		w.count("messages delayed")
		t += lateBy
	}
	return t
}

// connected says whether messages get from one slot to another.
func (w *World) connected(from, to int) bool {
	return from == to || w.cut[from+1][to+1] <= 0
}

// A letter is a message between two slots: the process that gets it, what happens then, and what happens if its sender learns that it is lost.
type letter struct {
	from, to  int
	id        ring.NodeID // the node that is meant; zero for any node in that slot
	salt      uint64      // tells letters apart that are sent at once
	deliver   func(to *process)
	undeliver func() // may be nil
}

// send puts a letter under way.
func (w *World) send(l letter) {
	d := throw(w.seed, forLetter, uint64(l.from+1), uint64(l.to+1), l.salt, uint64(w.now))
	on := w.transit(&d, l.from, l.to)
	lost := !w.connected(l.from, l.to)
	if l.from != l.to && d.happens(w.rates.loss) {
		lost = true
	}
	if lost {
		w.counts["messages lost"]++
		w.bounce(&l, &d)
		return
	}
	if l.from != l.to && d.happens(w.rates.told) {
		w.count("messages delivered although sending failed")
		w.bounce(&l, &d)
		l.undeliver = nil
	}
	w.deliver(l, on)
	if l.from != l.to && d.happens(w.rates.twice) {
		w.count("messages duplicated")
		l.undeliver = nil
		w.deliver(l, on+d.spread(ms, 20*second))
	}
}

func (w *World) deliver(l letter, on int64) {
	w.push(event{at: w.now + on, slot: l.to, what: func() {
		var p *process
		if l.to >= 0 {
			p = w.nodes[l.to].proc
			if p == nil || l.id != (ring.NodeID{}) && l.id != p.id() {
				d := throw(w.seed, forLetter, uint64(l.to), l.salt, uint64(w.now))
				w.bounce(&l, &d)
				return
			}
		}
		l.deliver(p)
	}})
}

// bounce tells the sender that a letter is lost, soon, late, or not at all.
func (w *World) bounce(l *letter, d *die) {
	if l.undeliver == nil {
		return
	}
	switch d.below(4) {
	case 0:
	case 1:
		w.after(d.between(100*ms, 3*second), l.undeliver)
	default:
		w.after(d.between(us, 5*ms), l.undeliver)
	}
}

// remote asks another node for something. done gets the answer once, or that there was none in time: it may have been done
// all the same.
func remote[T any](p *process, to ring.NodeID, within int64, handle func(q *process, reply func(bool, T)), done func(bool, T)) {
	w, over := p.w, false
	finish := func(ok bool, v T) {
		if !over && p.alive() {
			over = true
			done(ok, v)
		}
	}
	var none T
	slot := w.slotOf(to)
	if slot < 0 {
		p.after(ms, func() { finish(false, none) })
		return
	}
	failed := func() { p.after(0, func() { finish(false, none) }) }
	w.send(letter{from: p.slot, to: slot, id: to, salt: forCall, undeliver: failed, deliver: func(q *process) {
		replied := false
		handle(q, func(ok bool, v T) {
			if replied || !q.alive() {
				return
			}
			replied = true
			w.send(letter{from: q.slot, to: p.slot, id: p.id(), salt: forCall + 1, undeliver: failed, deliver: func(back *process) {
				if back == p {
					finish(ok, v)
				}
			}})
		})
	}})
	p.after(within, func() { finish(false, none) })
}

// slotOf is where a disk is, or −1.
func (w *World) slotOf(id ring.NodeID) int {
	if n := int(id[0]) - 1; n >= 0 && n < len(w.nodes) && w.nodes[n].proc != nil && w.nodes[n].proc.id() == id {
		return n
	}
	return -1
}
