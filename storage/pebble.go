package storage

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"runtime"
	"syscall"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/storage/register"
)

// registersDir is where Pebble lives below the data directory.
const registersDir = "registers"

// openPebble opens the database. fail is called when it cannot go on: a write-ahead log that cannot be written, or a
// table that cannot be flushed.
func openPebble(cfg *Config, fail func(error)) (*pebble.DB, *pebble.Lock, error) {
	log := pebbleLogger{log: cfg.Logger, fail: fail}
	opts := &pebble.Options{
		FS:                 cfg.FS,
		FormatMajorVersion: pebble.FormatNewest,
		Logger:             log,
		MemTableSize:       32 << 20,
		EventListener: &pebble.EventListener{
			BackgroundError: fail,
			DiskSlow: func(info pebble.DiskSlowInfo) {
				cfg.Logger.Warn("the disk is slow", "operation", info.OpType, "path", info.Path, "took", info.Duration)
			},
		},
	}
	opts.EnsureDefaults()
	for i := range opts.Levels {
		opts.Levels[i].FilterPolicy = bloom.FilterPolicy(10) // most keys that are asked for are new
	}
	opts.WithFSDefaults()
	dir := cfg.FS.PathJoin(cfg.Dir, registersDir)
	lock, err := lockDir(cfg, dir)
	if err != nil {
		return nil, nil, err
	}
	opts.Lock = lock
	db, err := pebble.Open(dir, opts)
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("open %s: %w", dir, err), lock.Close())
	}
	return db, lock, nil
}

// lockDir makes sure that no other process has the directory open.
func lockDir(cfg *Config, dir string) (*pebble.Lock, error) {
	err := cfg.FS.MkdirAll(dir, 0o755)
	if err == nil {
		var lock *pebble.Lock
		if lock, err = pebble.LockDirectory(dir, cfg.FS); err == nil {
			return lock, nil
		}
	}
	if errors.Is(err, fs.ErrPermission) && !errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EROFS) {
		return nil, unwritable(cfg.Dir, err)
	}
	return nil, fmt.Errorf("%w: %w: stop the jeton that runs on %s, or give another directory with --data", ErrLocked, err, cfg.Dir)
}

// readPartitions reads the state of every partition. One that was never written is in epoch 1.
func readPartitions(db *pebble.DB, n int) ([]register.Partition, error) {
	ps := make([]register.Partition, n)
	for i := range ps {
		v, closer, err := db.Get(partitionKey(ring.Partition(i)))
		if errors.Is(err, pebble.ErrNotFound) {
			ps[i].Epoch = FirstEpoch
			continue
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

// FirstEpoch is the epoch of every partition when a cluster is made.
const FirstEpoch = 1

// pebbleLogger passes Pebble's messages on. Pebble calls Fatalf when its write-ahead log has failed and it must not go
// on; that ends the calling goroutine, the committer or one of Pebble's own, and with it the Store.
type pebbleLogger struct {
	log  *slog.Logger
	fail func(error)
}

func (l pebbleLogger) Infof(format string, args ...any) {
	l.log.Debug(fmt.Sprintf(format, args...), "from", "pebble")
}

func (l pebbleLogger) Errorf(format string, args ...any) {
	l.log.Error(fmt.Sprintf(format, args...), "from", "pebble")
}

func (l pebbleLogger) Fatalf(format string, args ...any) {
	l.fail(fmt.Errorf(format, args...))
	runtime.Goexit()
}
