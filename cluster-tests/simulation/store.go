package simulation

import (
	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/storage/register"
)

// A job is what a store is asked to do: a step in its turn, and what is to be said once that is durable.
type job struct {
	step func(now int64)
	done func()
}

// A store keeps the registers of one life of a node, as package storage does: one committer takes all that waits, takes
// the steps of storage/register in their order, makes what they write durable with one fsync, then what they say of
// partitions with another one, and only then are answers given.
type store struct {
	p    *process
	disk *disk // what is durable

	mark, confirmed mark
	ceiling         int64
	floorDue        bool
	forgot          bool // registers, when this life began
	metaChanged     bool

	parts   []register.Partition
	cells   []cell
	staged  []*register.Partition // what partitions become once that is durable
	copying []copying

	queue  []job
	flight []job
	writes []write // under way to the disk: a crash may take each of them
	doom   func()  // crashes the process as soon as something is under way to the disk
	second bool    // the partitions are under way, everything else is durable
	busy   bool
}

// A copying says how far a partition is on its way to an install.
type copying uint8

const (
	copyingNothing copying = iota
	copyingBegun
	copyingSpoiled
)

// open begins a life of the registers on a disk: with a floor, if they cannot be complete.
func (p *process) open(d *disk) *store {
	w, now := p.w, p.read()
	s := &store{p: p, disk: d, forgot: d.life == lifeMemory, ceiling: d.ceiling, floorDue: d.floorDue, confirmed: d.confirmed}
	c := d.copy()
	s.parts, s.cells = c.parts, c.cells
	s.staged, s.copying = make([]*register.Partition, w.partitions), make([]copying, w.partitions)
	if d.life == lifeMemory && !w.variant.noFloor {
		floor := max(now, d.ceiling, d.mark.minute*minute) + w.bounds.EpsMax
		for i := range s.parts {
			if part := &s.parts[i]; part.Epoch > 0 || part.Installed > 0 {
				part.Floored, part.Floor = true, max(floor, part.Floor)
				w.count("floors set")
			}
		}
		s.floorDue = true
		w.floors++
		w.say(noKey, "%s cannot prove its registers: it sets a floor at %s", p.name, w.clockTime(floor))
	}
	s.mark = mark{d.mark.boot + 1, max(d.mark.minute, now/minute)}
	d.life = lifeFsync
	if p.memory {
		d.life = lifeMemory
	}
	s.writeMeta(d)
	copy(d.parts, s.parts)
	return s
}

func (s *store) writeMeta(d *disk) {
	d.mark, d.confirmed, d.ceiling, d.floorDue = s.mark, s.confirmed, s.ceiling, s.floorDue
}

func (s *store) push(j job) {
	s.queue = append(s.queue, j)
	if !s.busy {
		s.busy = true
		s.p.after(us, s.commit)
	}
}

// commit does all that waits as one batch.
func (s *store) commit() {
	if len(s.queue) == 0 {
		s.busy = false
		return
	}
	s.busy = true
	s.flight, s.queue = s.queue, s.flight[:0]
	now := s.p.read()
	if s.p.memory && now > s.ceiling-second/2 {
		s.ceiling, s.metaChanged = now+second, true
	}
	for i := range s.flight {
		s.flight[i].step(now)
	}
	if s.p.w.variant.early {
		s.answer()
	}
	if len(s.writes) == 0 {
		s.commitParts()
		return
	}
	s.p.w.counts["fsyncs"]++
	took := s.p.fsyncTime()
	if s.doom != nil {
		d := throw(s.p.w.seed, forFault, uint64(s.p.slot), uint64(s.p.w.now))
		s.p.after(d.below(took), s.doom)
	}
	s.p.after(took, func() {
		for _, f := range s.writes {
			f(s.disk)
		}
		s.writes = s.writes[:0]
		s.commitParts()
	})
}

// commitParts makes durable what is staged, and what the node says of itself.
func (s *store) commitParts() {
	if !s.metaChanged && !s.hasStaged() {
		s.finish()
		return
	}
	s.second = true
	s.p.after(s.p.fsyncTime(), func() {
		s.second = false
		s.landParts(s.disk)
		for i, next := range s.staged {
			if next != nil {
				s.parts[i], s.staged[i] = *next, nil
			}
		}
		s.metaChanged = false
		s.finish()
	})
}

func (s *store) landParts(d *disk) {
	s.writeMeta(d)
	for i, next := range s.staged {
		if next != nil {
			d.parts[i] = *next
		}
	}
}

func (s *store) hasStaged() bool {
	for _, next := range s.staged {
		if next != nil {
			return true
		}
	}
	return false
}

// finish answers, and goes on with what has come meanwhile.
func (s *store) finish() {
	s.answer()
	s.commit()
}

func (s *store) answer() {
	for i := range s.flight {
		if done := s.flight[i].done; done != nil {
			s.flight[i].done = nil
			done()
		}
	}
}

// crash ends the life: of what is under way to the disk some may have got there.
func (s *store) crash(d *die) {
	keep := pick(d, int64(0), 50, 100)
	for _, f := range s.writes {
		if d.percent(keep) {
			f(s.disk)
		} else {
			s.p.w.count("unsynced writes lost")
		}
	}
	if s.second && d.percent(50) {
		s.landParts(s.disk)
	}
}

// save is for a clean stop of a node that keeps its registers in memory.
func (s *store) save() {
	if s.p.memory {
		copy(s.disk.cells, s.cells)
		copy(s.disk.parts, s.parts)
		s.disk.life = lifeSaved
	}
}

