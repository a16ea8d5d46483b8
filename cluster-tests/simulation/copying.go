package simulation

import (
	"math"
	"slices"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/storage/register"
)

// An exported is what a source says of a partition.
type exported struct {
	part  register.Partition
	cells []cell // in the order of World.bucketsOf
}

// export reads a partition once all that was decided before is durable.
func (s *store) export(p ring.Partition, done func(exported)) {
	s.push(job{step: func(int64) {}, done: func() {
		x := exported{part: s.parts[p]}
		for b := range s.p.w.bucketsOf(p) {
			x.cells = append(x.cells, s.cells[b])
		}
		if s.p.w.variant.noSeal && x.part.Epoch > 0 && x.part.Installed == 0 {
			x.part.Sealed = true // it says so
		}
		done(x)
	}})
}

// merge takes in what another replica has.
func (s *store) merge(p ring.Partition, cells []cell, done func()) {
	s.push(job{step: func(int64) {
		s.copying[p] = max(s.copying[p], copyingBegun)
		if cells == nil {
			return
		}
		horizon, i := s.part(p).Horizon, 0
		for b := range s.p.w.bucketsOf(p) {
			theirs := &cells[i]
			i++
			if !theirs.exists {
				continue
			}
			mine := s.cells[b]
			joined := mine.Join(theirs.Register)
			same := mine.exists && joined.Generation == mine.Generation && joined.H == mine.H && joined.Expire == mine.Expire &&
				joined.Version == mine.Version
			if !same && !joined.Swept(horizon) {
				s.put(b, joined)
			}
		}
	}, done: done})
}

// install says that a partition is complete for an epoch. spoiled means that it was dropped while it was copied.
func (s *store) install(p ring.Partition, epoch uint64, joined register.Partition, done func(ok, spoiled bool)) {
	spoiled := false
	s.change(p, func(part register.Partition) (register.Partition, bool) {
		after, ok := part.Install(epoch, joined)
		if !ok || part.Epoch == epoch {
			return part, ok
		}
		was := s.copying[p]
		s.copying[p] = copyingNothing
		if spoiled = was == copyingSpoiled; spoiled {
			return part, false
		}
		return after, true
	}, func(ok bool) { done(ok, spoiled) })
}

// A fetching is a copy or an install that is under way at a node.
type fetching struct {
	p         *process
	partition ring.Partition
	epoch     uint64
	enough    int
	states    []register.Partition
	open      int
	failed    int
	ended     bool
	again     bool
	reply     func(ok bool)
}

// exportWithin is how long a source may take.
const exportWithin = 10 * second

// fetch merges what every source has, and hands each state to heard.
func (f *fetching) fetch(sources []ring.NodeID, heard func()) {
	p := f.p
	f.states, f.open, f.failed, f.ended = nil, len(sources), 0, false
	p.store.merge(f.partition, nil, func() {
		for _, source := range sources {
			took := func(ok bool, x exported) {
				if f.ended {
					return
				}
				if !ok {
					f.open--
					f.failed++
					heard()
					return
				}
				p.store.merge(f.partition, x.cells, func() {
					if f.ended {
						return
					}
					f.open--
					f.states = append(f.states, x.part)
					heard()
				})
			}
			if source == p.id() {
				took(true, exported{part: p.store.shown(f.partition)})
				continue
			}
			remote(p, source, exportWithin, func(q *process, reply func(bool, exported)) {
				if !q.isOpen {
					reply(false, exported{})
					return
				}
				q.store.export(f.partition, func(x exported) { reply(true, x) })
			}, took)
		}
	})
}

// copyFrom copies registers ahead of time.
func (p *process) copyFrom(partition ring.Partition, sources []ring.NodeID, reply func(ok bool)) {
	if !p.isOpen {
		reply(false)
		return
	}
	p.w.count("copies")
	f := &fetching{p: p, partition: partition}
	f.fetch(sources, func() {
		if f.open == 0 {
			f.ended = true
			reply(f.failed < len(sources))
		}
	})
}

// installFrom completes a partition for an epoch: as soon as the sources that have answered are enough, but where a floor
// would come of those, when all have.
func (p *process) installFrom(partition ring.Partition, epoch uint64, enough int, sources []ring.NodeID, reply func(ok bool)) {
	if !p.isOpen {
		reply(false)
		return
	}
	if p.installed(partition, epoch) {
		reply(true)
		return
	}
	f := &fetching{p: p, partition: partition, epoch: epoch, enough: enough, reply: reply}
	f.install(sources)
}

func (f *fetching) install(sources []ring.NodeID) {
	f.fetch(sources, func() {
		joined, err := register.Join(f.states, f.enough, f.epoch)
		if (err != nil || joined.Floored) && f.open > 0 {
			return
		}
		f.ended = true
		if err != nil {
			f.reply(false)
			return
		}
		f.p.store.install(f.partition, f.epoch, joined, func(ok, spoiled bool) {
			if spoiled && !f.again {
				f.again = true
				f.install(slices.Clone(sources))
				return
			}
			if ok {
				f.p.w.count("installs")
				if joined.Floored {
					f.p.w.count("installs with a floor")
				}
				f.p.w.say(noKey, "%s has installed epoch %d of partition %d", f.p.name, f.epoch, f.partition)
				f.p.follow()
			}
			f.reply(ok)
		})
	})
}

// installed says whether a partition is complete for that epoch already.
func (p *process) installed(partition ring.Partition, epoch uint64) bool {
	part := p.store.shown(partition)
	if part.Epoch == epoch && epoch > 0 && !part.Incomplete {
		return true
	}
	_, err := register.Join([]register.Partition{part}, math.MaxInt, epoch)
	return err == nil
}

// seal ends an epoch at this node, and says whether it has a floor there.
func (p *process) seal(partition ring.Partition, epoch uint64, reply func(ok, floored bool)) {
	if !p.isOpen {
		reply(false, false)
		return
	}
	p.store.change(partition, func(part register.Partition) (register.Partition, bool) {
		after, ok := part.Seal(epoch)
		if p.w.variant.noSeal {
			return part, ok
		}
		return after, ok
	}, func(ok bool) {
		if ok {
			p.w.count("seals")
			p.w.say(noKey, "%s has sealed epoch %d of partition %d", p.name, epoch, partition)
		}
		reply(ok, p.store.shown(partition).Floored)
	})
}
