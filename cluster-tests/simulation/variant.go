package simulation

import (
	"math/bits"
	"slices"
	"strings"

	nodeclock "github.com/jeton-dev/jeton/actor/clock"
	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/actor/owner"
	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/storage/register"
)

// A variant is what is wrong in a world on purpose, around the production steps or in place of one; nothing in the sound
// one. It shows that a world is hostile enough to find it.
type variant struct {
	name        string
	theme       theme // of the scenarios in which it can be found soon; plainly for all
	reserve     func(register.Partition, register.Register, register.Reservation, int64, register.Bounds) (register.Register, register.Answer, bool)
	giveBack    func(*owner.Owner, limit.Receipt, int64, *owner.Out) bool
	behind      func(nodeclock.Comparison) int64
	early       bool // answers are given before the fsync that covers them
	noSeal      bool // to seal does nothing
	noFloor     bool // a start that cannot prove its registers sets no floor
	staleClock  bool // the clock was read for a check up to three seconds ago
	one         bool // one replica's word is enough
	sameName    bool // an owner that starts again has the name of its last life, and counts from 1 again
	counters    bool // generations are plain counts
	recounts    bool // a recovery counts the old replicas that are left, and lets their moves go on
	young       bool // disks are restored from copies that no node can detect
	oldReadings bool // a clock is put forward by what others showed when they answered last
	impatient   bool // a replica that has not answered counts as the highest of those that have
	keeps       bool // edges spend on what they have given back
	hasty       bool // a settlement is answered before it is stored
	outcome     bool // only line that is spent twice, or too much of it, is looked for, not line that no majority has accepted
}

// sound is what production does.
func sound() *variant {
	return &variant{name: "sound", theme: plainly, reserve: register.Partition.Reserve, giveBack: (*owner.Owner).Return, behind: nodeclock.Comparison.Behind}
}

// variants are all wrong versions.
func variants() []*variant {
	wrong := func(name string, change func(v *variant)) *variant {
		v := sound()
		v.name, v.outcome = name, true
		change(v)
		return v
	}
	return []*variant{
		wrong("blind maximum", func(v *variant) { v.reserve = blindMaximum }),
		wrong("answer before fsync", func(v *variant) { v.early = true }),
		wrong("no seal", func(v *variant) { v.noSeal, v.theme = true, stranding }),
		wrong("no floor", func(v *variant) { v.noFloor = true }),
		wrong("old clock reading", func(v *variant) { v.staleClock = true }),
		wrong("returned twice", func(v *variant) { v.giveBack = returnAgain() }),
		wrong("epoch ignored", func(v *variant) { v.reserve, v.theme = anyEpoch, stranding }),
		wrong("majority of one", func(v *variant) { v.one = true }),
		wrong("sequence numbers reused", func(v *variant) { v.sameName, v.theme = true, nervous }),
		wrong("generations as plain counters", func(v *variant) { v.counters = true }),
		wrong("a clock is moved by old readings", func(v *variant) { v.oldReadings, v.outcome, v.theme = true, false, erring }),
		wrong("the higher of two answers", func(v *variant) { v.impatient, v.outcome, v.theme = true, false, tardy }),
		wrong("a clock is moved by those that are heard", func(v *variant) { v.behind, v.oldReadings, v.outcome, v.theme = middleOfHeard, true, false, erring }),
		wrong("a recovery counts who is left", func(v *variant) { v.recounts, v.theme = true, ruinous }),
		wrong("a settlement is answered before it is stored", func(v *variant) { v.hasty = true }),
		wrong("an edge spends what it has given back", func(v *variant) { v.keeps = true }),
		wrong("a replica keeps the ledger of holds before", func(v *variant) { v.reserve = keepsBefore }),
		wrong("a claim is told nothing", func(v *variant) { v.reserve = untold }),
		wrong("a disk put back by less than two minutes", func(v *variant) { v.young, v.theme = true, forgetful }),
	}
}

// blindMaximum takes the larger of the two positions, and accepts every reservation.
func blindMaximum(p register.Partition, r register.Register, m register.Reservation, now int64, b register.Bounds) (
	register.Register, register.Answer, bool,
) {
	after, a, write := p.Reserve(r, m, now, b)
	if a.Verdict == register.Taken {
		after = r
		after.H, after.Writer, after.Seq, after.From = max(r.H, m.To), m.Writer, m.Seq, m.From
		a.Verdict, a.Position, write = register.Accepted, m.To, true
	}
	return after, a, write
}

