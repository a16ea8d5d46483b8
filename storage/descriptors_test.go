package storage

import (
	"context"
	"log/slog"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// crowdedFS has no descriptor for every other file that is opened.
type crowdedFS struct {
	vfs.FS
	opens   atomic.Int64
	refused atomic.Int64
}

func (c *crowdedFS) open(open func() (vfs.File, error)) (vfs.File, error) {
	if c.opens.Add(1)%2 == 1 {
		c.refused.Add(1)
		return nil, &os.PathError{Op: "open", Path: "some", Err: syscall.EMFILE}
	}
	return open()
}

func (c *crowdedFS) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	return c.open(func() (vfs.File, error) { return c.FS.Create(name, category) })
}

func (c *crowdedFS) ReuseForWrite(oldname, newname string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if oldname != newname {
		if err := c.Rename(oldname, newname); err != nil {
			return nil, err
		}
	}
	return c.open(func() (vfs.File, error) { return c.FS.OpenReadWrite(newname, category) })
}

func (c *crowdedFS) Open(name string, opts ...vfs.OpenOption) (vfs.File, error) {
	return c.open(func() (vfs.File, error) { return c.FS.Open(name, opts...) })
}

func (c *crowdedFS) OpenReadWrite(name string, category vfs.DiskWriteCategory, opts ...vfs.OpenOption) (vfs.File, error) {
	return c.open(func() (vfs.File, error) { return c.FS.OpenReadWrite(name, category, opts...) })
}

func (c *crowdedFS) OpenDir(name string) (vfs.File, error) {
	return c.open(func() (vfs.File, error) { return c.FS.OpenDir(name) })
}

// lines is a log.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

// TestDescriptorsRunOut opens and uses a store while every other file cannot be opened for want of a descriptor: it waits, and
// does not take that for a failure of the disk.
func TestDescriptorsRunOut(t *testing.T) {
	crowded, log := &crowdedFS{FS: vfs.NewMem()}, &lines{}
	for range 3 { // lives
		s, err := Open(Config{Dir: "/data", FS: crowded, Now: func() int64 { return 1_800_000_000_000_000_000 }, Logger: slog.New(slog.NewTextHandler(log, nil))})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Found(context.Background()); err != nil {
			t.Fatal(err)
		}
		select {
		case <-s.Failed():
			t.Fatal(s.Err())
		default:
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if crowded.refused.Load() < 10 {
		t.Errorf("only %d files could not be opened", crowded.refused.Load())
	}
	if said := log.text.String(); !strings.Contains(said, "no file descriptor is left") || strings.Contains(said, "full or failing") {
		t.Errorf("the log says\n%s", said)
	}
}
