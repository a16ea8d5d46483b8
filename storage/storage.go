// Package storage keeps a replica's registers: it runs the pure steps of storage/register one after another on one
// goroutine, the committer, and makes what they write durable before anybody hears an answer.
//
// Reservations that arrive while a batch is being written wait together and become the next batch, with one fsync for
// all of them. The caller waits for its answers; the committer never waits for a caller.
//
//	Reserve ─┐                    ┌─ register steps, in order ─┐
//	Reserve ─┼─▶ queue ─▶ batch ──┤                            ├─▶ one write, one fsync ─▶ answers to all of them
//	Reserve ─┘                    └─ (read what is stored) ────┘
//
// A batch is one record of a journal. The registers in it are kept in memory until nothing has been written to them for
// a while, and go into Pebble then.
//
// # What survives
//
// With Fsync, an accepted reservation is on disk before it is answered: neither kill -9 nor a power cut can take it
// back. With Memory, registers are kept in memory only. A clean stop saves them; after any other end the replica cannot
// prove what was reserved, and so assumes the worst: it sets a floor, a time until which every bucket counts as emptied.
// That is stricter than the truth, never looser, and it fades as time passes the floor.
//
// # A partition and its epochs
//
// A partition answers in the epoch that it has entered, and in no other. Those of a new directory have entered none.
//
//	         Found                   Seal                    Drop
//	epoch 0 ──────▶ answers in 1 ──────────▶ sealed in e ──────────▶ sealed, incomplete
//	   │                 ▲ Enter                 │                       │
//	   │                 │            Install    ▼                       │
//	   └─────────────────┼──────▶ sealed, installed for a later one ◀────┘
//	    Merge, Install   └───────────────────────┘        Merge, Install
//
// Export reads what a partition has, and Merge takes in what others have.
//
// Start with [Open].
package storage

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/storage/database"
	"github.com/jeton-dev/jeton/storage/datadir"
	"github.com/jeton-dev/jeton/storage/files"
	"github.com/jeton-dev/jeton/storage/memtable"
	"github.com/jeton-dev/jeton/storage/register"
)

// The errors of Open, and of a Store that has ended.
var (
	// ErrLocked means that another process has the data directory open.
	ErrLocked = datadir.ErrLocked
	// ErrNewerFormat means that a newer jeton has written the data directory.
	ErrNewerFormat = datadir.ErrNewerFormat
	// ErrUnwritable means that the data directory cannot be read and written.
	ErrUnwritable = datadir.ErrUnwritable
	// ErrFailed means that the disk is full or failing. Everything answered before is durable.
	ErrFailed = datadir.ErrFailed
	// ErrClosed means that the Store was closed.
	ErrClosed = errors.New("the store is closed")
)

// The errors of what is done with a partition. Nothing has been changed then.
var (
	// ErrEpoch means that the partition is in another epoch here than the caller thinks.
	ErrEpoch = errors.New("the partition is in another epoch here")
	// ErrIncomplete means that the partition's registers were dropped here.
	ErrIncomplete = errors.New("the partition's registers are not complete here")
)

// A DiskID names one data directory from its founding on. An empty directory gets a new one.
type DiskID = ring.NodeID

// Durability says when a reservation counts as kept.
type Durability string

// The durabilities.
const (
	Fsync  Durability = "fsync"  // once an fsync has covered it
	Memory Durability = "memory" // at once; a crash makes every limit stricter for a while
)

