// Package datadir looks after a node's data directory: its format version, the lock that keeps other processes out, and
// its renewal. It explains an error of the directory to the operator.
//
//	FORMAT       the version of everything here; it is read before anything else is touched
//	registers/   Pebble, and the lock that keeps other processes out
//	journal/     what was written last, and is not all in Pebble yet
//	cluster/     what the node knows of its cluster; not the storage packages'
//	RENEW        everything but FORMAT is to be deleted: see Renew
//	PROBE        what measures the disk writes, and deletes
//
// Start with [Open].
package datadir

import (
	"errors"
	"fmt"
	iofs "io/fs"
	"os"
	"syscall"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/jeton-dev/jeton/ring/level"
	"github.com/jeton-dev/jeton/storage/files"
)

// The names in a data directory.
const (
	FormatFile   = "FORMAT"
	RegistersDir = "registers"
	JournalDir   = "journal"
	ClusterDir   = "cluster"
	RenewFile    = "RENEW"
)

// ProbeFile is written and deleted by programs that measure the disk. One that was left behind by a program that was killed does not make an
// empty directory another program's.
const ProbeFile = "PROBE"

// The formats before those that level.Format tells: 1 had no journal, 2 had a single epoch. LowestFormat is what a new directory of a node
// of a cluster has; it is raised when the node hears that its cluster is at a level with a higher one. That of a node alone has NewestFormat.
var (
	LowestFormat = level.Format(level.First)
	NewestFormat = level.Format(level.Known().Newest)
)

// The errors of a data directory.
var (
	// ErrLocked means that another process has the data directory open.
	ErrLocked = errors.New("the data directory is in use by another process")
	// ErrNewerFormat means that a newer jeton has written the data directory.
	ErrNewerFormat = errors.New("the data directory is of a newer format")
	// ErrUnwritable means that the data directory cannot be read and written.
	ErrUnwritable = errors.New("cannot use the data directory")
	// ErrFailed means that the disk is full or failing.
	ErrFailed = errors.New("the disk is full or failing")
)

// Open makes sure that dir is a data directory of a known version, or creates one of that format in an empty or missing dir. It finishes
// a renewal that was interrupted. It returns the format that the directory has.
func Open(fs vfs.FS, dir string, format int) (has int, err error) {
	if err := fs.MkdirAll(dir, 0o700); err != nil {
		return 0, Explain(dir, err)
	}
	path := fs.PathJoin(dir, FormatFile)
	text, err := files.Read(fs, path)
	switch {
	case err == nil:
		if format, err = checkFormat(text, dir, path); err != nil {
			return 0, err
		}
	case errors.Is(err, os.ErrNotExist):
		names, err := fs.List(dir)
		if err != nil {
			return 0, Explain(dir, err)
		}
		if err := checkEmpty(names, dir); err != nil {
			return 0, err
		}
		if err := create(fs, dir, path, format); err != nil {
			return 0, Explain(dir, err)
		}
	default:
		return 0, Explain(dir, err)
	}
	// Also where the format file was there: the process that wrote it may have been killed before this sync.
	if err := files.SyncDir(fs, dir); err != nil {
		return 0, Explain(dir, err)
	}
	return format, finishRenewal(fs, dir)
}

// RaiseFormat raises the version in dir to a format, unless it is as high, so that a jeton that does not know that one refuses to open it. The
// caller holds the lock.
func RaiseFormat(fs vfs.FS, dir string, to int) error {
	path := fs.PathJoin(dir, FormatFile)
	text, err := files.Read(fs, path)
	if err != nil {
		return err
	}
	if version, err := checkFormat(text, dir, path); err != nil || version >= to {
		return err
	}
	if err := writeFormat(fs, path, to); err != nil {
		return err
	}
	return files.SyncDir(fs, dir)
}

