// Package storage keeps a replica's registers. It runs the pure steps of storage/register one after another on one
// goroutine, the committer, and makes what they write durable before it answers.
//
// Reservations that arrive while a batch is written wait in a queue and become the next batch, with one fsync for all of
// them (group commit). Callers wait for their answers; the committer never waits for a caller.
//
//	Reserve ─┐                    ┌─ register steps, in order ─┐
//	Reserve ─┼─▶ queue ─▶ batch ──┤                            ├─▶ one write, one fsync ─▶ answers to all of them
//	Reserve ─┘                    └─ (read what is stored) ────┘
//
// A batch is one record of the write-ahead journal (storage/journal). Its registers stay in memory (storage/memtable) until
// they have not been written for a while, and are then flushed to Pebble (storage/database).
//
// # What survives
//
// With Fsync, an accepted reservation is on disk before it is answered: neither kill -9 nor a power cut can take it
// back. With Memory, registers are in memory only. A clean stop saves them. After any other end the replica cannot prove
// what was reserved, and assumes the worst: it sets a floor, a time until which every bucket counts as emptied. The floor is
// stricter than the truth, never looser, and has no effect any more once the time has passed it.
//
// # A partition and its epochs
//
// A partition answers in the epoch that it has entered, and in no other. In a new directory no partition has entered one.
//
//	         Found                   Seal                    Drop
//	epoch 0 ──────▶ answers in 1 ──────────▶ sealed in e ──────────▶ sealed, incomplete
//	   │                 ▲ Enter                 │                       │
//	   │                 │            Install    ▼                       │
//	   └─────────────────┼──────▶ sealed, installed for a later one ◀────┘
//	    Merge, Install   └───────────────────────┘        Merge, Install
//
// Export reads the registers of a partition, and Merge adds those of other replicas.
//
// Start with [Open].
package storage

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/storage/database"
	"github.com/jeton-dev/jeton/storage/memtable"
	"github.com/jeton-dev/jeton/storage/register"
)

// A Store keeps the registers of one node. Its methods are safe for concurrent use.
type Store struct {
	cfg     Config
	metrics *metrics

	// Owned by the committer. The identity of the disk does not change after Open.
	db          *database.DB
	format      int // of the directory when it was opened
	meta        meta
	sweep       sweeper
	exports     map[*export]struct{} // those with an open iterator
	incarnation [16]byte             // random: identifies the cursors of this process
	markBefore  Mark                 // see MarkBefore

	// Guarded by decideMu. With Fsync only the committer decides; with Memory, callers do so themselves: see reserveInMemory.
	decideMu   sync.Mutex
	engine     engine
	partitions []register.Partition
	staged     map[ring.Partition]register.Partition // the next states of partitions, until they are durable
	copies     []copyState                           // by partition
	changeLogs changeLogs
	inline     inlineCount
	slots      [seekAhead]memtable.Slot // scratch
	keys       []byte                   // of the slots
	ceiling    int64                    // a copy of meta's; 0 with Fsync
	raising    bool                     // the committer has been asked to raise the ceiling

	mu           sync.Mutex
	durable      []register.Partition // the durable states of partitions
	mark         Mark                 // the last durable one
	queue        []job
	queued       int           // reservations in queue
	inFlight     []job         // the batch that the committer works on; fail may take it away to answer it
	waitingSince time.Time     // since when jobs wait for the disk without any progress; zero when none waits
	ended        error         // why no more jobs are accepted
	wake         chan struct{} // holds one token when the queue is not empty, or the Store has ended
	failed       chan struct{} // closed when the disk has failed
	done         chan struct{} // closed when the committer has ended
}

// Format is the format that the data directory had when it was opened.
func (s *Store) Format() int { return s.format }

