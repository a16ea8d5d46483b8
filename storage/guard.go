package storage

import (
	"os"
	"runtime"
	"strings"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// A guard is the file system that Pebble gets: the real one, with three things made good that Pebble 2.1.7 does wrong.
//
// In use, when it cannot close one write-ahead log or create the next, it panics without the lock that it then releases,
// which nothing can recover from; when it cannot sync a directory, it panics too. Here the operation that would lead
// there does not return: the Store ends with an ErrFailed, and the goroutine, which may be the committer, stands still.
// Other errors return, and Pebble reports them: see pebbleLogger.
//
// When it cannot be opened, it cleans up what its own background work may be using, and panics. So while it is opened,
// no operation returns that has failed because of the disk.
//
// It moves the marker file that names its list of tables, the manifest, without a sync between the steps: the manifest is
// created, the marker that names it is created, the old marker is removed. A power cut could leave a later step without
// an earlier one, and with that a database that cannot be opened, or looks empty. Here the directory is synced in between.
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

// stop ends the Store because of err, and the calling goroutine with it.
func (g *guard) stop(err error) {
	if g.state.Load() == opening {
		g.halt(err)
	}
	g.fail(err)
	runtime.Goexit()
}

// halt ends the Store because of err, and stands still.
func (g *guard) halt(err error) {
	g.fail(err)
	select {}
}

// check is for the error of any operation.
func (g *guard) check(err error) error {
	if err != nil && g.state.Load() == opening && ofDisk(err) {
		g.halt(err)
	}
	return err
}

// settle makes durable what comes before a change of a marker.
func (g *guard) settle(name string) error {
	if !strings.HasPrefix(g.PathBase(name), "marker.") {
		return nil
	}
	return syncDir(g.FS, g.PathDir(name))
}

// A role is what sets a file apart from others.
type role int

const (
	plain role = iota
	log
	directory
)

// roleOf tells write-ahead logs from Pebble's other files.
func roleOf(category vfs.DiskWriteCategory) role {
	if category == "pebble-wal" {
		return log
	}
	return plain
}

func (g *guard) file(f vfs.File, role role, err error) (vfs.File, error) {
	if err == nil {
		return &guardedFile{File: f, guard: g, role: role}, nil
	}
	if role == log && g.state.Load() == inUse {
		g.halt(err)
	}
	return nil, g.check(err)
}

// A guardedFile is an open file.
type guardedFile struct {
	vfs.File
	guard  *guard
	role   role
	failed atomic.Pointer[error] // the first error of a log
}

// check is for the error of an operation on the file. The first error of a log is returned, and fails the commit that
// waits for it. If Pebble goes on to use the file, it is about to close it, and to panic when it learns of the error.
func (f *guardedFile) check(err error) error {
	if err != nil && f.role == log && !f.failed.CompareAndSwap(nil, &err) && f.guard.state.Load() == inUse {
		f.guard.halt(err)
	}
	return f.guard.check(err)
}

func (f *guardedFile) sync(err error) error {
	if err != nil && f.role == directory {
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
	if err != nil && f.role == log && f.guard.state.Load() == inUse {
		f.guard.halt(err)
	}
	return f.check(err)
}

// The rest only hands on.

func (g *guard) Unwrap() vfs.FS { return g.FS }

func (g *guard) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if err := g.settle(name); err != nil {
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
	return g.file(f, plain, err)
}

func (g *guard) OpenReadWrite(name string, category vfs.DiskWriteCategory, opts ...vfs.OpenOption) (vfs.File, error) {
	f, err := g.FS.OpenReadWrite(name, category, opts...)
	return g.file(f, plain, err)
}

func (g *guard) OpenDir(name string) (vfs.File, error) {
	f, err := g.FS.OpenDir(name)
	return g.file(f, directory, err)
}

func (g *guard) Remove(name string) error {
	if err := g.settle(name); err != nil {
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
