package storage

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/jeton-dev/jeton/storage/disktest"
	"github.com/jeton-dev/jeton/storage/register"
)

// A failingDisk strikes its n-th operation with a fault, and all later ones if the fault stays.
type failingDisk struct {
	fault disktest.Fault
	n     int64

	operations atomic.Int64
	struck     atomic.Pointer[disktest.Operation]
}

func (d *failingDisk) step(o disktest.Operation) error {
	switch n := d.operations.Add(1); {
	case n == d.n:
		d.struck.Store(&o)
		return d.fault.Strike(o)
	case n > d.n && d.fault.Stays && o.Kind != "close":
		return disktest.Fault{Err: d.fault.Err}.Strike(o)
	}
	return o.Do()
}

// faults are the ways in which an operation fails, in pairs: it failed, and it failed but happened.
var faults = [][]disktest.Fault{
	{{Err: syscall.EIO}, {Err: syscall.EIO, Happened: true}},
	{{Err: syscall.ENOSPC, Torn: true, Stays: true}, {Err: syscall.ENOSPC, Happened: true, Stays: true}},
}

// failEverywhere runs a story for every operation on the disk (with the race detector, one in stride) and every fault, and
// examines what is left, as it is and after a power cut.
func failEverywhere(t *testing.T, live story, examine func(*testing.T, *rig, wreck) error) {
	t.Helper()
	var ended, survived int
	for n := 1 + rand.IntN(stride); ; n += stride {
		for _, f := range faults[n%len(faults)] {
			d := &failingDisk{fault: f, n: int64(n)}
			fs := &disktest.Disk{FS: vfs.NewCrashableMem(), Step: d.step}
			r := newLeakyRig(fs)
			w := newWitness()
			err := live(t, r, w)
			o := d.struck.Load()
			if o == nil {
				t.Logf("%d faults ended the Store, %d did not matter", ended, survived)
				if ended < 100/stride {
					t.Error("too few")
				}
				return
			}
			where := fmt.Sprintf("operation %d, %v: %v", n, o, f)
			switch {
			case err == nil:
				survived++ // a file that was not removed, a directory that was there
			case telling(err):
				ended++
			default:
				t.Fatalf("%s: the error does not tell what to do: %v", where, err)
			}
			for _, percent := range []int{0, 100} {
				left := w.wreck(r.clock.now())
				left.fs = fs.CutPower(percent, 0)
				if err := examine(t, r, left); err != nil {
					t.Fatalf("%s: then, %d %% of what was not synced being kept: %v", where, percent, err)
				}
			}
		}
	}
}

// telling says whether an error tells what to do about a disk that has failed.
func telling(err error) bool {
	return errors.Is(err, ErrFailed) &&
		strings.Contains(err.Error(), "make room on the disk of /var/lib/jeton or replace it, then start again; nothing that was answered is lost")
}

// failed makes sure that a Store that gave err has ended, and returns err.
func failed(t *testing.T, s *Store, err error) error {
	t.Helper()
	await(t, s.Failed(), "the failure")
	if !telling(s.Err()) {
		t.Errorf("Err: %v", s.Err())
	}
	if _, err := try(t, s, register.Reservation{}); !errors.Is(err, ErrFailed) {
		t.Errorf("a reservation after the disk has failed: %v", err)
	}
	if _, err := s.Look(t.Context(), 0, "user", "demo"); !errors.Is(err, ErrFailed) {
		t.Errorf("a look after the disk has failed: %v", err)
	}
	for range 2 {
		closed := make(chan struct{})
		go func() {
			defer close(closed)
			if err := s.Close(); !errors.Is(err, ErrFailed) {
				t.Errorf("close after the disk has failed: %v", err)
			}
		}()
		await(t, closed, "the end of Close")
	}
	return err
}

