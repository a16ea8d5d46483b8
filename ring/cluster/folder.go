package cluster

import (
	"errors"
	"io"
	"io/fs"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// A folder is the directory with what a node knows of its cluster.
type folder struct {
	fs  vfs.FS
	dir string
}

// folderOf is the folder dir on a file system; nil is the operating system's.
func folderOf(fs vfs.FS, dir string) folder {
	if fs == nil {
		fs = vfs.Default
	}
	return folder{fs: fs, dir: dir}
}

// make makes the folder if it is missing, to stay: a power cut must not take the name of a directory, and with it all that
// was made durable in there.
func (f folder) make() error {
	if err := f.fs.MkdirAll(f.dir, 0o700); err != nil {
		return err
	}
	for dir, above := f.dir, f.fs.PathDir(f.dir); above != dir; dir, above = above, f.fs.PathDir(above) {
		if err := f.sync(above); err != nil && !errors.Is(err, fs.ErrPermission) { // what this user may not read he has not made
			return err
		}
	}
	return nil
}

// path is where a file in the folder is.
func (f folder) path(name string) string { return f.fs.PathJoin(f.dir, name) }

// read is what a file holds.
func (f folder) read(name string) ([]byte, error) {
	file, err := f.fs.Open(f.path(name))
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(file)
	return text, errors.Join(err, file.Close())
}

// replace makes text the content of a file: it is the old one or the new one, whenever the machine fails, and the new one
// once this returns.
func (f folder) replace(name string, text []byte) error {
	path := f.path(name)
	file, err := f.fs.Create(path+".new", vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	if err == nil {
		err = file.Sync()
	}
	if err := errors.Join(err, file.Close()); err != nil {
		return err
	}
	if err := f.fs.Rename(path+".new", path); err != nil {
		return err
	}
	return f.sync(f.dir)
}

// remove deletes a directory in the folder and what is in it, if it is there.
func (f folder) remove(name string) error {
	if err := f.fs.RemoveAll(f.path(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// sync makes durable what was made, renamed and removed in a directory.
func (f folder) sync(dir string) error {
	opened, err := f.fs.OpenDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(opened.Sync(), opened.Close())
}
