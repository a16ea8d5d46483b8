// Package files has what the storage packages do with files beyond a vfs.FS: small files read whole, directories made
// durable, and errors of the disk told from others. [Patient] is a file system that waits when the process has run out of
// file descriptors.
package files

import (
	"errors"
	"io"
	iofs "io/fs"
	"syscall"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Read reads a whole file.
func Read(fs vfs.FS, path string) (string, error) {
	f, err := fs.Open(path)
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(f)
	return string(text), errors.Join(err, f.Close())
}

// SyncDir makes durable which files are in dir.
func SyncDir(fs vfs.FS, dir string) error {
	d, err := fs.OpenDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// SyncParents syncs all directories above dir: this process, or an earlier one that was killed, may have created any of
// them. A directory that this user may not read was not created by it, and is left out.
func SyncParents(fs vfs.FS, dir string) error {
	for parent := fs.PathDir(dir); parent != dir; dir, parent = parent, fs.PathDir(parent) {
		if err := SyncDir(fs, parent); err != nil && !errors.Is(err, iofs.ErrPermission) {
			return err
		}
	}
	return nil
}

// DiskFault reports whether err means that the disk is full or failing.
func DiskFault(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EIO)
}
