package storage

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/storage/register"
)

// A database is an open Pebble, and the lock on its directory.
type database struct {
	*pebble.DB
	opts    *pebble.Options
	lock    *pebble.Lock
	guard   *guard
	settled string // where a table is written before Pebble takes it over
}

// openDatabase opens the database below cfg.Dir. fail is called when it cannot go on; the goroutine that finds out, which
// may be the caller's, then does not come back.
func openDatabase(cfg *Config, fail func(error)) (*database, error) {
	lock, err := lockRegisters(cfg.FS, cfg.Dir)
	if err != nil {
		return nil, err
	}
	db := &database{
		lock: lock, guard: &guard{FS: cfg.FS, fail: fail}, settled: cfg.FS.PathJoin(cfg.Dir, journalDir, settledFile),
	}
	db.opts = db.options(cfg)
	if db.DB, err = pebble.Open(cfg.FS.PathJoin(cfg.Dir, registersDir), db.opts); err != nil {
		return nil, errors.Join(unusable(cfg.Dir, err), lock.Close())
	}
	db.guard.state.Store(inUse)
	return db, nil
}

// blockSize is in bytes, and large: there is a cost to each block that is written, and few registers are read.
const blockSize = 32 << 10

func (db *database) options(cfg *Config) *pebble.Options {
	opts := &pebble.Options{
		FS:                 db.guard,
		Lock:               db.lock,
		FormatMajorVersion: pebble.FormatNewest,
		Logger:             pebbleLogger{log: cfg.Logger, guard: db.guard},
		MemTableSize:       cfg.memTableSize,
		CacheSize:          cfg.cacheSize,
		EventListener: &pebble.EventListener{
			BackgroundError: db.guard.stop, // Pebble would try again at once, for ever
			DiskSlow: func(info pebble.DiskSlowInfo) {
				cfg.Logger.Warn("the disk is slow", "operation", info.OpType, "path", info.Path, "took", info.Duration)
			},
		},
	}
	// Where a table that is taken over lies across what is deleted in its memory, Pebble could write down that it has it and
	// take it over later. If that fails, it calls Fatalf with a lock released that it then releases again, which nothing can
	// recover from.
	opts.Experimental.DisableIngestAsFlushable = func() bool { return true }
	for i := range opts.Levels {
		opts.Levels[i].BlockSize = blockSize
		opts.Levels[i].FilterPolicy = bloom.FilterPolicy(10) // most keys that are asked for are new
	}
	opts.EnsureDefaults()
	opts.WithFSDefaults()
	return opts
}

func (db *database) close() error {
	db.guard.state.Store(closing)
	if err := errors.Join(db.Close(), db.lock.Close()); err != nil {
		return fmt.Errorf("close the registers: %w", err)
	}
	return nil
}

// deleteRegisters deletes, durably, what Pebble has of the registers of partitions.
func (db *database) deleteRegisters(partitions ...ring.Partition) error {
	if len(partitions) == 0 {
		return nil
	}
	b := db.NewBatch()
	for _, p := range partitions {
		lower, upper := registersOf(p)
		if err := b.DeleteRange(lower, upper, nil); err != nil {
			return errors.Join(err, b.Close())
		}
	}
	if err := b.Commit(pebble.Sync); err != nil {
		return fmt.Errorf("delete the registers of partitions %v: %w", partitions, err)
	}
	return nil
}

// readPartitions reads the state of every partition. In a new directory they keep nothing.
func readPartitions(db *pebble.DB, n int, fresh bool) ([]register.Partition, error) {
	ps := make([]register.Partition, n)
	for i := range ps {
		if fresh {
			ps[i].Sealed = true
			continue
		}
		v, closer, err := db.Get(partitionKey(ring.Partition(i)))
		if errors.Is(err, pebble.ErrNotFound) { // they are written together with the identity of the disk
			err = register.ErrCorrupt
		}
		if err != nil {
			return nil, fmt.Errorf("read partition %d: %w", i, err)
		}
		p, err := register.DecodePartition(v)
		if err := errors.Join(err, closer.Close()); err != nil {
			return nil, fmt.Errorf("read partition %d: %w", i, err)
		}
		ps[i] = p
	}
	return ps, nil
}

// pebbleLogger passes Pebble's messages on. Pebble calls Fatalf when its write-ahead log or its list of tables has failed
// and it must not go on; that ends the calling goroutine, the committer or one of Pebble's own, and with it the Store.
type pebbleLogger struct {
	log   *slog.Logger
	guard *guard
}

func (l pebbleLogger) Infof(format string, args ...any) {
	l.log.Debug("pebble", "says", fmt.Sprintf(format, args...))
}

func (l pebbleLogger) Errorf(format string, args ...any) {
	l.log.Error("pebble", "says", fmt.Sprintf(format, args...))
}

func (l pebbleLogger) Fatalf(format string, args ...any) { l.guard.stop(fmt.Errorf(format, args...)) }
