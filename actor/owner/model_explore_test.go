package owner

import (
	"fmt"
	"math"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/storage/register"
)

// A kind is a sort of thing that can happen next.
type kind uint8

const (
	passes  kind = iota // time, by a tick
	asks                // a caller asks an owner to check a cost
	wakes               // an owner, because something is due
	arrives             // a message arrives at a replica
	answers             // an acceptance arrives at its owner
	strands             // a message arrives that no owner waits for
	restarts
	resets
	loses  // a replica its disk
	sweeps // a replica forgets registers that have passed
	misses // an owner is told that a replica is lost
	brings // a caller brings back a receipt
	sleeps // an owner is dormant, and goes on from its rest

	wants     // an edge a lease
	gets      // an edge the answer
	spends    // an edge a token
	squanders // who knows no positions a token
	suspends  // an edge, once it has read its clock for a check
	yields    // an edge what it has not spent
	regrets   // an edge what it has spent last
	regains   // an owner that

	performs // a node or raft does what a driver wants, which hears of it
	fails    // the same without the driver's hearing of it, or nothing was done
	changes  // the replica set, at once
	lags     // a node does what a driver once wanted
	begins   // another driver, from what raft knows
	replaces // raft the next replica set by another one
	hastens  // raft to commit, before any member has installed
	notices  // a node what raft has agreed
	follows  // an owner
)

// An event is one thing that happens: to which owner, message, replica or receipt is its business.
type event struct {
	kind
	a, b, c uint8
}

// events are all things that can happen next in w.
func (w *world) events(list []event) []event {
	elapsed := w.now/tick - 1
	add := func(k kind, a, b int) {
		if e := (event{k, uint8(a), uint8(b), 0}); w.calendar == nil || w.calendar(w, e, elapsed) {
			list = append(list, e)
		}
	}
	if w.left.ticks > 0 {
		add(passes, 0, 0)
	}
	for i := range w.team() {
		p := &w.players[i]
		if int(w.left.asked[i]) < len(w.checks[i]) {
			add(asks, i, 0)
		}
		if p.Due() <= w.clock(i) {
			add(wakes, i, 0)
		}
		if w.left.restarts > 0 && (p.bucket() != nil) {
			add(restarts, i, 0)
		}
		if w.left.resets > 0 {
			add(resets, i, 0)
		}
		if w.canSleep(i) {
			add(sleeps, i, 0)
		}
	}
	for i := range w.post {
		m := &w.post[i]
		for n := range w.set(m.Epoch).all() {
			switch heard := w.heard(m, n); {
			case w.gone.has(n):
				if !w.knownLost(m, n) {
					add(misses, i, n)
				}
			case !m.said[n] && (!heard && w.answers(m.Epoch, n) || w.acceptable(m.stray(), n)):
				add(arrives, i, n)
			case m.said[n] && !heard:
				add(answers, i, n)
			}
		}
	}
	for i, s := range w.strays {
		for n := range w.set(s.epoch).all() {
			if !w.gone.has(n) && w.acceptable(s, n) {
				add(strands, i, n)
			}
		}
	}
	for n := range w.nodes {
		if w.left.losses > 0 && w.nodes[n].Register.H > 0 {
			add(loses, n, 0)
		}
		if w.left.sweeps > 0 && w.nodes[n].partition.Epoch > 0 && w.nodes[n].partition.Horizon < w.now {
			add(sweeps, n, 0)
		}
	}
	for i := range w.proofs {
		if w.left.returns > 0 {
			for who := range w.team() {
				add(brings, i, who)
			}
		}
	}
	w.edgeEvents(add)
	if w.change.to == 0 {
		return list
	}
	return w.changeEvents(list, elapsed)
}

// apply makes e happen.
func (w *world) apply(e event) {
	switch e.kind {
	case passes:
		w.now += tick
		w.say("— tick %d —", w.now/tick)
		w.left.ticks--
	case asks:
		w.left.asked[e.a]++
		w.ask(int(e.a), w.checks[e.a][w.left.asked[e.a]-1])
	case wakes:
		w.say("%s wakes", w.name(int(e.a)))
		w.step(int(e.a), func(o *Owner, now int64, out *Out) { o.Wake(now, out) })
	case sleeps:
		w.sleep(int(e.a))
	case arrives:
		w.deliver(&w.post[e.a], int(e.b))
	case answers:
		w.accepted(w.post[e.a], int(e.b))
	case misses:
		w.miss(&w.post[e.a], int(e.b))
	case strands:
		w.strand(w.strays[e.a], int(e.b))
	case restarts:
		w.left.restarts--
		w.say("%s dies and is started again", w.name(int(e.a)))
		w.start(int(e.a))
	case resets:
		w.left.resets--
		w.reset(int(e.a))
	case loses:
		w.left.losses--
		w.say("replica %d loses its disk", e.a+1)
		n := &w.nodes[e.a]
		*n = node{partition: n.partition}
		if !w.noFloor {
			n.partition.Floored, n.partition.Floor = true, w.now+w.epsMax*tick
		}
	case sweeps:
		w.left.sweeps--
		w.sweep(&w.nodes[e.a])
	case brings:
		w.left.returns--
		w.bring(&w.proofs[e.a], int(e.b))
	case wants, gets, spends, squanders, suspends, yields, regrets, regains:
		w.applyEdge(e)
	default:
		w.applyChange(e)
	}
	for w.lone && w.fair(nodes, false) {
		w.tidy()
	}
	w.tidy()
	oldest := w.now
	for i := range w.team() {
		oldest = min(oldest, w.oldest(i)-w.setting.clock[i]*tick)
	}
	for i := range w.edges {
		if at := w.edges[i].readAt; at > 0 {
			oldest = min(oldest, at)
		}
	}
	w.history.settle(oldest, w.setting.returns > 0 || len(w.leases) > 0)
	w.remember()
}

