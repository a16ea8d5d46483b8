package node

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// A hungFS is a file system that does not answer before it is let go.
type hungFS struct {
	vfs.FS
	goOn  chan struct{}
	asked int
}

func (h *hungFS) GetDiskUsage(string) (vfs.DiskUsage, error) {
	h.asked++
	<-h.goOn
	return vfs.DiskUsage{AvailBytes: 7}, nil
}

// TestDiskGauge measures at most every few seconds, and does not wait for a disk that hangs.
func TestDiskGauge(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "x"), make([]byte, 100), 0o600); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		var running sync.WaitGroup
		fs := &hungFS{FS: vfs.Default, goOn: make(chan struct{})}
		g := &diskGauge{fs: fs, dir: dir, run: func(f func(context.Context)) bool {
			running.Go(func() { f(t.Context()) })
			return true
		}}
		for range 3 {
			asked := time.Now()
			if used, free := g.read(t.Context()); used != 0 || free != 0 || time.Since(asked) > time.Second {
				t.Errorf("%d used and %d free after %v, and the disk hangs", used, free, time.Since(asked))
			}
		}
		close(fs.goOn)
		running.Wait()
		for range 3 {
			if used, free := g.read(t.Context()); used != 100 || free != 7 || fs.asked != 1 {
				t.Errorf("%d used and %d free; measured %d times", used, free, fs.asked)
			}
		}
		<-time.After(measureEvery)
		g.read(t.Context())
		if running.Wait(); fs.asked != 2 {
			t.Errorf("measured %d times, want twice", fs.asked)
		}
	})
}
