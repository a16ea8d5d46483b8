package storage

import (
	"errors"
	"fmt"
	"io"
	iofs "io/fs"
	"os"
	"syscall"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// The data directory:
//
//	FORMAT       the version of everything here; it is read before anything else is touched
//	registers/   Pebble, and the lock that keeps other processes out
//	journal/     what was written last, and is not all in Pebble yet
//	cluster/     not the Store's: what the node knows of its cluster
//	RENEW        everything but FORMAT is to be deleted: see Renew
const (
	formatFile    = "FORMAT"
	formatVersion = 3 // 1 had no journal, 2 knew of one epoch only
	registersDir  = "registers"
	journalDir    = "journal"
	clusterDir    = "cluster"
	renewFile     = "RENEW"
)

// openDirectory makes sure that dir is a data directory of this version, or makes an empty one into one.
func openDirectory(fs vfs.FS, dir string) error {
	if err := fs.MkdirAll(dir, 0o700); err != nil {
		return unusable(dir, err)
	}
	path := fs.PathJoin(dir, formatFile)
	text, err := readFile(fs, path)
	switch {
	case err == nil:
		if _, err := checkFormat(text, dir, path); err != nil {
			return err
		}
	case errors.Is(err, os.ErrNotExist):
		there, err := fs.List(dir)
		if err != nil {
			return unusable(dir, err)
		}
		if err := checkEmpty(there, dir); err != nil {
			return err
		}
		if err := found(fs, dir, path); err != nil {
			return unusable(dir, err)
		}
	default:
		return unusable(dir, err)
	}
	// Also where the format file was there: whoever wrote it may have been killed before he got here.
	if err := syncDir(fs, dir); err != nil {
		return unusable(dir, err)
	}
	return finishRenewal(fs, dir)
}

// raiseFormat sees to it that an older jeton does not open dir any more. Nobody else may have it open.
func raiseFormat(fs vfs.FS, dir string) error {
	path := fs.PathJoin(dir, formatFile)
	text, err := readFile(fs, path)
	if err != nil {
		return err
	}
	if version, err := checkFormat(text, dir, path); err != nil || version == formatVersion {
		return err
	}
	if err := writeFormat(fs, path); err != nil {
		return err
	}
	return syncDir(fs, dir)
}

func readFile(fs vfs.FS, path string) (string, error) {
	f, err := fs.Open(path)
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(f)
	return string(text), errors.Join(err, f.Close())
}

// checkFormat reads the text of the format file.
func checkFormat(text, dir, path string) (version int, err error) {
	if _, err := fmt.Sscanf(text, "jeton %d\n", &version); err != nil || version < 1 {
		return 0, fmt.Errorf("%s does not begin with «jeton» and a version: is %s a data directory of jeton?", path, dir)
	}
	if version > formatVersion {
		return 0, fmt.Errorf("%w: %s has version %d, this jeton knows up to %d: run the jeton that wrote it, or a newer one",
			ErrNewerFormat, dir, version, formatVersion)
	}
	return version, nil
}

// checkEmpty makes sure that a directory without a format file is nobody's.
func checkEmpty(there []string, dir string) error {
	for _, name := range there {
		if name != formatFile+".new" && name != "lost+found" && name != clusterDir {
			return fmt.Errorf("%s holds %s and is no data directory of jeton: give an empty or new directory with --data", dir, name)
		}
	}
	return nil
}

// found makes an empty directory into a data directory, but not before the directories above it are there to stay.
func found(fs vfs.FS, dir, path string) error {
	if err := syncAbove(fs, dir); err != nil {
		return err
	}
	return writeFormat(fs, path)
}

// writeFormat writes the format file. It appears whole or not at all.
func writeFormat(fs vfs.FS, path string) error {
	f, err := fs.Create(path+".new", vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(f, "jeton %d\n", formatVersion)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return fs.Rename(path+".new", path)
}

// syncAbove syncs all directories above dir: any of them may have been made for it, by this process or by one that was
// killed. One that this user may not read was not.
func syncAbove(fs vfs.FS, dir string) error {
	for parent := fs.PathDir(dir); parent != dir; dir, parent = parent, fs.PathDir(parent) {
		if err := syncDir(fs, parent); err != nil && !errors.Is(err, iofs.ErrPermission) {
			return err
		}
	}
	return nil
}

func syncDir(fs vfs.FS, dir string) error {
	d, err := fs.OpenDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// lockRegisters makes sure that no other process has the registers open.
func lockRegisters(fs vfs.FS, dir string) (*pebble.Lock, error) {
	path := fs.PathJoin(dir, registersDir)
	if err := fs.MkdirAll(path, 0o700); err != nil {
		return nil, unusable(dir, err)
	}
	lock, err := pebble.LockDirectory(path, fs)
	if pathErr := (*os.PathError)(nil); err != nil && !errors.As(err, &pathErr) {
		// There is a file to lock, and somebody has locked it.
		return nil, fmt.Errorf("%w: %w: stop the jeton that runs on %s, or give another directory with --data", ErrLocked, err, dir)
	}
	if err != nil {
		return nil, unusable(dir, err)
	}
	return lock, nil
}

// unusable says what to do about a directory that cannot be opened because of err.
func unusable(dir string, err error) error {
	for _, forbidden := range []error{iofs.ErrPermission, syscall.EROFS, syscall.ENOTDIR} {
		if errors.Is(err, forbidden) {
			return fmt.Errorf("%w %s: %w: give one that this user may write with --data", ErrUnwritable, dir, err)
		}
	}
	if ofDisk(err) {
		return diskFailed(dir, err)
	}
	return fmt.Errorf("open the data directory %s: %w", dir, err)
}

// ofDisk says whether err means that the disk is full or failing.
func ofDisk(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EIO)
}
