package node

import (
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// errNoPower is what the files of the cluster answer once the power was cut.
var errNoPower = errors.New("the power is cut")

// An operation is something that changes a file system.
type operation struct {
	kind string // "create", "write", "sync", …
	path string
}

// onRegisters says whether an operation is one of the registers: their journal and Pebble.
func (o operation) onRegisters() bool {
	return strings.Contains(o.path, "/registers") || strings.Contains(o.path, "/journal")
}

// A disk is one life of a node's disk: a crashable file system in memory that the power can be cut of at any instant. From
// then on nothing that the node does reaches what is left of it, and nothing that it waits for becomes durable: what the
// node says afterwards is what it could have said before.
//
// The node itself does not know. So that its goroutines end, its registers wait until it is cut off from all others, and
// then go on writing on a disk that will not be read again; the files of the cluster fail.
type disk struct {
	vfs.FS // *vfs.MemFS
	memory *vfs.MemFS

	// Set before the node is opened.
	lies  func(operation) bool  // a sync that says yes and does nothing
	fault func(operation) *flaw // nil: none

	mu     sync.RWMutex // held for reading by an operation, for writing by a cut
	left   *vfs.MemFS   // what the cut has left; nil before
	thawed chan struct{}

	armed sync.Mutex
	until int                  // operations until the trap springs; 0 for no trap
	of    func(operation) bool // which of them count
	trap  func()
}

// A flaw is a failing operation.
type flaw struct {
	err      error
	happened bool // it was carried out all the same
}

func newDisk(platter *vfs.MemFS) *disk {
	return &disk{FS: platter, memory: platter, thawed: make(chan struct{})}
}

// cut cuts the power, once: what was synced is left, and a part of what was not.
func (d *disk) cut(percent int, rng *rand.Rand) *vfs.MemFS {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.left == nil {
		d.left = d.memory.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: rng})
	}
	return d.left
}

// copied is what a backup of the disk holds that is made now.
func (d *disk) copied() *vfs.MemFS {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.memory.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(0, 0))})
}

// thaw lets writes that wait go on, on a disk that will not be read again.
func (d *disk) thaw() { close(d.thawed) }

// arm has spring called just before the n-th operation from now that counts.
func (d *disk) arm(n int, counts func(operation) bool, spring func()) {
	d.armed.Lock()
	defer d.armed.Unlock()
	d.until, d.of, d.trap = n, counts, spring
}

func (d *disk) step(o operation) {
	d.armed.Lock()
	var spring func()
	if d.until > 0 && d.of(o) {
		if d.until--; d.until == 0 {
			spring = d.trap
		}
	}
	d.armed.Unlock()
	if spring != nil {
		spring()
	}
}

// do carries an operation out, if there is power.
func (d *disk) do(kind, path string, operate func() error) error {
	o := operation{kind: kind, path: path}
	d.step(o)
	d.mu.RLock()
	if d.left != nil {
		d.mu.RUnlock()
		if !o.onRegisters() {
			return &os.PathError{Op: kind, Path: path, Err: errNoPower}
		}
		<-d.thawed
		d.mu.RLock()
	}
	defer d.mu.RUnlock()
	if kind == "sync" && d.lies != nil && d.lies(o) {
		return nil
	}
	if d.fault != nil {
		if f := d.fault(o); f != nil {
			if f.happened {
				if err := operate(); err != nil {
					return err
				}
			}
			return &os.PathError{Op: kind, Path: path, Err: f.err}
		}
	}
	return operate()
}

func (d *disk) Unwrap() vfs.FS { return d.FS }

func (d *disk) open(kind, path string, open func() (vfs.File, error)) (vfs.File, error) {
	var file vfs.File
	err := d.do(kind, path, func() (err error) {
		file, err = open()
		return err
	})
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

func (d *disk) OpenReadWrite(name string, category vfs.DiskWriteCategory, opts ...vfs.OpenOption) (vfs.File, error) {
	return d.open("open", name, func() (vfs.File, error) { return d.FS.OpenReadWrite(name, category, opts...) })
}

func (d *disk) ReuseForWrite(oldname, newname string, category vfs.DiskWriteCategory) (vfs.File, error) {
	return d.open("reuse", newname, func() (vfs.File, error) { return d.FS.ReuseForWrite(oldname, newname, category) })
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
	return d.do("link", newname, func() error { return d.FS.Link(oldname, newname) })
}

func (d *disk) Remove(name string) error {
	return d.do("remove", name, func() error { return d.FS.Remove(name) })
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
	return d.do("remove", name, func() error { return d.FS.RemoveAll(name) })
}

func (d *disk) Rename(oldname, newname string) error {
	return d.do("rename", newname, func() error { return d.FS.Rename(oldname, newname) })
}

func (d *disk) MkdirAll(dir string, perm os.FileMode) error {
	return d.do("mkdir", dir, func() error { return d.FS.MkdirAll(dir, perm) })
}

func (d *disk) Lock(name string) (lock io.Closer, err error) {
	err = d.do("lock", name, func() error {
		lock, err = d.FS.Lock(name)
		return err
	})
	return lock, err
}

// A diskFile is an open file or directory of a disk.
type diskFile struct {
	vfs.File
	disk *disk
	path string
}

// blank says whether a file is one that is laid out with zeros before it is used. They are not written here: the file
// system in memory copies a whole file at each sync.
func (f *diskFile) blank() bool { return strings.HasSuffix(f.path, "/journal/blank") }

func (f *diskFile) Write(p []byte) (n int, err error) {
	if f.blank() {
		return len(p), nil
	}
	err = f.disk.do("write", f.path, func() error {
		n, err = f.File.Write(p)
		return err
	})
	return n, err
}

func (f *diskFile) WriteAt(p []byte, at int64) (n int, err error) {
	err = f.disk.do("write", f.path, func() error {
		n, err = f.File.WriteAt(p, at)
		return err
	})
	return n, err
}

func (f *diskFile) Sync() error     { return f.disk.do("sync", f.path, f.File.Sync) }
func (f *diskFile) SyncData() error { return f.disk.do("sync", f.path, f.File.SyncData) }
