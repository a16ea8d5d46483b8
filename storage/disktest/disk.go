// Package disktest has file systems that fail, for the tests of the storage packages. [Disk] lets a test see, fail or carry
// out every operation that changes it.
package disktest

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// An Operation is a call that changes a file system.
type Operation struct {
	Kind string // "create", "write", "sync", …
	Path string
	Do   func() error // all of it
	Half func() error // a part of it, for a write
}

func (o Operation) String() string { return o.Kind + " " + o.Path }

// A Disk is a file system that passes every Operation to Step, which may observe it, fail it, or carry it out.
type Disk struct {
	vfs.FS
	Step func(Operation) error

	reuse sync.Mutex // Pebble's file system in memory stands still for ever if it is copied in the middle of a ReuseForWrite
}

// CutPower is what is left of the disk if the power is cut now: what was synced, and that percentage of what was not. FS
// must be a vfs.MemFS.
func (d *Disk) CutPower(percent int, seed uint64) *vfs.MemFS {
	d.reuse.Lock()
	defer d.reuse.Unlock()
	memory, ok := d.FS.(*vfs.MemFS)
	if !ok {
		panic(fmt.Sprintf("disktest: cannot cut the power of a %T", d.FS))
	}
	return memory.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: rand.New(rand.NewPCG(seed, 0))})
}

// Unwrap returns the file system below.
func (d *Disk) Unwrap() vfs.FS { return d.FS }

func (d *Disk) open(kind, path string, open func() (vfs.File, error)) (file vfs.File, err error) {
	err = d.Step(Operation{Kind: kind, Path: path, Do: func() error {
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

// Create creates a file.
func (d *Disk) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	return d.open("create", name, func() (vfs.File, error) { return d.FS.Create(name, category) })
}

// ReuseForWrite renames a file and opens it for writing.
func (d *Disk) ReuseForWrite(oldname, newname string, category vfs.DiskWriteCategory) (vfs.File, error) {
	return d.open("reuse", newname, func() (vfs.File, error) {
		d.reuse.Lock()
		defer d.reuse.Unlock()
		return d.FS.ReuseForWrite(oldname, newname, category)
	})
}

// OpenDir changes nothing, but the directory that it opens can be synced.
func (d *Disk) OpenDir(name string) (vfs.File, error) {
	file, err := d.FS.OpenDir(name)
	if err != nil {
		return nil, err
	}
	return &diskFile{File: file, disk: d, path: name}, nil
}

// Link adds a name to a file.
func (d *Disk) Link(oldname, newname string) error {
	return d.Step(Operation{Kind: "link", Path: newname, Do: func() error { return d.FS.Link(oldname, newname) }})
}

// Remove removes a file.
func (d *Disk) Remove(name string) error {
	return d.Step(Operation{Kind: "remove", Path: name, Do: func() error { return d.FS.Remove(name) }})
}

// RemoveAll removes one file after another, as the operating system does.
func (d *Disk) RemoveAll(name string) error {
	if names, err := d.FS.List(name); err == nil {
		for _, below := range names {
			if err := d.RemoveAll(d.PathJoin(name, below)); err != nil {
				return err
			}
		}
	}
	return d.Step(Operation{Kind: "remove", Path: name, Do: func() error { return d.FS.RemoveAll(name) }})
}

// Rename renames a file.
func (d *Disk) Rename(oldname, newname string) error {
	return d.Step(Operation{Kind: "rename", Path: newname, Do: func() error { return d.FS.Rename(oldname, newname) }})
}

// MkdirAll makes a directory and those above it.
func (d *Disk) MkdirAll(dir string, perm os.FileMode) error {
	return d.Step(Operation{Kind: "mkdir", Path: dir, Do: func() error { return d.FS.MkdirAll(dir, perm) }})
}

// Lock locks a file.
func (d *Disk) Lock(name string) (lock io.Closer, err error) {
	err = d.Step(Operation{Kind: "lock", Path: name, Do: func() error {
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
	disk *Disk
	path string
}

func (f *diskFile) Write(p []byte) (n int, err error) {
	write := func(p []byte) func() error {
		return func() error {
			n, err = f.File.Write(p)
			return err
		}
	}
	err = f.disk.Step(Operation{Kind: "write", Path: f.path, Do: write(p), Half: write(p[:len(p)/2])})
	return n, err
}

func (f *diskFile) Sync() error {
	return f.disk.Step(Operation{Kind: "sync", Path: f.path, Do: f.File.Sync})
}

func (f *diskFile) SyncData() error {
	return f.disk.Step(Operation{Kind: "sync", Path: f.path, Do: f.File.SyncData})
}

func (f *diskFile) Close() error {
	return f.disk.Step(Operation{Kind: "close", Path: f.path, Do: f.File.Close})
}

// A Fault is a way in which an Operation can fail.
type Fault struct {
	Err      error
	Happened bool // it was carried out all the same
	Torn     bool // a part of it was, if it can be parted
	Stays    bool // whatever comes after it fails too
}

func (f Fault) String() string {
	switch {
	case f.Happened:
		return fmt.Sprintf("%v, but it happened", f.Err)
	case f.Torn:
		return fmt.Sprintf("%v, half way", f.Err)
	default:
		return f.Err.Error()
	}
}

// Strike carries out o as f says, and fails.
func (f Fault) Strike(o Operation) error {
	var err error
	switch {
	case f.Happened:
		err = o.Do()
	case f.Torn && o.Half != nil:
		err = o.Half()
	}
	if err != nil {
		return err
	}
	return &os.PathError{Op: o.Kind, Path: o.Path, Err: f.Err}
}

// A Breakable works until Broken is set, which then says which operations fail and how.
type Breakable struct {
	Broken atomic.Pointer[func(Operation) error]
}

// Step is for Disk.Step.
func (b *Breakable) Step(o Operation) error {
	if broken := b.Broken.Load(); broken != nil {
		return (*broken)(o)
	}
	return o.Do()
}
