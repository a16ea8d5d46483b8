package simulation

import (
	"slices"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/ring"
)

// How long what is left of faults may last once they have ended.
const (
	restWithin    = 5 * minute
	probeEvery    = 250 * ms
	saturateFor   = 10 * second
	leastAdmitted = 50 // of a hundred that were due
)

// heal ends all faults, and asserts that the world comes to rest, that every key is served, and that a saturated key
// admits what it should.
func (w *World) heal() {
	w.say(noKey, "all faults end")
	w.rates, w.stale = rates{}, 0
	w.next = len(w.items)
	w.cut = [maxSlots + 1][maxSlots + 1]int{}
	w.raft.outage = 0
	w.healed = w.now
	for slot := range w.nodes {
		n := &w.nodes[slot]
		if n.clock.still {
			n.clock.resume(w.now)
		}
		w.thaw(n)
		n.deaf, n.slow = 0, 0
		if n.proc != nil {
			n.proc.store.doom = nil // a crash that still waits for a write
		}
		switch {
		case n.proc != nil && !w.isRight(n):
			d := throw(w.seed, forHealing, uint64(slot))
			w.crash(slot, &d)
			w.restartAfter(slot, ms, 0)
		case n.proc == nil && (w.mask>>slot&1 == 1 || w.raft.state.members[slot].in):
			w.restartAfter(slot, ms, 0)
		}
	}
	for w.violation == nil && !w.rests() {
		if w.now > w.healed+restWithin {
			w.violate(noKey, "%s after all faults have ended, the cluster is not at rest: %s", seconds(restWithin), w.unrest())
			return
		}
		w.run(w.now + 500*ms)
	}
	w.probe()
	if len(w.edges) > 0 {
		w.run(w.now + limit.LongestLease + second) // edges spend no more
		for _, e := range w.edges {
			e.served()
		}
	}
	w.saturate()
	w.vain()
	w.endHolds()
	w.forget()
}

// rests says whether every member decides, and keeps what it is to keep.
func (w *World) rests() bool { return w.unrest() == "" }

// unrest says what is not at rest yet.
func (w *World) unrest() string {
	s := w.raft.state
	if w.ruin != nil {
		return "a majority is lost, and the cluster has not been recovered"
	}
	for slot, m := range s.members {
		n := &w.nodes[slot]
		switch wanted := w.mask>>slot&1 == 1; {
		case wanted != m.in:
			return n.name + " is not what it is to be, a member or none"
		case m.in && (n.proc == nil || !n.proc.joined):
			return n.name + " does not decide"
		case m.in && (n.proc.seen != s || n.proc.settling):
			return n.name + " does not follow"
		}
	}
	for i, place := range s.places {
		if place.Moving() {
			return "a partition is on the move"
		}
		for _, id := range place.Replicas {
			part := w.nodes[s.slot(id)].disk.parts[ring.Partition(i)]
			if part.Epoch != place.Epoch || part.Sealed {
				return "a partition is not complete at a replica"
			}
		}
	}
	return ""
}

// probe asks for one token of every bucket until it is admitted. What may hold that up is what was reserved, at most, and
// a clock that was ahead then.
func (w *World) probe() {
	left := 0
	patience := minute + w.bounds.Slack()
	for _, i := range w.items {
		if i.kind == jumps || i.kind == drifts || i.kind == crashes && i.value > 0 {
			patience += 2 * minute
			break
		}
	}
	longest := int64(0)
	for k := range w.honest() {
		for l := range w.limits {
			left++
			reach := w.limits[l].ahead()
			if w.defined[l] && w.shelf > 0 {
				reach += horizonLag + 2*sweepEvery // invented keys may take all the room until they are swept
			}
			longest = max(longest, reach)
			w.probeOne(k, l, w.now+reach+patience, func() { left-- })
		}
	}
	for until := w.now + longest + patience + minute; w.violation == nil && left > 0 && w.now < until; {
		w.run(w.now + second)
	}
}

func (w *World) probeOne(key, limit int, until int64, served func()) {
	decided := false
	var again func()
	again = func() {
		c := w.newCall(key, limit, func(c *call) {
			decided = decided || c.ok
			switch {
			case c.ok && (c.admitted || w.takesHolds(limit)): // some of these have no tokens for a month
				served()
			case w.now > until:
				w.violate(key, "no check of %s is admitted %s after all faults have ended; any check decided: %v",
					w.bucketName(key, limit), seconds(w.now-w.healed), decided)
			default:
				w.after(probeEvery*int64(1+w.honest()), again)
			}
		})
		w.begin(c)
	}
	again()
}

