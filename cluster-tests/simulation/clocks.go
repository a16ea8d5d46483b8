package simulation

import (
	nodeclock "github.com/jeton-dev/jeton/actor/clock"
	"github.com/jeton-dev/jeton/ring"
)

// A clocks compares a node's clock with the others', as ring/cluster does: once a second, while anything happens here. It
// moves the node's clock forward when it is behind, and never back.
type clocks struct {
	ahead   [maxSlots]int64 // by how much each was ahead when it answered last
	heard   [maxSlots]bool
	at      int64 // when they were compared last, in true time
	coming  bool
	forward int64
}

// compareSoon has the clocks compared if that is due.
func (p *process) compareSoon() {
	k := &p.clocks
	if k.coming || p.w.now < k.at+second {
		return
	}
	k.coming = true
	d := throw(p.w.seed, forClocks, uint64(p.slot), uint64(p.w.now))
	p.after(d.between(0, second), func() {
		k.coming = false
		p.compareClocks()
	})
}

// compareClocks asks all others for their now.
func (p *process) compareClocks() {
	w, k := p.w, &p.clocks
	k.at = w.now
	own := p.read()
	now := nodeclock.Comparison{Members: p.members()}
	for i := range w.nodes {
		other := w.nodes[i].proc
		switch {
		case i == p.slot || !w.raft.state.members[i].in:
			k.heard[i] = false
		case other == nil:
			if w.now > w.nodes[i].silent+5*second {
				k.heard[i] = false
			}
		case !other.frozen && w.connected(p.slot, i) && w.connected(i, p.slot):
			d := throw(w.seed, forClocks, uint64(p.slot), uint64(w.now), uint64(i))
			trip := d.between(100*us, 2*ms)
			if d.happens(w.rates.slow) {
				trip = d.spread(10*ms, 500*ms)
			}
			k.ahead[i] = other.read() - own + d.between(-trip/2, trip/2)
			k.heard[i] = true
			now.Ahead = append(now.Ahead, k.ahead[i])
		}
	}
	if w.variant.oldReadings {
		now = p.comparison()
	}
	if behind := w.variant.behind(now); behind > w.bounds.EpsMax {
		w.count("clocks put forward")
		w.say(noKey, "the clock of %s is %s behind, and is put forward", p.name, seconds(behind))
		p.clock.shift(w.now, behind)
		w.mostAhead = w.epsilon + tolerance // it seemed so far behind if answers were half a second under way, too
		k.forward += behind
		for i := range k.ahead {
			k.ahead[i] -= behind
		}
		p.node.wrong = p.clock.ahead(w.now)
		if w.isRight(p.node) {
			p.node.wrong = 0
		}
	}
}

// comparison is what this process knows of the clocks now.
func (p *process) comparison() nodeclock.Comparison {
	known := nodeclock.Comparison{Members: p.members()}
	for i := range p.clocks.heard {
		if p.clocks.heard[i] {
			known.Ahead = append(known.Ahead, p.clocks.ahead[i])
		}
	}
	return known
}

// members is how many nodes are agreed to be members, as far as this process knows; 0 while it does not.
func (p *process) members() int {
	if p.latest == nil {
		return 0
	}
	return p.latest.size()
}

// clockAgrees says whether the clock is near enough to those that were heard to serve and to sweep.
func (p *process) clockAgrees() bool {
	off := p.comparison().Offset()
	return max(off, -off) <= tolerance
}

// highest is the highest of all clocks that were heard.
func (k *clocks) highest(own int64) int64 {
	ahead := int64(0)
	for i := range k.heard {
		if k.heard[i] {
			ahead = max(ahead, k.ahead[i])
		}
	}
	return own + ahead
}

// compareUntilHeard compares the clocks until so many others are heard as could put this one forward, or all others where
// they are fewer, but no longer than until then.
func (p *process) compareUntilHeard(until int64, then func()) {
	p.compareClocks()
	members := p.w.raft.state.size()
	if heard := len(p.comparison().Ahead); heard >= min(ring.Majority(members), members-1) || p.w.now >= until {
		then()
		return
	}
	p.after(100*ms, func() { p.compareUntilHeard(until, then) })
}