// untold tells no claim what is stored.
func untold(p register.Partition, r register.Register, m register.Reservation, now int64, b register.Bounds) (
	register.Register, register.Answer, bool,
) {
	after, a, write := p.Reserve(r, m, now, b)
	a.Version, a.Ledger = 0, nil
	return after, a, write
}

// keepsBefore stores of limits that take holds the ledger that it had, under the version of the one that it is to store.
func keepsBefore(p register.Partition, r register.Register, m register.Reservation, now int64, b register.Bounds) (
	register.Register, register.Answer, bool,
) {
	after, a, write := p.Reserve(r, m, now, b)
	if a.Verdict == register.Accepted && m.Ledger != nil && len(r.Ledger) > 0 && strings.HasPrefix(m.Limit, holderName) {
		after.Ledger = r.Ledger
	}
	return after, a, write
}

// middleOfHeard puts a clock forward to the middle of two others or more, whatever the members that are silent show.
func middleOfHeard(k nodeclock.Comparison) int64 {
	if len(k.Ahead) < 2 {
		return 0
	}
	all := append([]int64{0}, k.Ahead...)
	slices.Sort(all)
	n := len(all)
	return (all[(n-1)/2] + all[n/2]) / 2
}

// anyEpoch accepts in whichever epoch a reservation is.
func anyEpoch(p register.Partition, r register.Register, m register.Reservation, now int64, b register.Bounds) (
	register.Register, register.Answer, bool,
) {
	m.Epoch = p.Epoch
	return p.Reserve(r, m, now, b)
}

// silence is how long the impatient wait.
const silence = 5 * ms

// guess answers an owner, a while after a refusal, in place of each silent replica, with the highest position of the others.
func (p *process) guess(a *actor, set *replicaSet, i int, r *reserved, answer owner.Answer) {
	if answer.Verdict != owner.Accepted && answer.Verdict != owner.Refused {
		return
	}
	r.heard |= 1 << i
	if r.highest = max(r.highest, answer.Position); answer.Verdict == owner.Accepted {
		return
	}
	p.after(silence, func() {
		for other := range set.ids {
			if r.heard>>other&1 == 0 && bits.OnesCount8(r.heard) >= ring.Majority(len(set.ids)) && !a.gone {
				missing := answer
				missing.Replica, missing.Position = other, r.highest
				p.step(a, func(o *owner.Owner, now int64, out *owner.Out) { o.Answer(missing, now, out) })
			}
		}
	})
}

// returnAgain takes every receipt back that was taken back before.
func returnAgain() func(*owner.Owner, limit.Receipt, int64, *owner.Out) bool {
	type receipt struct {
		owner limit.OwnerID
		name  string
		span  limit.Span
	}
	taken := map[receipt]bool{}
	return func(o *owner.Owner, r limit.Receipt, now int64, out *owner.Out) bool {
		id := receipt{r.Owner, r.Limit, r.Span}
		if o.Return(r, now, out) {
			taken[id] = true
			return true
		}
		return taken[id]
	}
}

// A counted is a generation as an owner knows it, a position, and what it is to replicas, a count.
type counted struct {
	bucket      int
	local, wire int64
}

// counted makes a plain count of the generation that an owner's reservation is in. A reset takes the highest count that
// its process has heard of, plus 1.
func (l *ledger) counted(p *process, bucket int, s *owner.Send) int64 {
	n := l.of(p)
	if s.Generation == 0 {
		return 0
	}
	highest := plain
	for _, c := range n.counts {
		if c.bucket != bucket {
			continue
		}
		if c.local == s.Generation {
			return c.wire
		}
		highest = max(highest, c.wire)
	}
	n.counts = append(n.counts, counted{bucket, s.Generation, highest + 1})
	e := l.buckets[bucket].era(highest + 1)
	if e.position == e.generation {
		e.position = 0
	}
	e.position = max(e.position, s.Generation)
	return highest + 1
}

// uncounted is the generation of a count as an owner knows it. Of one that it has not heard of it takes it that everything
// until now was before it.
func (l *ledger) uncounted(p *process, r *reserved, wire int64) int64 {
	if wire == 0 {
		return 0
	}
	n := l.of(p)
	bucket := r.bucket
	local := p.read() + r.Reach + l.w.bounds.Slack()
	for _, c := range n.counts {
		if c.bucket == bucket {
			if c.wire == wire {
				return c.local
			}
			local = max(local, c.local+1)
		}
	}
	n.counts = append(n.counts, counted{bucket, local, wire})
	return local
}

// wire is what a generation that an owner knows is to replicas.
func (l *ledger) wire(p *process, bucket int, local int64) int64 {
	for _, c := range l.of(p).counts {
		if c.bucket == bucket && c.local == local {
			return c.wire
		}
	}
	return local
}
