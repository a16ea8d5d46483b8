// Package secret reads files that hold secrets, and refuses those that any user of the machine may read. Start with [Read].
package secret

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// ErrOpen means that other users may read or write the file.
var ErrOpen = errors.New("others on this machine may read or write it")

// others are the permissions of users that are neither the owner of a file nor in its group, and the group's permission to
// write. The group may read: so secrets reach a process that does not own them, as in Kubernetes with fsGroup and defaultMode
// 0440.
const others = fs.FileMode(0o026)

// Read reads a file of up to maxSize bytes; of a longer one it returns maxSize+1 bytes. It follows links and checks the file
// itself. Unless insecure is set, it refuses a file that other users may read or write, or that its group may write; the error
// says how to change that. Pipes and devices are not checked.
func Read(path string, maxSize int64, insecure bool) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // it is only read
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if err := Check(path, info); err != nil && !insecure {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(file, maxSize+1))
}

// Check refuses a file by its info, as [Read] does, without opening it.
func Check(path string, info fs.FileInfo) error {
	mode := info.Mode()
	if !mode.IsRegular() || mode.Perm()&others == 0 {
		return nil
	}
	return fmt.Errorf("%s: has mode %04o, so %w: run `chmod g-w,o= %s` (for a Kubernetes secret, set fsGroup and defaultMode: 0440), or say --insecure",
		path, mode.Perm(), ErrOpen, path)
}