// Config says how to keep registers.
type Config struct {
	// Dir is the data directory, which Open creates. Required.
	Dir string
	// FS is the file system; nil means the operating system's.
	FS vfs.FS
	// Durability is Fsync if empty.
	Durability Durability
	// Partitions is how many partitions the cluster has, fixed when it is made; 0 means ring.DefaultPartitions.
	Partitions int
	// Bounds are the cluster's; the zero value means register.DefaultBounds.
	Bounds register.Bounds
	// Now is the node clock. Required.
	Now func() int64
	// Restored says that the directory may be an older copy of itself, so that a floor must be set.
	Restored bool
	// SweepEvery is how long a round of deleting spent registers takes; 0 means 10 minutes.
	SweepEvery time.Duration
	// Inline is how many registers of limits that requests define the Store keeps at most, unless others hand them over; 0
	// means DefaultInline. Reservations that would make one more are refused: register.Full.
	Inline int64
	// MaySweep says whether the node clock can be trusted enough to delete what is spent by it; nil means always. It is
	// called on the Store's goroutine and must not block.
	MaySweep func() bool
	// OnMark is told each mark that this life raises after its first, once it is durable; nil means nobody. It is called on
	// the Store's goroutine and must not block.
	OnMark func(Mark)
	// Memory is about how many bytes of memory the Store may take: for what Pebble keeps of its tables, and for the registers
	// that are in the journal and not in Pebble yet. 0 means that memory is plenty, which is some 400 MiB at the most. With
	// Durability Memory all registers are in memory whatever this says; see Store.Full.
	Memory int64
	// Logger receives what Pebble and the Store report; nil means slog.Default.
	Logger *slog.Logger
	// Metrics receives the Store's metrics; nil means none.
	Metrics prometheus.Registerer

	memTableSize uint64 // Pebble's; 0 means 1 MiB: what is settled does not pass through it
	journalSize  int64  // of a file of the journal; 0 means what there is memory for, at most maxJournal
	cacheSize    int64  // of Pebble; 0 means what there is memory for, at most maxCache

	patient *files.Patient // FS, from setDefaults on
}

func (c *Config) setDefaults() {
	if c.FS == nil {
		c.FS = vfs.Default
	}
	if c.Durability == "" {
		c.Durability = Fsync
	}
	if c.Partitions == 0 {
		c.Partitions = ring.DefaultPartitions
	}
	if c.Bounds == (register.Bounds{}) {
		c.Bounds = register.DefaultBounds()
	}
	if c.Inline == 0 {
		c.Inline = DefaultInline
	}
	if c.SweepEvery == 0 {
		c.SweepEvery = 10 * time.Minute
	}
	if c.memTableSize == 0 {
		c.memTableSize = 1 << 20
	}
	c.share()
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	c.patient = files.NewPatient(c.FS, c.Logger)
	c.FS = c.patient
}

func (c *Config) check() error {
	if c.Durability != Fsync && c.Durability != Memory {
		return fmt.Errorf("durability %q is neither %q nor %q", c.Durability, Fsync, Memory)
	}
	if c.Inline < 0 {
		return fmt.Errorf("%d registers of limits that requests define: the bound is 1 or more", c.Inline)
	}
	if c.Partitions < 1 || c.Partitions > maxPartitions {
		return fmt.Errorf("%d partitions are not between 1 and %d", c.Partitions, maxPartitions)
	}
	return nil
}

// A Store keeps the registers of one node. Its methods are safe for concurrent use.
type Store struct {
	cfg     Config
	metrics *metrics

	// The committer's own. The identity of the disk stays as it was when Open returned.
	db      *database.DB
	meta    meta
	sweep   sweeper
	exports map[*export]struct{} // those that have an iterator
	life    [16]byte             // random: it tells this life's cursors
	before  Mark                 // see MarkBefore

	// With Fsync the committer's own too. With Memory, callers decide by themselves: see reserveAtOnce.
	deciding   sync.Mutex
	table      table
	partitions []register.Partition
	staged     map[ring.Partition]register.Partition // what partitions become once that is durable
	copying    []copying                             // by partition
	recordings recordings
	inline     inlineCount
	slots      [seekAhead]memtable.Slot // scratch
	keys       []byte                   // of the slots
	ceiling    int64                    // a copy of meta's; 0 with Fsync
	raising    bool                     // the committer has been asked to raise it

	mu     sync.Mutex
	shown  []register.Partition // what is durable of partitions
	mark   Mark                 // the last that is durable
	queue  []job
	queued int           // reservations in it
	flight []job         // what the committer is at work on; it belongs to whoever takes it out
	busy   time.Time     // since when something waits for the disk and nothing has come back; zero when nothing waits
	ended  error         // why nothing is taken any more
	wake   chan struct{} // holds one token when the queue is not empty, or the Store has ended
	failed chan struct{} // closed when the disk has failed
	done   chan struct{} // closed when the committer has ended
}

// Open opens the registers in cfg.Dir and starts the committer. Its errors are ErrLocked, ErrNewerFormat, ErrUnwritable,
// ErrFailed, or say what else is wrong with the directory or with cfg. After ErrFailed the directory may stay locked until
// the process ends.
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

