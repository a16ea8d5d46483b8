// Package database opens Pebble, the key-value store below the registers, so that a failing disk ends the store instead of
// the process: see guard.go for what Pebble would do otherwise.
//
// Start with [Open].
package database

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/objstorage/objstorageprovider"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/jeton-dev/jeton/storage/datadir"
)

// A DB is an open Pebble, and the lock on its directory.
type DB struct {
	*pebble.DB
	opts   *pebble.Options
	lock   *pebble.Lock
	guard  *guard
	ingest string // path of the sstable that is being written
}

// Config says how to open a DB. All fields are required.
type Config struct {
	Dir          string // the data directory
	FS           vfs.FS
	MemTableSize uint64 // of Pebble, in bytes
	CacheSize    int64  // of Pebble, in bytes
	Logger       *slog.Logger
	// Fail is called when the database cannot go on. The goroutine that finds out, which may be the caller of any method or
	// of Open, does not return then.
	Fail func(error)
}

// Open locks the data directory and opens the database in it. Its errors are those of package datadir.
func Open(cfg Config) (*DB, error) {
	lock, err := datadir.Lock(cfg.FS, cfg.Dir)
	if err != nil {
		return nil, err
	}
	db := &DB{
		lock: lock, guard: &guard{FS: cfg.FS, fail: cfg.Fail}, ingest: cfg.FS.PathJoin(cfg.Dir, datadir.JournalDir, IngestFile),
	}
	db.opts = db.options(&cfg)
	if db.DB, err = pebble.Open(cfg.FS.PathJoin(cfg.Dir, datadir.RegistersDir), db.opts); err != nil {
		return nil, errors.Join(datadir.Explain(cfg.Dir, err), lock.Close())
	}
	db.guard.state.Store(inUse)
	return db, nil
}

// blockSize is in bytes, and large: each block that is written has a cost, and few registers are read.
const blockSize = 32 << 10

func (db *DB) options(cfg *Config) *pebble.Options {
	opts := &pebble.Options{
		FS:                 db.guard,
		Lock:               db.lock,
		FormatMajorVersion: pebble.FormatNewest,
		Logger:             logger{log: cfg.Logger, guard: db.guard},
		MemTableSize:       cfg.MemTableSize,
		CacheSize:          cfg.CacheSize,
		EventListener: &pebble.EventListener{
			BackgroundError: db.guard.endGoroutine, // Pebble would retry at once, without end
			DiskSlow: func(info pebble.DiskSlowInfo) {
				cfg.Logger.Warn("the disk is slow", "operation", info.OpType, "path", info.Path, "took", info.Duration)
			},
		},
	}
	// Pebble could put an ingested sstable that overlaps its memtable into the queue of its flushes. If that fails, it calls
	// Fatalf without a lock that it then releases again, which nothing can recover from.
	opts.Experimental.DisableIngestAsFlushable = func() bool { return true }
	for i := range opts.Levels {
		opts.Levels[i].BlockSize = blockSize
		opts.Levels[i].FilterPolicy = bloom.FilterPolicy(10) // most lookups are for new keys
	}
	opts.EnsureDefaults()
	opts.WithFSDefaults()
	return opts
}

// Close closes the database and gives up the lock.
func (db *DB) Close() error {
	db.guard.state.Store(closing)
	if err := errors.Join(db.DB.Close(), db.lock.Close()); err != nil {
		return fmt.Errorf("close the registers: %w", err)
	}
	return nil
}

// IngestFile is the file, in the folder of the journal, in which an sstable is written before Pebble takes it over.
const IngestFile = "settled.sst"

// Ingest adds sorted keys and values to the database as one sstable. It is durable on return.
func (db *DB) Ingest(sorted iter.Seq2[string, []byte]) error {
	f, err := db.guard.Create(db.ingest, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	w := sstable.NewWriter(objstorageprovider.NewFileWritable(f),
		db.opts.MakeWriterOptions(0, db.FormatMajorVersion().MaxTableFormat()))
	var buf []byte
	for key, value := range sorted {
		buf = append(buf[:0], key...)
		if err := w.Set(buf, value); err != nil {
			return fmt.Errorf("key %q: %w", key, errors.Join(err, w.Close()))
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	return db.DB.Ingest(context.Background(), []string{db.ingest})
}

// logger passes Pebble's messages on. Pebble calls Fatalf when its write-ahead log or its manifest has failed and it must
// not go on; that ends the calling goroutine, which is the caller's or one of Pebble's own, and with it the store.
type logger struct {
	log   *slog.Logger
	guard *guard
}

func (l logger) Infof(format string, args ...any) {
	l.log.Debug("pebble", "says", fmt.Sprintf(format, args...))
}

func (l logger) Errorf(format string, args ...any) {
	l.log.Error("pebble", "says", fmt.Sprintf(format, args...))
}

func (l logger) Fatalf(format string, args ...any) { l.guard.endGoroutine(fmt.Errorf(format, args...)) }
