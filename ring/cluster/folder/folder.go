// Package folder writes small files of a directory durably: the old content or the new one, whenever the machine fails.
// Start with [Of].
package folder

import (
	"errors"
	"io"
	"io/fs"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// A Folder is the directory with what a node knows of its cluster.
type Folder struct {
	FS  vfs.FS
	Dir string
}

// Of is the folder dir on a file system; nil is the operating system's.
func Of(fs vfs.FS, dir string) Folder {
	if fs == nil {
		fs = vfs.Default
	}
	return Folder{FS: fs, Dir: dir}
}

// Make makes the folder if it is missing, to stay: a power cut must not take the name of a directory, and with it all that
// was made durable in there.
func (f Folder) Make() error {
	if err := f.FS.MkdirAll(f.Dir, 0o700); err != nil {
		return err
	}
	for dir, above := f.Dir, f.FS.PathDir(f.Dir); above != dir; dir, above = above, f.FS.PathDir(above) {
		if err := f.Sync(above); err != nil && !errors.Is(err, fs.ErrPermission) { // what this user may not read he has not made
			return err
		}
	}
	return nil
}

// Path is where a file in the folder is.
func (f Folder) Path(name string) string { return f.FS.PathJoin(f.Dir, name) }

// Read is what a file holds.
func (f Folder) Read(name string) ([]byte, error) {
	file, err := f.FS.Open(f.Path(name))
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(file)
	return text, errors.Join(err, file.Close())
}

// Replace makes text the content of a file: it is the old one or the new one, whenever the machine fails, and the new one
// once this returns.
func (f Folder) Replace(name string, text []byte) error {
	path := f.Path(name)
	file, err := f.FS.Create(path+".new", vfs.WriteCategoryUnspecified)
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
	if err := f.FS.Rename(path+".new", path); err != nil {
		return err
	}
	return f.Sync(f.Dir)
}

// Remove deletes a directory in the folder and what is in it, if it is there.
func (f Folder) Remove(name string) error {
	if err := f.FS.RemoveAll(f.Path(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Sync makes durable what was made, renamed and removed in a directory.
func (f Folder) Sync(dir string) error {
	opened, err := f.FS.OpenDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(opened.Sync(), opened.Close())
}
