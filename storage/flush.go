package storage

import (
	"errors"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/storage/memtable"
)

// A flush moves entries to Pebble in three phases, each of them in small steps, so that checks are not held up: it
// collects the entries that were not written again; a goroutine of its own sorts them and has Pebble ingest them as one
// sstable; then they are removed from memory, and the journal files that are not needed any more are released.
type flush struct {
	entries     list[*memtable.Entry]
	rotation    uint64 // entries with another number were written again since
	firstNeeded uint64 // the first file of the journal that is needed after the flush

	next int // the first entry that has not had the present phase
	run  run
	done chan struct{} // nil while entries are collected; closed when Pebble has ingested the run, or err says why not
	err  error

	dropped []ring.Partition // since the ingestion started: their registers in the run must be deleted again
}

// One step of a flush covers flushStepLen entries, and flushPerWrite more for each register that was written since the
// last step: so flushing keeps up with any rate of writes.
const (
	flushStepLen  = 512
	flushPerWrite = 4
)

// maxBacklog is how far beyond rotateSize, as a factor, the journal may grow before commits wait for the flush.
const maxBacklog = 2

// wait returns when the ingestion has ended, with or without an error. That may be never when the disk has failed.
func (f *flush) wait() {
	if f.done != nil {
		<-f.done
	}
}

// ingesting reports whether Pebble may receive registers that an open iterator does not show. f may be nil.
func (f *flush) ingesting() bool { return f != nil && f.done != nil }

// drop leaves the registers of a partition out.
func (f *flush) drop(p ring.Partition) {
	if f.done == nil {
		f.run.drop(p)
	} else {
		f.dropped = append(f.dropped, p)
	}
}

// flushStep does the next step of the flush that is under way, and reports whether another can follow at once.
func (d *diskEngine) flushStep() (more bool, err error) {
	f := d.flushing
	end := min(f.next+flushStepLen+flushPerWrite*d.written, f.entries.len())
	d.written = 0
	if f.done == nil {
		for ; f.next < end; f.next++ {
			if e := *f.entries.at(f.next); e.Rotation == f.rotation {
				f.run.add(e)
			}
		}
		if end == f.entries.len() {
			f.next = 0
			d.startIngest(f)
			return false, nil
		}
		return true, nil
	}
	if d.journal.Size() > maxBacklog*d.rotateSize {
		f.wait()
	}
	select {
	case <-f.done:
	default:
		return false, nil
	}
	if f.err != nil {
		return false, f.err
	}
	if f.next == 0 {
		if err := errors.Join(d.dropIter(), deleteRegisters(d.db, f.dropped...)); err != nil {
			return false, err
		}
		f.dropped = nil
	}
	for ; f.next < end; f.next++ {
		if e := *f.entries.at(f.next); e.Rotation == f.rotation {
			d.memtables[partitionOf(e.Key)].Remove(e)
		}
	}
	if end < f.entries.len() {
		return true, nil
	}
	d.flushing = nil
	d.memtables.Shrink()
	spare := 0
	if d.journal.Size() > 0 {
		spare = 1
	}
	return true, d.journal.Release(f.firstNeeded, spare)
}

// startIngest ingests the run on a goroutine of its own, for which close waits. If the disk fails, Pebble may end that
// goroutine or block it for ever; the Store has ended then.
func (d *diskEngine) startIngest(f *flush) {
	f.done = make(chan struct{})
	f.err = errors.New("the registers could not be flushed")
	go func() {
		defer d.wake()
		defer close(f.done)
		f.err = f.run.ingest(d.db)
	}()
}
