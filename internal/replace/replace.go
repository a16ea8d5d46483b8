// Package replace puts a file in the place of another one, whole or not at all. It is for files of people, on the file system of the
// operating system. The one function is [File].
package replace

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// File writes text to the file at path: it makes another file beside it, and renames that. Whenever the program or the machine stops, the
// file has what it had before, or text; on return it is on disk with text, or there is an error and nothing was left behind. Where before is
// nil, only the owner may read the new file; otherwise it has the owner and the permissions of before, since another user may have to read it.
//
// What has the name and is no file, such as a link, a device or a folder, stays. Errors name path, not the file that is renamed.
func File(path string, text []byte, before fs.FileInfo) error {
	if is, err := os.Lstat(path); err == nil && !is.Mode().IsRegular() {
		return &fs.PathError{Op: "replace", Path: path, Err: errNoFile}
	}
	folder, err := os.Open(filepath.Dir(path)) // before anything is replaced: who may not read it cannot make the rename durable
	if err != nil {
		return naming(path, err)
	}
	defer folder.Close() //nolint:errcheck // it was only read

	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*") // for its owner alone
	if err != nil {
		return naming(path, err)
	}
	_, err = f.Write(text)
	if err == nil && before != nil {
		err = copyOwner(f, before)
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(naming(path, err), naming(path, f.Close())); err == nil {
		err = naming(path, os.Rename(f.Name(), path))
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return naming(path, folder.Sync()) // so that the rename survives a power cut
}

// errNoFile is about a link, a device or a folder in the place of a file.
var errNoFile = errors.New("it is no regular file: name one")

// naming is an error of the file that is renamed as one of path.
func naming(path string, err error) error {
	if of, is := errors.AsType[*os.LinkError](err); is {
		return &fs.PathError{Op: of.Op, Path: path, Err: of.Err}
	}
	if of, is := errors.AsType[*fs.PathError](err); is {
		return &fs.PathError{Op: of.Op, Path: path, Err: of.Err}
	}
	return err
}

// copyOwner gives a file the owner and the permissions of the one that it replaces.
func copyOwner(f *os.File, before fs.FileInfo) error {
	if was, ok := before.Sys().(*syscall.Stat_t); ok && (int(was.Uid) != os.Geteuid() || int(was.Gid) != os.Getegid()) {
		if err := f.Chown(int(was.Uid), int(was.Gid)); err != nil {
			return err
		}
	}
	return f.Chmod(before.Mode().Perm())
}