// part is a partition's state, what is staged included. It is for steps.
func (s *store) part(p ring.Partition) register.Partition {
	if next := s.staged[p]; next != nil {
		return *next
	}
	return s.parts[p]
}

// shown is a partition's state as far as it is durable.
func (s *store) shown(p ring.Partition) register.Partition {
	part := s.disk.parts[p]
	part.Horizon = max(part.Horizon, s.parts[p].Horizon)
	return part
}

// stage replaces a partition's state once that is durable. Until then the partition accepts nothing.
func (s *store) stage(p ring.Partition, next register.Partition) {
	s.staged[p] = &next
	s.parts[p].Sealed = true
}

// change replaces a partition's state by what next makes of it, and says whether it could.
func (s *store) change(p ring.Partition, next func(register.Partition) (register.Partition, bool), done func(ok bool)) {
	ok := false
	s.push(job{
		step: func(int64) {
			var after register.Partition
			before := s.part(p)
			if after, ok = next(before); ok && after != before {
				s.stage(p, after)
			}
		},
		done: func() { done(ok) },
	})
}

// put writes a register, in memory and on its way to the disk.
func (s *store) put(bucket int, r register.Register) {
	s.cells[bucket] = cell{r, true}
	if !s.p.memory {
		s.writes = append(s.writes, func(d *disk) { d.cells[bucket] = cell{r, true} })
	}
}

// reserve decides a reservation of a bucket's line, and says so when that is durable. decided is called at once.
func (s *store) reserve(bucket int, m register.Reservation, decided, done func(register.Answer)) {
	var answer register.Answer
	s.push(job{
		step: func(now int64) {
			w := s.p.w
			part := s.parts[m.Partition]
			after, a, write := w.variant.reserve(part, s.cells[bucket].Register, m, now, w.bounds)
			if write && m.Inline && s.full(bucket) {
				a.Verdict, a.Position, write = register.Full, part.FreeFor(s.cells[bucket].Register, &m, w.bounds), false
			}
			answer = a
			if write {
				s.put(bucket, after)
			}
			w.countVerdict(a.Verdict)
			decided(a)
		},
		done: func() { done(answer) },
	})
}

// drop deletes the registers of a partition that is kept elsewhere.
func (s *store) drop(p ring.Partition, done func()) {
	s.push(job{step: func(int64) {
		part := s.part(p)
		if part.Incomplete {
			return
		}
		part = part.Drop()
		for b := range s.p.w.bucketsOf(p) {
			s.cells[b] = cell{}
		}
		s.writes = append(s.writes, func(d *disk) {
			d.parts[p] = part
			for b := range s.p.w.bucketsOf(p) {
				d.cells[b] = cell{}
			}
		})
		s.stage(p, part)
		if s.copying[p] == copyingBegun {
			s.copying[p] = copyingSpoiled
		}
		s.p.w.count("partitions dropped")
	}, done: done})
}

// horizonLag is how far the horizon stays behind the clock.
const horizonLag = minute

// sweep deletes the registers of a partition that say nothing any more.
func (s *store) sweep(p ring.Partition) {
	s.push(job{step: func(now int64) {
		part := s.parts[p]
		part.Horizon = max(part.Horizon, now-horizonLag)
		var swept []int
		for b := range s.p.w.bucketsOf(p) {
			if c := &s.cells[b]; c.exists && c.Swept(part.Horizon) {
				swept = append(swept, b)
				*c = cell{}
			}
		}
		if len(swept) == 0 {
			return
		}
		s.p.w.counts["registers swept"] += len(swept)
		s.parts[p].Horizon = part.Horizon
		if next := s.staged[p]; next != nil {
			next.Horizon = max(next.Horizon, part.Horizon)
		}
		if s.p.memory {
			return
		}
		s.writes = append(s.writes, func(d *disk) {
			d.parts[p].Horizon = part.Horizon
			for _, b := range swept {
				d.cells[b] = cell{}
			}
		})
	}})
}

// raiseMark makes the mark tell the minute.
func (s *store) raiseMark(done func(mark)) {
	s.push(job{
		step: func(now int64) {
			if m := now / minute; m > s.mark.minute {
				if s.confirmed.boot == s.mark.boot {
					s.confirmed.minute = m
				}
				s.mark.minute, s.metaChanged = m, true
			}
		},
		done: func() { done(s.mark) },
	})
}

// confirm says that the disk was found to be no old copy.
func (s *store) confirm(done func()) {
	s.push(job{step: func(int64) { s.confirmed, s.metaChanged = s.mark, true }, done: done})
}

// raiseFloor raises the floors that a start had to set beyond every clock that was heard.
func (s *store) raiseFloor(floor int64, done func()) {
	s.push(job{
		step: func(int64) {
			if !s.floorDue {
				return
			}
			for i := range s.parts {
				if part := s.part(ring.Partition(i)); part.Floored {
					part.Floor = max(part.Floor, floor)
					s.stage(ring.Partition(i), part)
				}
			}
			s.floorDue, s.metaChanged = false, true
		},
		done: done,
	})
}

// full says whether a node has no room for the register of a bucket whose limit a request defines.
func (s *store) full(bucket int) bool {
	if s.p.w.shelf == 0 || s.cells[bucket].exists {
		return false
	}
	n := 0
	for _, c := range s.cells {
		if c.exists && c.Inline {
			n++
		}
	}
	return n >= s.p.w.shelf
}
