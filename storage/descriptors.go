package storage

import (
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/jeton-dev/jeton/internal/bound"
)

const (
	// descriptorsWithin is how long an operation waits for a file descriptor once the Store is to end. Before that it waits as
	// long as there is none: connections end, and others are refused.
	descriptorsWithin = time.Minute
	// descriptorsAgain is how long it waits between two tries.
	descriptorsAgain = 20 * time.Millisecond
)

// A patientFS is a file system whose files can be opened while the process has no descriptor left: it waits until one is
// free. That is no failure of the disk, and no reason to stop.
type patientFS struct {
	vfs.FS
	log   *slog.Logger
	lines *bound.Lines

	once   sync.Once
	ending chan struct{} // closed by hurry
}

func newPatientFS(fs vfs.FS, log *slog.Logger) *patientFS {
	return &patientFS{FS: fs, log: log, lines: bound.NewLines(), ending: make(chan struct{})}
}

// hurry has operations wait for descriptorsWithin at most from now on, and from their beginning.
func (p *patientFS) hurry() { p.once.Do(func() { close(p.ending) }) }

// Unwrap is the file system below.
func (p *patientFS) Unwrap() vfs.FS { return p.FS }

// opened opens a file, and waits for a descriptor if there is none.
func (p *patientFS) opened(name string, open func() (vfs.File, error)) (vfs.File, error) {
	ending := p.ending
	var late <-chan time.Time // never, until the Store is to end
	for {
		f, err := open()
		if !bound.NoDescriptors(err) {
			return f, err
		}
		if before, may := p.lines.May("descriptors"); may {
			p.log.Error("no file descriptor is left to open a file: the node waits for one; raise the limit of open files (LimitNOFILE, ulimit -n)",
				"file", name, "more_since_last", before, "error", err)
		}
		select {
		case <-time.After(descriptorsAgain):
		case <-ending:
			ending, late = nil, time.After(descriptorsWithin)
		case <-late:
			return nil, fmt.Errorf("no file descriptor has come free for %v: raise the limit of open files (LimitNOFILE, ulimit -n): %w", descriptorsWithin, err)
		}
	}
}

func (p *patientFS) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	return p.opened(name, func() (vfs.File, error) { return p.FS.Create(name, category) })
}

func (p *patientFS) ReuseForWrite(oldname, newname string, category vfs.DiskWriteCategory) (vfs.File, error) {
	return p.opened(newname, func() (vfs.File, error) {
		f, err := p.FS.ReuseForWrite(oldname, newname, category)
		if bound.NoDescriptors(err) {
			oldname = newname // the file has its new name, and only could not be opened
			if _, serr := p.Stat(newname); serr != nil {
				err = serr
			}
		}
		return f, err
	})
}

func (p *patientFS) Open(name string, opts ...vfs.OpenOption) (vfs.File, error) {
	return p.opened(name, func() (vfs.File, error) { return p.FS.Open(name, opts...) })
}

func (p *patientFS) OpenReadWrite(name string, category vfs.DiskWriteCategory, opts ...vfs.OpenOption) (vfs.File, error) {
	return p.opened(name, func() (vfs.File, error) { return p.FS.OpenReadWrite(name, category, opts...) })
}

func (p *patientFS) OpenDir(name string) (vfs.File, error) {
	return p.opened(name, func() (vfs.File, error) { return p.FS.OpenDir(name) })
}
