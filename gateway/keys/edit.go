package keys

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/jeton-dev/jeton/internal/replace"
)

// header is the first line of a file that Add makes.
const header = "# API keys by their SHA-256, one a line: jeton keys --help.\n"

// Add adds a key to a file, and makes the file if there is none, for its owner alone to read. It is an error when the label or
// the digest is there already, or when anything in the file is wrong. On return the file is on disk.
func Add(path string, k Key) error {
	if err := k.Validate(); err != nil {
		return err
	}
	return edit(path, func(text []byte, keys []placed) ([]byte, error) {
		for _, other := range keys {
			switch {
			case other.Label == k.Label:
				return nil, at(path, other.line, wrong(fieldLabel, fmt.Sprintf("%q is already in use: choose another label, or revoke that key first", k.Label)))
			case other.Digest == k.Digest:
				return nil, at(path, other.line, wrong(fieldDigest, fmt.Sprintf("is already that of the key %s", other.Label)))
			}
		}
		if len(text) == 0 {
			text = []byte(header)
		}
		if text[len(text)-1] != '\n' {
			text = append(text, '\n')
		}
		return append(text, k.line()...), nil
	})
}

// ErrUnknown says that no key has a label.
var ErrUnknown = errors.New("no key has this label")

// Revoke removes the key with a label from a file, and returns it. On return the file is on disk. In the place of the key it has a
// comment with the label, the digest and now: see [Set.Revoked]. All other lines stay as they were.
func Revoke(path, label string, now time.Time) (Key, error) {
	if _, err := os.Stat(path); err != nil {
		return Key{}, err
	}
	var revoked Key
	err := edit(path, func(text []byte, keys []placed) ([]byte, error) {
		i := slices.IndexFunc(keys, func(k placed) bool { return k.Label == label })
		if i < 0 {
			return nil, fmt.Errorf("%s: %q: %w", path, label, ErrUnknown)
		}
		revoked = *keys[i].Key
		var kept []byte
		n := 0
		for line := range bytes.Lines(text) {
			if n++; n == keys[i].line {
				line = revoked.revocation(now)
			}
			kept = append(kept, line...)
		}
		return kept, nil
	})
	return revoked, err
}

// edit replaces the text of a file by the result of change; it creates the file if there is none. It holds a lock on the folder, so
// that only one edit of its files runs at a time.
func edit(path string, change func(text []byte, keys []placed) ([]byte, error)) (err error) {
	if err := checkFolder(path); err != nil {
		return err
	}
	if path, err = linked(path); err != nil {
		return err
	}
	folder, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, folder.Close()) }() // which unlocks it
	if err := syscall.Flock(int(folder.Fd()), syscall.LOCK_EX); err != nil {
		return fmt.Errorf("lock %s: %w", folder.Name(), err)
	}
	info, err := os.Stat(path)
	var was bytes.Buffer
	var has contents
	switch {
	case errors.Is(err, fs.ErrNotExist):
		info = nil
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is not a regular file: name one", path)
	case info.Mode().Perm()&writtenByOthers != 0:
		return writableError(path, info)
	default:
		var problem error
		if has, _, problem, err = parseFile(path, info, &was); err != nil {
			return err
		}
		if problem != nil && !errors.Is(problem, errEmpty) {
			return problem
		}
	}
	text, err := change(was.Bytes(), has.keys)
	if err != nil {
		return err
	}
	return replace.File(path, text, info)
}

// linked follows links from path to the file that an edit replaces. A link without a target is an error: the target may be on a
// volume that is mounted later.
func linked(path string) (string, error) {
	target, err := filepath.EvalSymlinks(path)
	if err == nil {
		return target, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	if to, err := os.Readlink(path); err == nil {
		return "", fmt.Errorf("%s is a link to %s, which does not exist: create that file, or remove the link", path, to)
	}
	return path, nil // edit creates it
}
