package storage

import (
	"errors"
	"fmt"
	"os"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Renew makes a data directory empty, so that the next Open gives it a new identity: for a disk that turned out to be an
// old copy of itself. What the node knows of its cluster is deleted too. No Store may have the directory open. fs nil
// means the operating system's. Its errors are ErrLocked, ErrUnwritable, ErrFailed, or say what else is wrong.
//
// If it is cut short before anything was deleted, the directory is as it was; if later, the next Open finishes it.
func Renew(fs vfs.FS, dir string) error {
	if fs == nil {
		fs = vfs.Default
	}
	if err := openDirectory(fs, dir); err != nil {
		return err
	}
	lock, err := lockRegisters(fs, dir)
	if err != nil {
		return err
	}
	f, err := fs.Create(fs.PathJoin(dir, renewFile), vfs.WriteCategoryUnspecified)
	if err == nil {
		err = errors.Join(f.Sync(), f.Close(), syncDir(fs, dir))
	}
	if err := errors.Join(err, lock.Close()); err != nil {
		return unusable(dir, err)
	}
	return finishRenewal(fs, dir)
}

// finishRenewal deletes what is to be deleted, if Renew has said so. Its word goes last, and for good after all that it
// is about.
func finishRenewal(fs vfs.FS, dir string) error {
	word := fs.PathJoin(dir, renewFile)
	if _, err := fs.Stat(word); errors.Is(err, os.ErrNotExist) {
		return nil
	} else if err != nil {
		return unusable(dir, err)
	}
	for _, name := range []string{registersDir, journalDir, clusterDir} {
		if err := fs.RemoveAll(fs.PathJoin(dir, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return unusable(dir, fmt.Errorf("delete an old copy: %w", err))
		}
	}
	err := syncDir(fs, dir)
	if err == nil {
		err = errors.Join(fs.Remove(word), syncDir(fs, dir))
	}
	if err != nil {
		return unusable(dir, err)
	}
	return nil
}
