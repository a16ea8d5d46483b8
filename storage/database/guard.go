package database

import (
	"os"
	"runtime"
	"strings"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/jeton-dev/jeton/storage/files"
)

// A guard is the file system that Pebble works on: the real one, with workarounds for three faults of Pebble 2.1.7.
//
// In use, if Pebble cannot close one write-ahead log or create the next, it panics without the lock that it then releases,
// which nothing can recover from; if it cannot sync a directory, it panics too. The guard's operation does not return
// then: the store ends with an ErrFailed, and the goroutine, which may be the committer, blocks for ever. Other errors are
// returned, and Pebble reports them: see logger.
//
// If Pebble cannot be opened, it frees what its own background work may still be using, and panics. So while it is
// opened, no operation returns that has failed because of the disk.
//
// Pebble moves the marker file that names its list of tables, the manifest, without a sync between the steps: it creates
// the manifest, creates the marker that names it, and removes the old marker. A power cut could leave a later step without
// an earlier one: a database that cannot be opened, or looks empty. The guard syncs the directory in between.
type guard struct {
	vfs.FS
	fail  func(error)
	state atomic.Int32 // opening, inUse, closing
}

const (
	opening = iota
	inUse
	closing
)

// endGoroutine ends the store because of err, and the calling goroutine with it.
func (g *guard) endGoroutine(err error) {
	if g.state.Load() == opening {
		g.halt(err)
	}
	g.fail(err)
	runtime.Goexit()
}

// halt ends the store because of err, and blocks for ever.
func (g *guard) halt(err error) {
	g.fail(err)
	select {}
}

// check returns the error of an operation, or does not return if Pebble must not see it.
func (g *guard) check(err error) error {
	if err != nil && g.state.Load() == opening && files.DiskFault(err) {
		g.halt(err)
	}
	return err
}

// syncBeforeMarker syncs the directory if name is a marker, which is about to be created or removed.
func (g *guard) syncBeforeMarker(name string) error {
	if !strings.HasPrefix(g.PathBase(name), "marker.") {
		return nil
	}
	return files.SyncDir(g.FS, g.PathDir(name))
}

// A fileRole is what the guard must know of a file.
type fileRole int

const (
	otherFile fileRole = iota
	walFile
	directoryFile
)

// roleOf tells write-ahead logs from Pebble's other files.
func roleOf(category vfs.DiskWriteCategory) fileRole {
	if category == "pebble-wal" {
		return walFile
	}
	return otherFile
}

func (g *guard) file(f vfs.File, role fileRole, err error) (vfs.File, error) {
	if err == nil {
		return &guardedFile{File: f, guard: g, role: role}, nil
	}
	if role == walFile && g.state.Load() == inUse {
		g.halt(err)
	}
	return nil, g.check(err)
}

// A guardedFile is an open file.
type guardedFile struct {
	vfs.File
	guard  *guard
	role   fileRole
	failed atomic.Pointer[error] // the first error of a log
}

// check returns the error of an operation on the file. The first error of a log is returned, and fails the commit that
// waits for it. If Pebble uses the log again after that, it is about to close it, and would panic at the next error.
func (f *guardedFile) check(err error) error {
	if err != nil && f.role == walFile && !f.failed.CompareAndSwap(nil, &err) && f.guard.state.Load() == inUse {
		f.guard.halt(err)
	}
	return f.guard.check(err)
}

func (f *guardedFile) sync(err error) error {
	if err != nil && f.role == directoryFile {
		f.guard.halt(err)
	}
	return f.check(err)
}

func (f *guardedFile) Sync() error     { return f.sync(f.File.Sync()) }
func (f *guardedFile) SyncData() error { return f.sync(f.File.SyncData()) }

func (f *guardedFile) Close() error {
	err := f.File.Close()
	if before := f.failed.Load(); before != nil {
		err = *before
	}
	if err != nil && f.role == walFile && f.guard.state.Load() == inUse {
		f.guard.halt(err)
	}
	return f.check(err)
}

// The rest passes every operation on, and its error through check.

func (g *guard) Unwrap() vfs.FS { return g.FS }

func (g *guard) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if err := g.syncBeforeMarker(name); err != nil {
		return nil, g.check(err)
	}
	f, err := g.FS.Create(name, category)
	return g.file(f, roleOf(category), err)
}

func (g *guard) ReuseForWrite(oldname, newname string, category vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := g.FS.ReuseForWrite(oldname, newname, category)
	return g.file(f, roleOf(category), err)
}

func (g *guard) Open(name string, opts ...vfs.OpenOption) (vfs.File, error) {
	f, err := g.FS.Open(name, opts...)
	return g.file(f, otherFile, err)
}

func (g *guard) OpenReadWrite(name string, category vfs.DiskWriteCategory, opts ...vfs.OpenOption) (vfs.File, error) {
	f, err := g.FS.OpenReadWrite(name, category, opts...)
	return g.file(f, otherFile, err)
}

func (g *guard) OpenDir(name string) (vfs.File, error) {
	f, err := g.FS.OpenDir(name)
	return g.file(f, directoryFile, err)
}

func (g *guard) Remove(name string) error {
	if err := g.syncBeforeMarker(name); err != nil {
		return g.check(err)
	}
	return g.check(g.FS.Remove(name))
}

func (g *guard) Rename(oldname, newname string) error {
	return g.check(g.FS.Rename(oldname, newname))
}

func (g *guard) MkdirAll(dir string, perm os.FileMode) error {
	return g.check(g.FS.MkdirAll(dir, perm))
}

func (g *guard) List(dir string) ([]string, error) {
	names, err := g.FS.List(dir)
	return names, g.check(err)
}

func (g *guard) Stat(name string) (vfs.FileInfo, error) {
	info, err := g.FS.Stat(name)
	return info, g.check(err)
}

func (f *guardedFile) Read(p []byte) (int, error) {
	n, err := f.File.Read(p)
	return n, f.guard.check(err)
}

func (f *guardedFile) ReadAt(p []byte, off int64) (int, error) {
	n, err := f.File.ReadAt(p, off)
	return n, f.guard.check(err)
}

func (f *guardedFile) Write(p []byte) (int, error) {
	n, err := f.File.Write(p)
	return n, f.check(err)
}

func (f *guardedFile) WriteAt(p []byte, off int64) (int, error) {
	n, err := f.File.WriteAt(p, off)
	return n, f.check(err)
}

func (f *guardedFile) SyncTo(length int64) (bool, error) {
	full, err := f.File.SyncTo(length)
	return full, f.check(err)
}

func (f *guardedFile) Stat() (vfs.FileInfo, error) {
	info, err := f.File.Stat()
	return info, f.check(err)
}