// A commit whose fsync fails ends the committer: Pebble calls Fatalf on its goroutine.
func TestFailureOfCommitEndsCommitter(t *testing.T) {
	for _, f := range faults[0] {
		for _, kind := range []string{"write", "sync"} {
			t.Run(fmt.Sprintf("%s: %v", kind, f), func(t *testing.T) {
				var b disktest.Breakable
				r := newLeakyRig(&disktest.Disk{FS: vfs.NewMem(), Step: b.Step})
				s := r.open(t)
				accepted(t, s, r.segment("user", epoch, epoch+1))
				breaks := func(o disktest.Operation) error {
					if o.Kind == kind && strings.HasSuffix(o.Path, ".log") {
						return f.Strike(o)
					}
					return o.Do()
				}
				b.Broken.Store(&breaks)
				_, err := try(t, s, r.segment("user", epoch+1, epoch+2))
				if !telling(failed(t, s, err)) {
					t.Errorf("got %v", err)
				}
				await(t, s.done, "the end of the committer")
			})
		}
	}
}

// If a flush does not end, the committer waits for it. When the flush then fails, all callers get an error nevertheless.
func TestFailureOfFlushWhileCommitterWaits(t *testing.T) {
	const stalled = "storage.(*flush).wait"
	for _, f := range faults[1] {
		t.Run(f.String(), func(t *testing.T) {
			var b disktest.Breakable
			r := newLeakyRig(&disktest.Disk{FS: vfs.NewMem(), Step: b.Step})
			s := r.open(t)
			release := make(chan struct{})
			blocks := func(o disktest.Operation) error {
				if o.Kind == "create" && strings.HasSuffix(o.Path, ".sst") {
					<-release
					return f.Strike(o)
				}
				return o.Do()
			}
			b.Broken.Store(&blocks)

			before := strings.Count(stacks(), stalled)
			errs := make(chan error, 10_000)
			handedIn := 0
			reserve := func() {
				m := r.segment(keyOf(handedIn), epoch, epoch+1)
				m.Ledger = make([]byte, 8<<10)
				handedIn++
				s.Reserve([]register.Reservation{m}, func(_ []register.Answer, err error) { errs <- err })
			}
			for deadline := time.Now().Add(patience); strings.Count(stacks(), stalled) == before; {
				if time.Now().After(deadline) {
					t.Fatalf("the committer was not stalled within %v", patience)
				}
				reserve()
			}
			for range 10 {
				reserve()
			}
			looked := make(chan error, 1)
			go func() {
				_, err := s.Look(t.Context(), 0, "user", "demo")
				looked <- err
			}()
			closed := make(chan error, 1)
			go func() { closed <- s.Close() }()

			close(release)
			failures := 0
			for range handedIn {
				if err := receive(t, errs); errors.Is(err, ErrFailed) {
					failures++
				} else if err != nil {
					t.Errorf("a reservation got %v", err)
				}
			}
			if failures < 10 {
				t.Errorf("%d reservations got an error, want at least those that waited", failures)
			}
			if err := receive(t, looked); !errors.Is(err, ErrFailed) && !errors.Is(err, ErrClosed) {
				t.Errorf("a look got %v", err)
			}
			if err := receive(t, closed); !telling(err) {
				t.Errorf("close: %v", err)
			}
			if !telling(failed(t, s, s.Err())) {
				t.Errorf("Err: %v", s.Err())
			}
			if len(errs) > 0 {
				t.Error("an answer was given twice")
			}
		})
	}
}

func receive(t *testing.T, errs <-chan error) error {
	t.Helper()
	select {
	case err := <-errs:
		return err
	case <-time.After(patience):
		t.Fatalf("nothing came within %v\n%s", patience, stacks())
		return nil
	}
}

func TestFailureFsync(t *testing.T) {
	failEverywhere(t, twice(oneLife()), examineFsync)
}

func TestFailureMemory(t *testing.T) {
	failEverywhere(t, oneLife(inMemory), func(t *testing.T, r *rig, w wreck) error {
		t.Helper()
		_, err := examineMemory(t, r, w)
		return err
	})
}

// This test comes last: it leaves many goroutines behind, which makes the search for others expensive.
func TestFailureMoves(t *testing.T) {
	for name, mode := range modes {
		t.Run(name, func(t *testing.T) {
			failEverywhere(t, moves(mode), func(t *testing.T, r *rig, w wreck) error {
				t.Helper()
				_, err := examineMoves(t, r, w, mode)
				return err
			})
		})
	}
}
