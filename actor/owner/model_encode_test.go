package owner

import (
	"bytes"
	"slices"

	"github.com/cespare/xxhash/v2"

	"github.com/jeton-dev/jeton/storage/register"
)

// An encoder writes a world down such that two worlds get the same bytes if they differ in nothing that matters: not in
// which replica is which, nor in how owners' lives and messages are numbered.
type encoder struct {
	buf   []byte
	node  [nodes][]byte
	order [nodes]uint8 // of the nodes, as they are written
}

// digest is what a world is remembered by.
func (e *encoder) digest(w *world) uint64 {
	e.buf = e.buf[:0]
	for i := range e.node {
		e.node[i] = e.node[i][:0]
	}
	e.world(w)
	for i := range e.order {
		e.order[i] = uint8(i)
	}
	slices.SortFunc(e.order[:], func(a, b uint8) int { return bytes.Compare(e.node[a], e.node[b]) })
	for _, n := range e.order {
		e.buf = append(append(e.buf, e.node[n]...), 0xff)
	}
	e.drivers(w)
	return xxhash.Sum64(e.buf)
}

// time is a time or position: whole ticks, and what is beyond them, which is but a few nanoseconds.
func (e *encoder) time(ns int64) { e.buf = appendTime(e.buf, ns) }

func appendTime(dst []byte, ns int64) []byte {
	q, r := ns/tick, ns%tick
	if q < 0 || q > 255 || r > 255 {
		panic("the model has left its range")
	}
	return append(dst, byte(q), byte(r))
}

func (e *encoder) flag(fs ...bool) {
	var b byte
	for i, f := range fs {
		if f {
			b |= 1 << i
		}
	}
	e.buf = append(e.buf, b)
}

func (e *encoder) world(w *world) {
	e.time(w.now)
	l := w.left
	for i := range w.team() {
		e.buf = append(e.buf, byte(l.asked[i]))
	}
	e.buf = append(e.buf, byte(l.restarts), byte(l.resets), byte(l.losses),
		byte(l.sweeps), byte(l.returns), w.place.epoch, byte(len(w.post)), byte(len(w.strays)))
	for i := range w.nodes {
		if w.machines.has(i) {
			e.nodeState(w, i)
		}
	}
	for i := range w.post {
		e.message(w, &w.post[i])
	}
	for _, s := range w.strays {
		e.buf = append(e.buf, byte(s.epoch))
		e.time(s.generation)
		e.time(s.from)
		e.time(s.to)
		e.time(min(s.until, w.end())) // what outlasts the world outlasts it for ever
	}
	for i := range w.team() {
		e.player(w, i)
	}
	for i := range w.proofs {
		p := &w.proofs[i]
		e.flag(p.back, p.life == w.players[p.who].life)
		e.buf = append(e.buf, p.who, byte(p.Serial))
		e.time(p.Start)
		e.time(p.End)
	}
	e.edges(w)
	e.history(&w.history)
}

// end is when time is up.
func (w *world) end() int64 { return w.now + int64(w.left.ticks)*tick }

func (e *encoder) nodeState(w *world, i int) {
	n, b := &w.nodes[i], e.node[i]
	if w.change.to != 0 {
		b = appendChange(b, w, i)
	}
	b = appendTime(b, n.H)
	b = appendTime(b, n.Generation)
	b = appendTime(b, n.partition.Floor)
	b = appendTime(b, n.partition.Horizon)
	last := byte(0xff) // which message it has accepted last, if that can come again
	for k := range w.post {
		m := &w.post[k]
		if n.Writer == (register.Writer{m.who + 1, m.life}) && n.Seq == m.Seq && n.Epoch == m.Epoch && n.From == m.From && n.H == m.To {
			last = byte(k)
		}
	}
	e.node[i] = append(b, last)
}

func (e *encoder) message(w *world, m *message) {
	e.flag(m.life == w.players[m.who].life)
	e.time(m.now)
	e.time(m.Generation)
	e.time(m.From)
	e.time(m.To)
	e.buf = append(e.buf, byte(m.Epoch))
	for i := range w.set(m.Epoch).all() {
		under := byte(0)
		if m.said[i] && !w.heard(m, i) {
			under = 1
		}
		e.node[i] = append(e.node[i], under)
	}
}

