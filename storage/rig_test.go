package storage

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"go.uber.org/goleak"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/storage/register"
)

func TestMain(m *testing.M) {
	if task := os.Getenv(taskVariable); task != "" {
		os.Exit(perform(task, os.Getenv(directoryVariable)))
	}
	goleak.VerifyTestMain(m, leftByPebble()...)
}

// leftByPebble are the goroutines of a Pebble that cannot be closed because its disk has failed, and the committer that
// waits for it. Tests in which no disk fails make sure that none of them is left either: see newRig.
func leftByPebble() (left []goleak.Option) {
	for _, function := range []string{
		"storage/database.(*guard).halt",
		"storage.(*flush).wait",
		"pebble/v2.Open",
		"pebble/v2.(*DB).maybeInduceWriteStall",
		"pebble/v2.(*DB).ingest",
		"pebble/v2.(*commitPipeline).publish",
		"pebble/v2.(*DB).flush",
		"pebble/v2.(*DB).compact",
		"pebble/v2.(*DB).collectTableStats",
		"pebble/v2.(*DB).Close",
		"pebble/v2.(*cleanupManager).mainLoop",
		"pebble/v2.(*ConcurrencyLimitScheduler).periodicGranter",
		"pebble/v2/record.(*LogWriter).flushLoop",
		"pebble/v2/internal/genericcache.(*shard[...]).releaseLoop",
		"pebble/v2/vfs.(*diskHealthCheckingFile).startTicker.func1",
		"pebble/v2/vfs.(*diskHealthCheckingFS).startTickerLocked.func1",
	} {
		module := "github.com/cockroachdb/"
		if strings.HasPrefix(function, "storage") {
			module = "github.com/jeton-dev/jeton/"
		}
		left = append(left, goleak.IgnoreAnyFunction(module+function))
	}
	return left
}

// epoch is when the tests begin, by the node clock.
const epoch = int64(1_800_000_000_000_000_000)

// patience is how long a test waits for what must happen.
const patience = 5 * time.Minute

// A fakeClock is a node clock that moves when told to.
type fakeClock struct{ ns atomic.Int64 }

func (c *fakeClock) now() int64 { return c.ns.Load() }

func (c *fakeClock) advance(d time.Duration) { c.ns.Add(int64(d)) }

// A rig opens one Store after another on the same disk.
type rig struct {
	cfg   Config
	clock *fakeClock
	seq   uint64
}

// partitions is how many a rig's cluster has.
const partitions = 4

// newRig makes a rig on fs, or on an empty file system in memory, and lets the test fail if anything is left running.
func newRig(t *testing.T, fs vfs.FS) *rig {
	t.Helper()
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() {
		if !t.Failed() {
			goleak.VerifyNone(t, before)
		}
	})
	return newLeakyRig(fs)
}

// newLeakyRig is newRig for tests in which the disk fails, so that Pebble cannot be closed.
func newLeakyRig(fs vfs.FS) *rig {
	if fs == nil {
		fs = vfs.NewMem()
	}
	r := &rig{clock: &fakeClock{}}
	r.clock.ns.Store(epoch)
	r.cfg = Config{
		Dir: "/var/lib/jeton", FS: fs, Partitions: partitions, Now: r.clock.now, SweepEvery: time.Hour,
		Logger: slog.New(slog.DiscardHandler), memTableSize: 64 << 10, journalSize: 8 << 10,
	}
	return r
}

// with is the rig's Config, changed.
func (r *rig) with(changes ...func(*Config)) Config {
	cfg := r.cfg
	for _, change := range changes {
		change(&cfg)
	}
	return cfg
}

func inMemory(c *Config) { c.Durability = Memory }
func restored(c *Config) { c.Restored = true }

func onDisk(fs vfs.FS) func(*Config) { return func(c *Config) { c.FS = fs } }

// open opens a Store that has been founded, and closes it at the end of the test, if the test does not.
func (r *rig) open(t *testing.T, changes ...func(*Config)) *Store {
	t.Helper()
	s := r.openBlank(t, changes...)
	if err := s.Found(t.Context()); err != nil {
		t.Fatalf("found: %v", err)
	}
	return s
}