// Reserve decides reservations in their order and calls done, once, with an answer to each in the same order, after
// the fsync that covers them. If the Store has ended, or the disk fails on the way, done gets ErrClosed or ErrFailed
// instead: the reservations may then be durable or not. done is called on the caller's goroutine or on one of the
// Store's, and must not block. Reserve keeps rs until then; after ErrFailed, for good.
func (s *Store) Reserve(rs []register.Reservation, done func([]register.Answer, error)) {
	if s.cfg.Durability == Fsync || !s.reserveAtOnce(rs, done) {
		s.push(job{reservations: rs, done: done})
	}
}

// Looked is a bucket's register and its partition as a replica has them.
type Looked struct {
	Register  register.Register
	Exists    bool // there is a register
	Partition register.Partition
}

// Look returns a bucket's register and its partition as they stand. The register may be of a reservation whose fsync is
// under way, so nothing may be decided from it.
func (s *Store) Look(ctx context.Context, p ring.Partition, key, limit string) (Looked, error) {
	var l Looked
	err := s.look(ctx, func() (err error) {
		l, err = s.looked(p, key, limit)
		return err
	})
	if err != nil {
		return Looked{}, err
	}
	return l, nil
}

func (s *Store) looked(p ring.Partition, key, limit string) (l Looked, err error) {
	s.deciding.Lock()
	defer s.deciding.Unlock()
	if int(p) >= len(s.partitions) {
		return Looked{}, fmt.Errorf("there is no partition %d", p)
	}
	l.Partition = s.partitions[p]
	id := registerKey(nil, p, key, limit)
	at := s.table.of(id).Lookup(id)
	l.Register, l.Exists, err = s.table.get(&at)
	return l, err
}

// Partition is a partition's state as it stands on the disk; the zero Partition if there is no such partition.
func (s *Store) Partition(p ring.Partition) register.Partition {
	s.mu.Lock()
	defer s.mu.Unlock()
	if int(p) >= len(s.shown) {
		return register.Partition{}
	}
	return s.shown[p]
}

// Disk is the identity of the data directory.
func (s *Store) Disk() DiskID { return s.meta.disk }

// Mark is this life's mark. It is durable, and its minute goes up: see Config.OnMark.
func (s *Store) Mark() Mark {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mark
}

// MarkBefore is how far the directory had come before the first life since Confirm was called last: the mark by which it
// is known for an old copy of itself. A new directory has the zero Mark.
func (s *Store) MarkBefore() Mark { return s.before }

// Failed is closed when the disk has failed. Err says how.
func (s *Store) Failed() <-chan struct{} { return s.failed }

// Err is why the Store takes nothing any more: an ErrFailed, ErrClosed, or nil while it serves.
func (s *Store) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended
}

// Close answers what was handed in before, saves the registers if they are kept in memory, and closes the files. After
// the disk has failed it only says so: the files are then left as they are, and locked, until the process ends, which
// loses nothing. Closing again does nothing and returns the same.
func (s *Store) Close() error {
	s.end(ErrClosed)
	select {
	case <-s.done:
	case <-s.failed:
	}
	if err := s.Err(); errors.Is(err, ErrFailed) {
		return err
	}
	return nil
}

// end makes the Store take nothing any more. The first reason stays, unless the disk fails after it.
func (s *Store) end(why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended == nil {
		s.ended = why
		s.cfg.patient.StopWaiting()
		s.notifyLocked()
	}
}

// fail ends the Store because the disk has failed, and answers everything that waits. It may be called on any goroutine,
// the committer's included: that one may be stuck in the database for ever.
func (s *Store) fail(err error) {
	why := datadir.DiskFailed(s.cfg.Dir, err)
	s.mu.Lock()
	if errors.Is(s.ended, ErrFailed) {
		s.mu.Unlock()
		return
	}
	s.ended = why
	flight, queue := s.flight, s.queue
	s.flight, s.queue = nil, nil
	close(s.failed)
	s.cfg.patient.StopWaiting()
	s.notifyLocked()
	s.mu.Unlock()
	drop(flight, why)
	drop(queue, why)
}

// notify wakes the committer.
func (s *Store) notify() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notifyLocked()
}

// notifyLocked wakes the committer.
func (s *Store) notifyLocked() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}