// Open opens the registers in cfg.Dir and starts the committer. Its errors are ErrLocked, ErrNewerFormat, ErrUnwritable and
// ErrFailed, or describe what else is wrong with the directory or with cfg. After ErrFailed the directory may stay locked
// until the process ends.
func Open(cfg Config) (*Store, error) {
	cfg.setDefaults()
	if err := cfg.check(); err != nil {
		return nil, err
	}
	s := &Store{
		cfg:     cfg,
		metrics: newMetrics(cfg.Metrics),
		exports: map[*export]struct{}{},
		staged:  map[ring.Partition]register.Partition{},
		wake:    make(chan struct{}, 1),
		failed:  make(chan struct{}),
		done:    make(chan struct{}),
	}
	s.metrics.observe(cfg.Metrics, &s.inline)
	opened := make(chan error, 1)
	go s.run(opened)
	select {
	case err := <-opened:
		if err != nil {
			<-s.done
			return nil, err
		}
		return s, nil
	case <-s.failed:
		return nil, s.Err()
	}
}

// Reserve decides reservations in their order and calls done once, after the fsync that covers them, with an answer to each
// in the same order. If the Store has ended or the disk fails, done gets ErrClosed or ErrFailed instead, and the
// reservations may be durable or not. done is called on the caller's goroutine or on one of the Store's, and must not
// block. The caller must not change rs before that; after ErrFailed, never.
func (s *Store) Reserve(rs []register.Reservation, done func([]register.Answer, error)) {
	if s.cfg.Durability == Fsync || !s.reserveInMemory(rs, done) {
		s.push(job{reservations: rs, done: done})
	}
}

// Looked is a bucket's register and its partition as a replica has them.
type Looked struct {
	Register  register.Register
	Exists    bool // the replica has a register of the bucket
	Partition register.Partition
}

// Look returns a bucket's register and its partition, for an operator to see. The register may contain a reservation that
// is not yet durable, so nothing may be decided from it.
func (s *Store) Look(ctx context.Context, p ring.Partition, key, limit string) (Looked, error) {
	var l Looked
	err := s.runRead(ctx, func() (err error) {
		l, err = s.looked(p, key, limit)
		return err
	})
	if err != nil {
		return Looked{}, err
	}
	return l, nil
}

func (s *Store) looked(p ring.Partition, key, limit string) (l Looked, err error) {
	s.decideMu.Lock()
	defer s.decideMu.Unlock()
	if int(p) >= len(s.partitions) {
		return Looked{}, fmt.Errorf("there is no partition %d", p)
	}
	l.Partition = s.partitions[p]
	id := registerKey(nil, p, key, limit)
	at := s.engine.memtable(id).Lookup(id)
	l.Register, l.Exists, err = s.engine.get(&at)
	return l, err
}

// Partition is the durable state of a partition; the zero Partition if there is no such partition.
func (s *Store) Partition(p ring.Partition) register.Partition {
	s.mu.Lock()
	defer s.mu.Unlock()
	if int(p) >= len(s.durable) {
		return register.Partition{}
	}
	return s.durable[p]
}

// Disk identifies the data directory.
func (s *Store) Disk() DiskID { return s.meta.disk }

// Mark is the present mark. It is durable, and its minute rises: see Config.OnMark.
func (s *Store) Mark() Mark {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mark
}

// MarkBefore is the last mark of the process that last called Confirm: if another node knows a higher one, this directory is
// an old copy of itself. A new directory has the zero Mark.
func (s *Store) MarkBefore() Mark { return s.markBefore }

// Failed is closed when the disk has failed. Err says how.
func (s *Store) Failed() <-chan struct{} { return s.failed }

// Close answers all jobs that were queued before, saves the registers with Durability Memory, and closes the files. If the
// disk has failed, Close returns that ErrFailed at once, and the files stay open and locked until the process ends; nothing
// is lost by that. Closing again does nothing and returns the same.
func (s *Store) Close() error {
	s.stop(ErrClosed)
	select {
	case <-s.done:
	case <-s.failed:
	}
	if err := s.Err(); errors.Is(err, ErrFailed) {
		return err
	}
	return nil
}

// Full reports whether the registers take more than Config.Memory, which is possible with Durability Memory only. Existing
// registers can still be written; a caller that can avoid creating more should.
func (s *Store) Full() bool {
	m, ok := s.engine.(*memoryEngine)
	return ok && s.cfg.Memory > 0 && m.bytes.Load() > s.cfg.Memory
}
