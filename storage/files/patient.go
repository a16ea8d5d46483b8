package files

import (
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/jeton-dev/jeton/internal/bound"
)

const (
	// giveUpAfter is how long an operation waits for a file descriptor after StopWaiting. Before, it waits without a
	// limit: connections close and free theirs.
	giveUpAfter = time.Minute
	// retryEvery is the pause between two attempts.
	retryEvery = 20 * time.Millisecond
)

// A Patient is a file system that waits for a free file descriptor instead of failing when the process has none left:
// that is no failure of the disk, and no reason to stop the node.
type Patient struct {
	vfs.FS
	log      *slog.Logger
	logLimit *bound.Lines

	once     sync.Once
	stopping chan struct{} // closed by StopWaiting
}

// NewPatient wraps fs, and reports to log when it waits.
func NewPatient(fs vfs.FS, log *slog.Logger) *Patient {
	return &Patient{FS: fs, log: log, logLimit: bound.NewLines(), stopping: make(chan struct{})}
}

// StopWaiting lets every operation, from now on or from its own start, wait for at most a minute.
func (p *Patient) StopWaiting() { p.once.Do(func() { close(p.stopping) }) }

// Unwrap returns the file system below.
func (p *Patient) Unwrap() vfs.FS { return p.FS }

// retry calls open until it does not fail for want of a descriptor.
func (p *Patient) retry(name string, open func() (vfs.File, error)) (vfs.File, error) {
	stopping := p.stopping
	var timeout <-chan time.Time // nil until StopWaiting
	for {
		f, err := open()
		if !bound.NoDescriptors(err) {
			return f, err
		}
		if before, may := p.logLimit.May("descriptors"); may {
			p.log.Error("no file descriptor is left to open a file: the node waits for one; raise the limit of open files (LimitNOFILE, ulimit -n)",
				"file", name, "more_since_last", before, "error", err)
		}
		select {
		case <-time.After(retryEvery):
		case <-stopping:
			stopping, timeout = nil, time.After(giveUpAfter)
		case <-timeout:
			return nil, fmt.Errorf("no file descriptor became free within %v: raise the limit of open files (LimitNOFILE, ulimit -n): %w", giveUpAfter, err)
		}
	}
}

// Create creates a file for writing.
func (p *Patient) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	return p.retry(name, func() (vfs.File, error) { return p.FS.Create(name, category) })
}

// ReuseForWrite renames a file and opens it for writing.
func (p *Patient) ReuseForWrite(oldname, newname string, category vfs.DiskWriteCategory) (vfs.File, error) {
	return p.retry(newname, func() (vfs.File, error) {
		f, err := p.FS.ReuseForWrite(oldname, newname, category)
		if bound.NoDescriptors(err) {
			oldname = newname // the rename succeeded, and only the open failed
			if _, serr := p.Stat(newname); serr != nil {
				err = serr
			}
		}
		return f, err
	})
}

// Open opens a file for reading.
func (p *Patient) Open(name string, opts ...vfs.OpenOption) (vfs.File, error) {
	return p.retry(name, func() (vfs.File, error) { return p.FS.Open(name, opts...) })
}

// OpenReadWrite opens a file for reading and writing.
func (p *Patient) OpenReadWrite(name string, category vfs.DiskWriteCategory, opts ...vfs.OpenOption) (vfs.File, error) {
	return p.retry(name, func() (vfs.File, error) { return p.FS.OpenReadWrite(name, category, opts...) })
}

// OpenDir opens a directory, to sync it.
func (p *Patient) OpenDir(name string) (vfs.File, error) {
	return p.retry(name, func() (vfs.File, error) { return p.FS.OpenDir(name) })
}