// saturate asks for more than a limit allows, and asserts that about as much is admitted as is due.
func (w *World) saturate() {
	if w.violation != nil {
		return
	}
	d := throw(w.seed, forHealing, 1)
	key, limit := int(d.below(int64(w.honest()))), int(d.below(int64(w.lines())))
	rule := w.ruleOf(w.raft.state.limits, limit, key, "")
	token := rule.Length(1).NS
	last := max(saturateFor, 12*token)
	if last > 10*minute || rule.Reach()-int64(rule.MaxWait) < 20*(w.epsilon+ms) {
		return // there is no time for it, or clocks and calls lie farther apart than what the bucket holds
	}
	gap := max(token/3, 2*ms)
	admitted := int64(0)
	for at := int64(0); at < last; at += gap {
		w.after(at, func() {
			w.begin(w.newCall(key, limit, func(c *call) {
				if c.ok && c.admitted {
					admitted++
				}
			}))
		})
	}
	w.run(w.now + last + 3*second)
	due := last / max(token, gap, w.grain/rule.Capacity) // a coarse clock shows what has come back late, and no more of it than fits
	due -= rule.Envelope().Burst - rule.Capacity         // these may come in the windows before and behind
	w.count("keys saturated")
	w.counts["tokens due to saturated keys"] += int(due)
	w.counts["tokens admitted to saturated keys"] += int(min(admitted, due))
	if w.violation == nil && admitted*100 < due*leastAdmitted {
		w.violate(key, "%s was saturated for %s, but only %d of %d due tokens were admitted", w.bucketName(key, limit), seconds(last), admitted, due)
	}
}

// endHolds asserts that nothing is held any more when the time of all holds is over: at no owner, and in no register.
func (w *World) endHolds() {
	if w.violation != nil || w.holding == 0 {
		return
	}
	w.run(w.now + longestHold + tolerance*4 + 2*second)
	for slot := range w.nodes {
		p := w.nodes[slot].proc
		if p == nil || !p.joined {
			continue
		}
		for _, b := range w.ledger.held.books {
			if b != nil {
				b.ended(p)
			}
		}
	}
	w.count("worlds that held nothing in the end")
	w.fillUp()
}

// fillUp asserts that nothing of a line is missing that holds have taken, once it had the time to come back: one check takes the whole
// bucket.
func (w *World) fillUp() {
	var short []int
	longest := int64(0)
	for l := len(w.limits) - w.holding; l < len(w.limits); l++ {
		if !w.limits[l].rules[0].Counts() {
			short, longest = append(short, l), max(longest, w.limits[l].ahead())
		}
	}
	if len(short) == 0 {
		return
	}
	w.run(w.now + longest)
	left := 0
	for k := range w.honest() {
		for _, l := range short {
			left++
			w.takeAll(k, l, w.now+2*longest+minute, func() { left-- })
		}
	}
	for until := w.now + 2*longest + 2*minute; w.violation == nil && left > 0 && w.now < until; {
		w.run(w.now + second)
	}
	if left == 0 {
		w.count("worlds in which lines of holds were full again")
	}
}

// takeAll asks for a whole bucket, again and again until a time.
func (w *World) takeAll(key, limit int, until int64, taken func()) {
	c := w.newCall(key, limit, func(c *call) {
		switch {
		case c.ok && c.admitted:
			taken()
		case w.now > until:
			w.violate(key, "%s is not full again %s after all faults have ended", w.bucketName(key, limit), seconds(w.now-w.healed))
		default:
			w.after(second, func() { w.takeAll(key, limit, until, taken) })
		}
	})
	c.cost = w.ruleOf(w.raft.state.limits, limit, key, "").Capacity
	w.begin(c)
}

// conclude goes through what was admitted once more.
func (w *World) conclude() {
	for _, account := range w.ledger.buckets {
		for _, m := range slices.Clone(account.meters) {
			m.close(w)
		}
	}
	if !w.variant.outcome && w.violation == nil {
		w.ledger.burned()
	}
	w.ledger.tally.judge(w)
	w.count("theme: " + w.theme.String())
	for i := range w.nodes {
		w.counts["disks"] += w.nodes[i].disks
		w.counts["lives"] += w.nodes[i].lives
	}
}

// forget asserts that nothing is left of a flood when what it reserved has long passed.
func (w *World) forget() {
	if w.violation != nil || w.invented == 0 {
		return
	}
	last := int64(0)
	for l := range w.limits {
		last = max(last, w.limits[l].ahead())
	}
	w.run(w.now + last + w.bounds.Slack() + horizonLag + 2*sweepEvery)
	for slot := range w.nodes {
		p := w.nodes[slot].proc
		if p == nil || !p.joined {
			continue
		}
		for k := w.honest(); k < len(w.keys); k++ {
			for l := range w.limits {
				if p.store.cells[w.bucket(k, l)].exists {
					w.violate(k, "%s keeps the register of %s, although no caller has asked for it for %s", p.name, w.bucketName(k, l), seconds(w.now-w.healed))
				}
			}
		}
	}
	w.count("floods that left no registers")
}
