package storage

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/storage/datadir"
	"github.com/jeton-dev/jeton/storage/files"
	"github.com/jeton-dev/jeton/storage/register"
)

// Durability says when a reservation counts as durable.
type Durability string

// The durabilities.
const (
	Fsync  Durability = "fsync"  // once an fsync has covered it
	Memory Durability = "memory" // at once; a crash makes every limit stricter for a while
)

// Config configures a Store.
type Config struct {
	// Dir is the data directory, which Open creates. Required.
	Dir string
	// FS is the file system; nil means the operating system's.
	FS vfs.FS
	// Durability is Fsync if empty.
	Durability Durability
	// Partitions is how many partitions the cluster has, fixed for its lifetime; 0 means ring.DefaultPartitions.
	Partitions int
	// Bounds are the cluster's; the zero value means register.DefaultBounds.
	Bounds register.Bounds
	// Now is the node clock. Required.
	Now func() int64
	// Restored says that the directory may be an older copy of itself, so that a floor must be set.
	Restored bool
	// SweepEvery is how long one sweep, which deletes spent registers, takes over all partitions; 0 means 10 minutes.
	SweepEvery time.Duration
	// Inline is the maximum number of registers whose limit a request has defined; 0 means DefaultInline. A reservation that
	// would create one more is refused with register.Full. Merge may exceed it.
	Inline int64
	// Format is that of a data directory that is made anew; 0 means datadir.LowestFormat.
	Format int
	// MaySweep reports whether the node clock can be trusted enough to delete registers that are spent by it; nil means
	// always. The committer calls it; it must not block.
	MaySweep func() bool
	// OnMark, if not nil, is called with each mark after the first of this process, once the mark is durable. The committer
	// calls it; it must not block.
	OnMark func(Mark)
	// Memory is about how many bytes of memory the Store may use, for Pebble's cache and for the registers that are not in
	// Pebble yet. 0 means as much as is useful, which is about 340 MiB at most. With Durability Memory all registers are in
	// memory, whatever this says; see Store.Full.
	Memory int64
	// Logger receives what Pebble and the Store report; nil means slog.Default.
	Logger *slog.Logger
	// Metrics receives the Store's metrics; nil means none.
	Metrics prometheus.Registerer

	memTableSize uint64 // Pebble's; 0 means 1 MiB: flushes are ingested and do not pass through it
	journalSize  int64  // of a journal file; 0 means what Memory allows, at most maxJournal
	cacheSize    int64  // Pebble's; 0 means what Memory allows, at most maxCache

	patient *files.Patient // FS, set by setDefaults
}

func (c *Config) setDefaults() {
	if c.FS == nil {
		c.FS = vfs.Default
	}
	if c.Durability == "" {
		c.Durability = Fsync
	}
	if c.Format == 0 {
		c.Format = datadir.LowestFormat
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
	c.shareMemory()
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
		return fmt.Errorf("at most %d registers of limits that requests define: the maximum is 1 or more", c.Inline)
	}
	if c.Partitions < 1 || c.Partitions > maxPartitions {
		return fmt.Errorf("%d partitions are not between 1 and %d", c.Partitions, maxPartitions)
	}
	return nil
}

// The sizes of the cache and of a journal file, in bytes. With Pebble's default cache every lookup of a new key reads from
// the disk once there are a million registers.
const (
	maxCache, minCache     = 64 << 20, 4 << 20
	maxJournal, minJournal = 16 << 20, 1 << 20
)

// memoryPerJournalByte is how many bytes of memory a byte of the journal may cost. A register of about 70 bytes takes about
// 250 in memory, and 100 more while it is flushed; and there are up to four journal files: one or two that are written, the
// previous one, and one that is being flushed.
const memoryPerJournalByte = 16

// shareMemory divides Memory between the cache and the journal.
func (c *Config) shareMemory() {
	if c.cacheSize == 0 {
		c.cacheSize = maxCache
		if c.Memory > 0 {
			c.cacheSize = min(max(c.Memory/3, minCache), maxCache)
		}
	}
	if c.journalSize == 0 {
		c.journalSize = maxJournal
		if c.Memory > 0 {
			c.journalSize = min(max((c.Memory-c.cacheSize)/memoryPerJournalByte, minJournal), maxJournal)
		}
	}
}

// OffHeap is about how many bytes of Memory are outside the heap of the Go runtime: Pebble's cache and memtables.
func OffHeap(memory int64) int64 {
	c := Config{Memory: memory}
	c.setDefaults()
	return c.cacheSize + 4*int64(c.memTableSize)
}
