package datadir

import (
	"errors"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/jeton-dev/jeton/storage/files"
)

// Renew empties a data directory, so that the next Open creates it anew, with a new identity: for a disk that turned out
// to be an old copy of itself. What the node knows of its cluster is deleted too. No process may have the directory open.
// fs nil means the operating system's. Its errors are ErrLocked, ErrUnwritable, ErrFailed, or say what else is wrong.
//
// If Renew is interrupted before it deletes anything, the directory is as it was; if later, the next Open finishes it.
func Renew(fs vfs.FS, dir string) error {
	if fs == nil {
		fs = vfs.Default
	}
	if _, err := Open(fs, dir, LowestFormat); err != nil {
		return err
	}
	lock, err := Lock(fs, dir)
	if err != nil {
		return err
	}
	f, err := fs.Create(fs.PathJoin(dir, RenewFile), vfs.WriteCategoryUnspecified)
	if err == nil {
		err = errors.Join(f.Sync(), f.Close(), files.SyncDir(fs, dir))
	}
	if err := errors.Join(err, lock.Close()); err != nil {
		return Explain(dir, err)
	}
	return finishRenewal(fs, dir)
}