// openBlank is open for a Store whose partitions are left in the epoch that they are in.
func (r *rig) openBlank(t *testing.T, changes ...func(*Config)) *Store {
	t.Helper()
	s, err := Open(r.with(changes...))
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil && !errors.Is(err, ErrFailed) {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

func shut(t *testing.T, s *Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
}

// reach is that of all reservations of the tests, unless said otherwise.
const reach = int64(10 * time.Second)

// segment is a reservation of (from, to] by the rig's own writer, with a number of its own.
func (r *rig) segment(key string, from, to int64) register.Reservation {
	r.seq++
	return register.Reservation{
		Writer: register.Writer{1}, Seq: r.seq, Epoch: ring.FirstEpoch, Now: r.clock.now(),
		Partition: ring.PartitionOf(ring.Hash(key), partitions), Key: key, Limit: "demo",
		From: from, To: to, Reach: reach,
	}
}

// ask reserves and waits for the answers.
func ask(t *testing.T, s *Store, rs ...register.Reservation) []register.Answer {
	t.Helper()
	answers, err := try(t, s, rs...)
	if err != nil {
		t.Fatalf("reserve: %v", err)
	}
	return answers
}

// try is ask where an error may come.
func try(t *testing.T, s *Store, rs ...register.Reservation) (answers []register.Answer, err error) {
	t.Helper()
	done := make(chan struct{})
	s.Reserve(rs, func(as []register.Answer, e error) {
		answers, err = as, e
		close(done)
	})
	await(t, done, "the answer to a reservation")
	return answers, err
}

func accepted(t *testing.T, s *Store, rs ...register.Reservation) {
	t.Helper()
	for i, a := range ask(t, s, rs...) {
		if a.Verdict != register.Accepted || a.Position != rs[i].To {
			t.Fatalf("%s (%d, %d]: got %+v, want it accepted", rs[i].Key, rs[i].From-epoch, rs[i].To-epoch, a)
		}
	}
}

func refused(t *testing.T, s *Store, want register.Verdict, rs ...register.Reservation) {
	t.Helper()
	for i, a := range ask(t, s, rs...) {
		if a.Verdict != want {
			t.Fatalf("%s (%d, %d]: got %+v, want verdict %d", rs[i].Key, rs[i].From-epoch, rs[i].To-epoch, a, want)
		}
	}
}

func lookAt(t *testing.T, s *Store, key string) Looked {
	t.Helper()
	l, err := s.Look(t.Context(), ring.PartitionOf(ring.Hash(key), partitions), key, "demo")
	if err != nil {
		t.Fatalf("look at %s: %v", key, err)
	}
	return l
}

// keepHouse raises the mark, flushes everything, and does one step of a sweep. If the disk fails, it stops.
func keepHouse(t *testing.T, s *Store) {
	t.Helper()
	done := make(chan struct{})
	s.push(job{look: func(err error) {
		defer close(done)
		if err == nil {
			err = errors.Join(s.raiseMark(s.cfg.Now()), flushAll(s), s.sweepStep(s.cfg.Now()))
		}
		if err != nil {
			s.fail(err) // as the committer does
		}
	}})
	select {
	case <-done:
	case <-s.Failed():
	case <-time.After(patience):
		t.Fatalf("the committer did not come within %v\n%s", patience, stacks())
	}
}

// flushAll rotates until everything is in Pebble. It runs on the committer.
func flushAll(s *Store) error {
	t, ok := s.engine.(*diskEngine)
	for ok && (t.memtables.Len() > 0 || t.flushing != nil) {
		t.firstWrite = min(t.firstWrite, s.cfg.Now()-maxRotationAge)
		if _, err := t.maintain(s.cfg.Now()); err != nil {
			return err
		}
		if t.flushing != nil {
			t.flushing.wait()
		}
	}
	return nil
}

// await waits for done.
func await(t *testing.T, done <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-done:
	case <-time.After(patience):
		t.Fatalf("%s did not come within %v\n%s", what, patience, stacks())
	}
}

// stacks are those of all goroutines.
func stacks() string {
	text := make([]byte, 16<<20)
	return string(text[:runtime.Stack(text, true)])
}

// keyOf is the n-th key of a test.
func keyOf(n int) string { return fmt.Sprintf("user:%d", n) }