// number is the place of the player's message with that number among all.
func (w *world) number(who int, seq uint64) byte {
	for k := range w.post {
		m := &w.post[k]
		if int(m.who) == who && m.life == w.players[who].life && m.Seq == seq {
			return byte(k)
		}
	}
	return 0xff
}

func (e *encoder) player(w *world, who int) {
	p := &w.players[who]
	oldest := w.oldest(who)
	if w.sameName {
		e.buf = append(e.buf, byte(p.seq))
	}
	e.buf = append(e.buf, byte(p.epoch), byte(p.Waiting()))
	for _, u := range p.waiting() {
		e.flag(u.reset != nil, u.resetSeq == 0, u.resetSeq != 0 && u.resetSeq == p.overflow.didSeq)
		e.time(u.At)
		e.buf = append(e.buf, byte(u.Cost))
		if u.reset != nil {
			e.buf = append(e.buf, w.number(who, u.resetSeq))
		}
		if w.patience > 0 {
			e.time(u.Deadline)
		}
	}
	if w.patience > 0 && p.overflow != nil {
		e.time(p.overflow.soon)
	}
	b := p.bucket()
	e.flag(b != nil)
	if b == nil {
		return
	}
	past := func(ns int64) int64 { // nothing before the oldest check tells one bucket from another
		if ns <= oldest && w.setting.returns == 0 {
			return 0
		}
		return ns
	}
	e.time(b.gen)
	e.time(past(b.tat.NS))
	e.time(past(b.held.to))
	if w.busy {
		e.time(b.next().from)
		e.time(b.next().to)
	}
	t := b.replication()
	if t == nil {
		t = &replication{}
	}
	e.time(past(t.retryAt))
	e.flag(t.skewed, t.paused, t.pending != nil, t.refused != nil, b.returns() != nil)
	if t.pending != nil {
		e.pending(w, who, t.pending)
	}
	if r := t.refused; r != nil {
		e.pending(w, who, &r.pending)
		e.time(past(r.until))
		e.flag(r.waited, r.sentAt >= w.clock(who))
		for _, u := range p.waiting() {
			e.flag(u.Cost == 0 && r.sentAt >= u.At)
		}
	}
	if r := b.returns(); r != nil {
		e.returns(r)
	}
	for n := range w.set(p.epoch).all() {
		h := b.latest(w.set(p.epoch).index(n))
		if h.generation <= b.gen {
			h = reported{b.gen, past(h.freeIn(b.gen))}
		}
		e.node[n] = appendTime(appendTime(e.node[n], h.generation), h.position)
	}
}

func (e *encoder) pending(w *world, who int, p *pending) {
	e.buf = append(e.buf, w.number(who, p.Seq))
	e.flag(p.reset, p.Background, p.stalled)
	e.time(max(p.resendAt-w.clock(who), 0))
	e.time(min(w.clock(who)-p.heardAt, silence))
	for n := range w.set(p.Epoch).all() {
		e.node[n] = append(e.node[n], byte(p.replies[w.set(p.Epoch).index(n)]))
	}
}

func (e *encoder) returns(r *returns) {
	e.buf = append(e.buf, byte(r.next), byte(len(r.free)))
	e.time(r.since)
	e.time(r.waits)
	e.time(r.left.NS)
	for _, p := range r.free {
		e.time(p.start.NS)
		e.time(p.end.NS)
	}
	for _, m := range r.made {
		e.flag(m.back)
		e.time(m.start.NS)
		e.time(m.end.NS)
		e.buf = append(e.buf, byte(len(m.reuses)))
		for _, p := range m.reuses {
			e.time(p.start.NS)
			e.time(p.end.NS)
		}
	}
}

func (e *encoder) history(h *history) {
	for i := range h.eras {
		a := &h.eras[i]
		e.time(a.generation)
		e.time(a.position)
		for _, set := range []uint64{a.spent, a.free, a.leased, a.over, a.held, a.agreed} {
			for ; set != 0; set >>= 8 {
				e.buf = append(e.buf, byte(set))
			}
			e.buf = append(e.buf, 0)
		}
		e.buf = append(e.buf, byte(a.level), byte(a.from))
		for _, n := range a.net[a.from:] {
			e.buf = append(e.buf, byte(n))
		}
	}
}
