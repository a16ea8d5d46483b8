package database

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"go.uber.org/goleak"

	"github.com/jeton-dev/jeton/storage/disktest"
	"github.com/jeton-dev/jeton/storage/files"
)

// patience is how long a test waits for what must happen.
const patience = 5 * time.Minute

// The guard leaves goroutines behind that stand still, as it must.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/jeton-dev/jeton/storage/database.(*guard).halt"))
}

// What fails of the disk while Pebble is opened does not return, nor does what would make Pebble panic in use. Everything
// else returns its error.
func TestGuardHalts(t *testing.T) {
	const logFile = vfs.DiskWriteCategory("pebble-wal")
	memory := vfs.NewMem()
	if err := memory.MkdirAll("dir", 0o755); err != nil {
		t.Fatal(err)
	}
	// Each opens its file on a disk that works, and uses it on one that does not.
	operations := map[string]func(*guard, func()) error{
		"create": func(g *guard, breaks func()) error { breaks(); return second(g.Create("dir/a.sst", "")) },
		"create a log": func(g *guard, breaks func()) error {
			breaks()
			return second(g.Create("dir/a.log", logFile))
		},
		"use a log that has failed": func(g *guard, breaks func()) error {
			f, err := g.Create("dir/a.log", logFile)
			if err != nil {
				return err
			}
			breaks()
			return errors.Join(second(f.Write([]byte("a"))), f.Sync())
		},
		"close a log that has failed": func(g *guard, breaks func()) error {
			f, err := g.Create("dir/a.log", logFile)
			if err != nil {
				return err
			}
			breaks()
			return errors.Join(f.Sync(), f.Close())
		},
		"write a log": func(g *guard, breaks func()) error {
			f, err := g.Create("dir/a.log", logFile)
			if err != nil {
				return err
			}
			breaks()
			return second(f.Write([]byte("a")))
		},
		"sync a file": func(g *guard, breaks func()) error {
			f, err := g.Create("dir/a.sst", "")
			if err != nil {
				return err
			}
			breaks()
			return f.Sync()
		},
		"sync a directory": func(g *guard, breaks func()) error {
			f, err := g.OpenDir("dir")
			if err != nil {
				return err
			}
			breaks()
			return f.Sync()
		},
		"rename": func(g *guard, breaks func()) error { breaks(); return g.Rename("dir/a", "dir/b") },
		"remove": func(g *guard, breaks func()) error { breaks(); return g.Remove("dir/a") },
		"mkdir":  func(g *guard, breaks func()) error { breaks(); return g.MkdirAll("dir", 0o755) },
		"create a marker": func(g *guard, breaks func()) error {
			breaks()
			return second(g.Create("dir/marker.manifest.000001.MANIFEST-000001", ""))
		},
		"remove a marker": func(g *guard, breaks func()) error {
			breaks()
			return g.Remove("dir/marker.manifest.000001.MANIFEST-000001")
		},
	}
	haltsInUse := []string{"create a log", "use a log that has failed", "close a log that has failed", "sync a directory"}
	for name, operate := range operations {
		for _, state := range []int32{opening, inUse, closing} {
			for _, cause := range []error{syscall.EIO, syscall.ENOSPC, syscall.EACCES} {
				halts := state == opening && files.DiskFault(cause) ||
					state == inUse && slices.Contains(haltsInUse, name) ||
					name == "sync a directory"
				t.Run(fmt.Sprintf("%s, state %d, %v", name, state, cause), func(t *testing.T) {
					var b disktest.Breakable
					failed := make(chan error, 1)
					g := &guard{FS: &disktest.Disk{FS: memory, Step: b.Step}, fail: func(err error) { failed <- err }}
					g.state.Store(state)
					breaks := func(o disktest.Operation) error { return disktest.Fault{Err: cause}.Strike(o) }
					returned := make(chan error, 1)
					go func() { returned <- operate(g, func() { b.Broken.Store(&breaks) }) }()
					select {
					case err := <-failed:
						if !halts || !errors.Is(err, cause) {
							t.Errorf("it halts because of %v", err)
						}
					case err := <-returned:
						if halts || !errors.Is(err, cause) {
							t.Errorf("it returned %v", err)
						}
					case <-time.After(patience):
						t.Fatal("it neither halted nor returned")
					}
				})
			}
		}
	}
}

func second[T any](_ T, err error) error { return err }

// What is no failure of the disk returns while Pebble is opened: Pebble asks whether files are there.
func TestGuardReturnsHarmlessErrors(t *testing.T) {
	g := &guard{FS: vfs.NewMem(), fail: func(err error) { t.Errorf("it failed because of %v", err) }}
	if _, err := g.Open("missing"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("open: %v", err)
	}
	if _, err := g.Stat("missing"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("stat: %v", err)
	}
	f, err := g.Create("file", "pebble-wal")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("read: %v", err)
	}
	if _, err := f.ReadAt(make([]byte, 1), 0); !errors.Is(err, io.EOF) {
		t.Errorf("read: %v", err)
	}
	if err := f.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
}

// What Pebble calls fatal ends the goroutine in use, its deferred calls included, and none of them while it is opened.
func TestGuardStops(t *testing.T) {
	stop := func(state int32) <-chan struct{} {
		failed, ended := make(chan error, 1), make(chan struct{})
		g := &guard{fail: func(err error) { failed <- err }}
		g.state.Store(state)
		go func() {
			defer close(ended)
			g.endGoroutine(syscall.EIO)
			t.Error("it came back")
		}()
		select {
		case err := <-failed:
			if !errors.Is(err, syscall.EIO) {
				t.Errorf("it failed because of %v", err)
			}
		case <-time.After(patience):
			t.Fatal("the store was not told")
		}
		return ended
	}
	for _, state := range []int32{inUse, closing} {
		select {
		case <-stop(state):
		case <-time.After(patience):
			t.Fatal("the goroutine does not end")
		}
	}

	const halted = "database.(*guard).halt("
	before := strings.Count(stacks(), halted)
	ended := stop(opening)
	for deadline := time.Now().Add(patience); strings.Count(stacks(), halted) == before; {
		select {
		case <-ended:
			t.Fatal("the goroutine has ended")
		default:
		}
		if time.Now().After(deadline) {
			t.Fatal("the goroutine does not stand still")
		}
	}
}

// stacks are those of all goroutines.
func stacks() string {
	text := make([]byte, 16<<20)
	return string(text[:runtime.Stack(text, true)])
}