func (w *world) ask(who int, cost int64) { w.askBy(who, cost, w.deadline(w.clock(who))) }

func (w *world) askBy(who int, cost, deadline int64) {
	at := reading{cost: cost, at: w.now}
	w.say("%s is asked for a %s", w.name(who), at)
	w.step(who, func(o *Owner, now int64, out *Out) {
		o.Check(Check{Tag: at, At: now, Deadline: deadline, Rules: w.rules, Cost: cost, Receipts: true}, out)
	})
}

func (w *world) deadline(now int64) int64 {
	if w.patience == 0 {
		return math.MaxInt64
	}
	return now + w.patience*tick
}

func (w *world) reset(who int) {
	w.say("%s is asked to reset the bucket", w.name(who))
	w.step(who, func(o *Owner, now int64, out *Out) {
		o.Reset(reading{-1, w.now}, w.rules[0], now, w.deadline(now), out)
	})
}

// sweep raises the horizon to the notLost, and deletes what it has passed. The real horizon stays behind.
func (w *world) sweep(n *node) {
	w.say("a replica sweeps: its horizon is %d", w.now/tick)
	n.partition.Horizon = w.now
	r := n.Register
	if w.counters {
		r.Generation = 0 // a count says nothing about time
	}
	if r.Swept(w.now) {
		n.Register = register.Register{}
	}
}

func (w *world) bring(p *proof, who int) {
	back := false
	w.step(who, func(o *Owner, now int64, out *Out) {
		if b := w.players[who].bucket(); w.again && b != nil && b.returns() != nil {
			for i := range b.returns().made {
				b.returns().made[i].back = false
			}
		}
		back = o.Return(p.Receipt, now, out)
	})
	w.say("the receipt of %s is brought back to %s: it takes effect is %v", span(p.Span), w.name(who), back)
	switch {
	case !back:
		return
	case p.back:
		w.broken = fmt.Sprintf("the receipt of %s was returned twice", span(p.Span))
		return
	}
	p.back = true
	if broken := w.history.giveBack(p.Receipt, reading{p.cost(), w.now}); broken != "" {
		w.broken = broken
	}
}

// cost is what the admission cost: its line, fresh and spent again.
func (p *proof) cost() int64 {
	sum := int64(0)
	for _, s := range append([]limit.Span{p.Span}, p.Reuses...) {
		sum += (s.End - s.Start) / tick
	}
	return sum
}

// An exploration visits every state of a setting, depth first.
type exploration struct {
	digest func(*world) uint64   // tells states apart
	visit  func(*world, []event) // sees each state once, and by which way; may be nil
	seen   map[uint64]struct{}
	worlds []*world // by depth
	lists  [][]event
	way    []event
	steps  int
}

// explore visits every state that can be reached. If one breaks a promise it stops, and way leads there.
func explore(s *setting) (x *exploration, broken string) {
	var enc encoder
	x = &exploration{digest: enc.digest}
	broken = x.from(newWorld(s))
	return x, broken
}

func (x *exploration) from(w *world) (broken string) {
	x.seen = map[uint64]struct{}{x.digest(w): {}}
	x.worlds = []*world{w}
	return x.on(0)
}

// on goes on from the world at that depth.
func (x *exploration) on(depth int) (broken string) {
	w := x.worlds[depth]
	if len(x.worlds) == depth+1 {
		x.worlds = append(x.worlds, &world{})
	}
	if len(x.lists) == depth {
		x.lists = append(x.lists, nil)
	}
	if x.visit != nil {
		x.visit(w, x.way[:depth])
	}
	x.lists[depth] = w.events(x.lists[depth][:0])
	for _, e := range x.lists[depth] {
		next := x.worlds[depth+1]
		w.copyTo(next)
		x.steps++
		x.way = append(x.way[:depth], e)
		next.apply(e)
		if next.broken != "" {
			return next.broken
		}
		d := x.digest(next)
		if _, known := x.seen[d]; known {
			continue
		}
		x.seen[d] = struct{}{}
		if broken := x.on(depth + 1); broken != "" {
			return broken
		}
	}
	return ""
}