// checkFormat parses the text of the format file.
func checkFormat(text, dir, path string) (version int, err error) {
	if _, err := fmt.Sscanf(text, "jeton %d\n", &version); err != nil || version < 1 {
		return 0, fmt.Errorf("%s does not begin with «jeton» and a version: is %s a data directory of jeton?", path, dir)
	}
	if version > NewestFormat {
		return 0, fmt.Errorf("%w: %s has version %d, this jeton knows up to %d: run the jeton that wrote it, or a newer one",
			ErrNewerFormat, dir, version, NewestFormat)
	}
	return version, nil
}

// checkEmpty makes sure that a directory without a format file holds no files of another program.
func checkEmpty(names []string, dir string) error {
	for _, name := range names {
		if name != FormatFile+".new" && name != "lost+found" && name != ClusterDir && name != ProbeFile {
			return fmt.Errorf("%s holds %s and is no data directory of jeton: give an empty or new directory with --data", dir, name)
		}
	}
	return nil
}

// create turns an empty directory into a data directory, after it has made the directories above it durable.
func create(fs vfs.FS, dir, path string, format int) error {
	if err := files.SyncParents(fs, dir); err != nil {
		return err
	}
	return writeFormat(fs, path, format)
}

// writeFormat writes the format file. It appears whole or not at all.
func writeFormat(fs vfs.FS, path string, format int) error {
	f, err := fs.Create(path+".new", vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(f, "jeton %d\n", format)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return fs.Rename(path+".new", path)
}

// finishRenewal deletes the content of dir if the renewal file is there. That file goes last, after the rest is durably
// deleted.
func finishRenewal(fs vfs.FS, dir string) error {
	marker := fs.PathJoin(dir, RenewFile)
	if _, err := fs.Stat(marker); errors.Is(err, os.ErrNotExist) {
		return nil
	} else if err != nil {
		return Explain(dir, err)
	}
	for _, name := range []string{RegistersDir, JournalDir, ClusterDir} {
		if err := fs.RemoveAll(fs.PathJoin(dir, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return Explain(dir, fmt.Errorf("delete an old copy: %w", err))
		}
	}
	err := files.SyncDir(fs, dir)
	if err == nil {
		err = errors.Join(fs.Remove(marker), files.SyncDir(fs, dir))
	}
	if err != nil {
		return Explain(dir, err)
	}
	return nil
}

// Lock keeps other processes from opening the registers in dir, until the lock is closed.
func Lock(fs vfs.FS, dir string) (*pebble.Lock, error) {
	path := fs.PathJoin(dir, RegistersDir)
	if err := fs.MkdirAll(path, 0o700); err != nil {
		return nil, Explain(dir, err)
	}
	lock, err := pebble.LockDirectory(path, fs)
	if pathErr := (*os.PathError)(nil); err != nil && !errors.As(err, &pathErr) {
		// The file to lock exists, and another process holds its lock.
		return nil, fmt.Errorf("%w: %w: stop the jeton that runs on %s, or give another directory with --data", ErrLocked, err, dir)
	}
	if err != nil {
		return nil, Explain(dir, err)
	}
	return lock, nil
}

// Explain adds to err, which opening dir returned, what the operator can do about it.
func Explain(dir string, err error) error {
	for _, forbidden := range []error{iofs.ErrPermission, syscall.EROFS, syscall.ENOTDIR} {
		if errors.Is(err, forbidden) {
			return fmt.Errorf("%w %s: %w: name a directory that this user can write to (--data)", ErrUnwritable, dir, err)
		}
	}
	if files.DiskFault(err) {
		return DiskFailed(dir, err)
	}
	return fmt.Errorf("open the data directory %s: %w", dir, err)
}

// DiskFailed is the ErrFailed for err, with what the operator can do about it.
func DiskFailed(dir string, err error) error {
	return fmt.Errorf("%w: %w: make room on the disk of %s or replace it, then start again; nothing that was answered is lost",
		ErrFailed, err, dir)
}
