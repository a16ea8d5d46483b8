// Package secret reads files that hold secrets, and refuses those that anybody on the machine may read. Start with [Read].
package secret

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// ErrOpen is in the error of a file that others may read or write.
var ErrOpen = errors.New("others on this machine may read or write it")

// others are the permissions of whoever is neither the owner of a file nor in its group. The group may read: that is how
// secrets reach a process that does not own them, as in Kubernetes with fsGroup and defaultMode 0440. It may not write.
const others = fs.FileMode(0o026)

// Read reads a file of up to most bytes; of a longer one it returns one byte more. Links are followed: what counts is the file
// that they lead to. Unless insecure is set, it refuses a file that is open to others: one that others may read or
// write, or its group may write. The error says what mends that. Pipes and the like pass.
func Read(path string, most int64, insecure bool) ([]byte, error) {
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
	return io.ReadAll(io.LimitReader(file, most+1))
}

// Check refuses a file by what is known of it: see [Read]. It does not open it.
func Check(path string, info fs.FileInfo) error {
	mode := info.Mode()
	if !mode.IsRegular() || mode.Perm()&others == 0 {
		return nil
	}
	return fmt.Errorf("%s: has mode %04o, so %w: run `chmod g-w,o= %s` (for a Kubernetes secret, set fsGroup and defaultMode: 0440), or say --insecure",
		path, mode.Perm(), ErrOpen, path)
}
