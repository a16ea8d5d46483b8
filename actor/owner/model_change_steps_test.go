package owner

import (
	"fmt"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/storage/register"
)

// carryOut has the nodes or raft do as they are told.
func (w *world) carryOut(o *order, sources members) {
	switch o.task {
	case copies:
		w.say("replica %d copies %s", o.node+1, sources)
		w.merge(o.node, sources)
	case seals:
		w.say("replica %d is sealed", o.node+1)
		if p := &w.nodes[o.node].partition; !w.noSeal {
			*p, _ = p.Seal(o.epoch)
		}
	case installs, completes:
		w.install(o, sources)
	case agrees:
		w.say("raft makes %s next", o.sources)
		w.place.next, w.place.target = o.sources, 0
		w.tellDrivers()
	case commits:
		installed := 0
		for n := range o.sources.all() {
			if w.hasDone(w.late(n, installs)) {
				installed++
			}
		}
		if installed < ring.Majority(o.sources.size()) {
			w.broken = fmt.Sprintf("%s is committed, and %d have installed", o.sources, installed)
		}
		w.commit()
	}
}

// merge takes in registers of others.
func (w *world) merge(to int, sources members) {
	n := &w.nodes[to]
	for s := range sources.all() {
		if s != to {
			n.Register = n.Register.Join(w.nodes[s].Register)
		}
	}
	if n.Register.Swept(n.partition.Horizon) {
		n.Register = register.Register{}
	}
}

func (w *world) install(o *order, sources members) {
	w.say("replica %d installs epoch %d from %s", o.node+1, o.epoch, sources)
	joined, err := w.join(o, sources)
	if err != nil {
		panic(err)
	}
	if w.oneJoined {
		sources &= -sources
	}
	w.merge(o.node, sources)
	p := &w.nodes[o.node].partition
	sealed := p.Sealed
	*p, _ = p.Install(o.epoch, joined)
	p.Sealed = p.Sealed && !w.noSeal || sealed
}

func (w *world) commit() {
	w.say("raft begins epoch %d with %s", w.place.epoch+1, w.place.next)
	w.place = place{epoch: w.place.epoch + 1, replicas: w.place.next}
	w.tellDrivers()
}

func (w *world) tellDrivers() {
	for which, state := range w.drivers {
		if state != 0 {
			w.drive(which, told{tidings: ofPlace, place: w.place})
		}
	}
}

// duty is what a node has to do when it sees what raft has agreed; nil for nothing.
func (w *world) duty(n int) func() {
	p, at := &w.nodes[n].partition, &w.place
	epoch := uint64(at.epoch)
	switch {
	case at.replicas.has(n):
		if p.Epoch < epoch && (p.Installed == epoch || w.unready) {
			return func() {
				w.say("replica %d enters epoch %d", n+1, epoch)
				if w.unready {
					p.Installed = epoch
				}
				*p, _ = p.Enter(epoch)
			}
		}
	case (at.next | at.target).has(n):
	case epoch > p.Epoch && epoch >= p.Installed && (p.Epoch > 0 || p.Installed > 0) && !p.Incomplete:
		return func() {
			w.say("replica %d drops its registers", n+1)
			*p = p.Drop()
			w.nodes[n].Register = register.Register{}
		}
	}
	return nil
}

// appendChange writes down what a node is and does in the change.
func appendChange(b []byte, w *world, n int) []byte {
	role := byte(0)
	for i, m := range []members{w.first, w.change.to, w.change.instead, w.place.replicas, w.place.target, w.place.next} {
		role |= byte(m>>n&1) << i
	}
	p := &w.nodes[n].partition
	flags := byte(0)
	for i, f := range []bool{p.Sealed, p.Incomplete, p.Floored} {
		if f {
			flags |= 1 << i
		}
	}
	orders := w.orders[n]
	if w.isOver() {
		orders = 0
	}
	return append(b, role, flags, byte(p.Epoch), byte(p.Installed), orders)
}

// drivers writes down what the drivers know of the nodes, which are named by their order.
func (e *encoder) drivers(w *world) {
	if w.change.to == 0 || w.isOver() {
		return
	}
	e.buf = append(e.buf, byte(w.left.drivers), byte(w.left.failures), byte(w.left.replacements))
	var rank [nodes]uint8
	for i, n := range e.order {
		rank[n] = uint8(i)
	}
	for _, d := range w.drivers {
		state := w.moves.rename(d, rank)
		e.buf = append(e.buf, byte(state), byte(state>>8))
	}
}
