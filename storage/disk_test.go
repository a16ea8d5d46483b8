package storage

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// An operation is something that changes a file system.
type operation struct {
	kind string // "create", "write", "sync", …
	path string
	do   func() error // all of it
	half func() error // a part of it, for a write
}

func (o operation) String() string { return o.kind + " " + o.path }

// A disk is a file system on which every operation that changes something passes through step, which may look, fail, or
// carry it out.
type disk struct {
	vfs.FS
	step func(operation) error

	reuse sync.Mutex // Pebble's file system in memory stands still for ever if it is copied in the middle of a ReuseForWrite
}

// cutPower is what is left of the disk if the power is cut now: what was synced, and a part of what was not.
func (d *disk) cutPower(percent int, seed uint64) *vfs.MemFS {
	d.reuse.Lock()
	defer d.reuse.Unlock()
	return d.FS.(*vfs.MemFS).CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: rand.New(rand.NewPCG(seed, 0))})
}

func (d *disk) Unwrap() vfs.FS { return d.FS }

func (d *disk) open(kind, path string, open func() (vfs.File, error)) (file vfs.File, err error) {
	err = d.step(operation{kind: kind, path: path, do: func() error {
		file, err = open()
		return err
	}})
	if err != nil {
		if file != nil {
			file.Close()
		}
		return nil, err
	}
	return &diskFile{File: file, disk: d, path: path}, nil
}

func (d *disk) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	return d.open("create", name, func() (vfs.File, error) { return d.FS.Create(name, category) })
}

func (d *disk) ReuseForWrite(oldname, newname string, category vfs.DiskWriteCategory) (vfs.File, error) {
	return d.open("reuse", newname, func() (vfs.File, error) {
		d.reuse.Lock()
		defer d.reuse.Unlock()
		return d.FS.ReuseForWrite(oldname, newname, category)
	})
}

// OpenDir changes nothing, but the directory can be synced.
func (d *disk) OpenDir(name string) (vfs.File, error) {
	file, err := d.FS.OpenDir(name)
	if err != nil {
		return nil, err
	}
	return &diskFile{File: file, disk: d, path: name}, nil
}

func (d *disk) Link(oldname, newname string) error {
	return d.step(operation{kind: "link", path: newname, do: func() error { return d.FS.Link(oldname, newname) }})
}

func (d *disk) Remove(name string) error {
	return d.step(operation{kind: "remove", path: name, do: func() error { return d.FS.Remove(name) }})
}

// RemoveAll removes one file after the other, as the operating system does.
func (d *disk) RemoveAll(name string) error {
	if names, err := d.FS.List(name); err == nil {
		for _, below := range names {
			if err := d.RemoveAll(d.PathJoin(name, below)); err != nil {
				return err
			}
		}
	}
	return d.step(operation{kind: "remove", path: name, do: func() error { return d.FS.RemoveAll(name) }})
}

func (d *disk) Rename(oldname, newname string) error {
	return d.step(operation{kind: "rename", path: newname, do: func() error { return d.FS.Rename(oldname, newname) }})
}

func (d *disk) MkdirAll(dir string, perm os.FileMode) error {
	return d.step(operation{kind: "mkdir", path: dir, do: func() error { return d.FS.MkdirAll(dir, perm) }})
}

func (d *disk) Lock(name string) (lock io.Closer, err error) {
	err = d.step(operation{kind: "lock", path: name, do: func() error {
		lock, err = d.FS.Lock(name)
		return err
	}})
	if err != nil && lock != nil {
		lock.Close()
		lock = nil
	}
	return lock, err
}

type diskFile struct {
	vfs.File
	disk *disk
	path string
}

func (f *diskFile) Write(p []byte) (n int, err error) {
	write := func(p []byte) func() error {
		return func() error {
			n, err = f.File.Write(p)
			return err
		}
	}
	err = f.disk.step(operation{kind: "write", path: f.path, do: write(p), half: write(p[:len(p)/2])})
	return n, err
}

func (f *diskFile) Sync() error {
	return f.disk.step(operation{kind: "sync", path: f.path, do: f.File.Sync})
}

func (f *diskFile) SyncData() error {
	return f.disk.step(operation{kind: "sync", path: f.path, do: f.File.SyncData})
}

func (f *diskFile) Close() error {
	return f.disk.step(operation{kind: "close", path: f.path, do: f.File.Close})
}

// A fault is a way in which an operation can fail.
type fault struct {
	err      error
	happened bool // it was carried out all the same
	torn     bool // a part of it was, if it can be parted
	stays    bool // whatever comes after it fails too
}

func (f fault) String() string {
	switch {
	case f.happened:
		return fmt.Sprintf("%v, but it happened", f.err)
	case f.torn:
		return fmt.Sprintf("%v, half way", f.err)
	default:
		return f.err.Error()
	}
}

// strike carries out o as f says, and fails.
func (f fault) strike(o operation) error {
	var err error
	switch {
	case f.happened:
		err = o.do()
	case f.torn && o.half != nil:
		err = o.half()
	}
	if err != nil {
		return err
	}
	return &os.PathError{Op: o.kind, Path: o.path, Err: f.err}
}
