package keys

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

// Extension is that of the files which count in a folder of them.
const Extension = ".jsonl"

const (
	maxFile = 256 << 20 // bytes
	maxLine = 16 << 10  // bytes

	writtenByOthers = fs.FileMode(0o022) // forbidden permissions of files and folders: group and others may write
)

// A Set is all keys of a file or a folder. It never changes. A nil Set has none.
type Set struct {
	byDigest map[Digest]*Key
	list     []*Key          // in the order of the files and lines
	revoked  map[Digest]bool // of which the files say so
	digest   [sha256.Size]byte
}

// Find is the key with that digest, nil for none. It may have expired.
func (s *Set) Find(d Digest) *Key {
	if s == nil {
		return nil
	}
	return s.byDigest[d]
}

// All are the keys in the order of their files and lines. They must not be changed.
func (s *Set) All() []*Key {
	if s == nil {
		return nil
	}
	return s.list
}

// Revoked says whether the files list a key as revoked. A key that is missing without that was lost by mistake.
func (s *Set) Revoked(d Digest) bool { return s != nil && s.revoked[d] }

// Names are the names of all attributes of keys, with label and owner, sorted; none for a set without keys.
func (s *Set) Names() []string {
	if s == nil || len(s.list) == 0 {
		return nil
	}
	names := map[string]bool{fieldLabel: true, fieldOwner: true}
	for _, k := range s.list {
		for name := range k.Attributes {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// Digest is the digest of the content of all files: sets with the same digest are equal.
func (s *Set) Digest() [sha256.Size]byte {
	if s == nil {
		return [sha256.Size]byte{}
	}
	return s.digest
}

// A Reader reads the keys of a file or a folder again and again, and parses again only what has changed. The zero value is ready.
// It is for one goroutine at a time.
type Reader struct {
	files map[string]*file
	of    []*file // that set and err are of
	set   *Set
	err   error
}

// A file is what was found in one.
type file struct {
	path string
	info fs.FileInfo
	at   time.Time // when info was taken
	sum  [sha256.Size]byte
	text contents
	err  error
}

// contents are the keys of a file, and the digests of those that it says were revoked.
type contents struct {
	keys    []placed
	revoked []Digest
}

// placed is a key with its line.
type placed struct {
	*Key

	line int
}

// Read reads the keys at path: a file, or a folder whose files that end in [Extension] count, but for hidden ones. It is an error
// when others on the machine may write there, or when two keys have one label or one digest. A file that is the same as at the
// last Read, by its inode, size and time, is not read again.
func (r *Reader) Read(path string) (*Set, error) {
	paths, err := filesAt(path)
	if err != nil {
		return nil, err
	}
	now := make(map[string]*file, len(paths))
	list := make([]*file, len(paths))
	for i, p := range paths {
		f, err := read(p, r.files[p])
		if err != nil {
			return nil, err
		}
		list[i], now[p] = f, f
	}
	if r.files == nil || !slices.Equal(list, r.of) {
		r.set, r.err = join(list)
	}
	r.files, r.of = now, list
	return r.set, r.err
}

// filesAt are the files that count at path.
func filesAt(path string) ([]string, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%w: create it with jeton keys make --file", err)
	case err != nil:
		return nil, err
	case !info.IsDir():
		return []string{path}, checkFolder(path)
	case info.Mode().Perm()&writtenByOthers != 0:
		return nil, writableError(path, info)
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, e := range entries {
		if name := e.Name(); strings.HasSuffix(name, Extension) && name[0] != '.' {
			paths = append(paths, filepath.Join(path, name))
		}
	}
	if len(paths) == 0 { // as while the only one is being replaced
		return nil, fmt.Errorf("%s holds no file that ends in %s, so no key would be valid: create one with jeton keys make --file %s",
			path, Extension, filepath.Join(path, "keys"+Extension))
	}
	return paths, nil
}

func writableError(path string, info fs.FileInfo) error {
	return fmt.Errorf("%s has mode %04o, so other users of this machine can change it: run `chmod go-w %s`", path, info.Mode().Perm(), path)
}

// checkFolder says whether others may put another file in the place of the one at path, which need not be there. Links are followed, and
// the folder of each file is looked at, that of the link too.
func checkFolder(path string) error {
	for _, at := range []string{path, resolved(path)} {
		folder := filepath.Dir(at)
		info, err := os.Stat(folder)
		if err != nil {
			return err
		}
		if mode := info.Mode(); mode.Perm()&writtenByOthers != 0 && mode&fs.ModeSticky == 0 {
			return fmt.Errorf("%s has mode %04o, so other users of this machine can replace %s: run `chmod go-w %s`",
				folder, mode.Perm(), at, folder)
		}
	}
	return nil
}

// resolved is the file that a path leads to, or the path itself where that is not known.
func resolved(path string) string {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		return target
	}
	return path
}

// racy is how long after a change of a file another one may leave it with the same time.
const racy = 2 * time.Second

// isUnchanged says whether f is what a file still holds, by what is known of the file without reading it.
func (f *file) isUnchanged(info fs.FileInfo) bool {
	return f != nil && os.SameFile(f.info, info) && f.info.Size() == info.Size() && f.info.ModTime().Equal(info.ModTime()) &&
		f.info.Mode() == info.Mode() && f.at.Sub(info.ModTime()) > racy
}

// read reads a file of which something may be known. What is wrong with its text is kept in the file: it is not parsed again until
// it has changed.
func read(path string, before *file) (*file, error) {
	at := time.Now()
	info, err := os.Stat(path) // before it is opened, since a pipe would make that wait
	switch {
	case err != nil:
		return nil, err
	case before.isUnchanged(info):
		return before, nil
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file", path)
	case info.Mode().Perm()&writtenByOthers != 0:
		return nil, writableError(path, info)
	}
	f := &file{path: path, info: info, at: at}
	if f.text, f.sum, f.err, err = parseFile(path, info, io.Discard); err != nil {
		return nil, err
	}
	if before != nil && before.sum == f.sum {
		before.info, before.at = info, at
		return before, nil
	}
	return f, nil
}

// parseFile reads the keys of a file, and copies what it has read of its text to another place. wrong is what is wrong with the
// text, and err why it cannot be read. The sum is of what was read: up to the first thing that is wrong.
func parseFile(path string, info fs.FileInfo, text io.Writer) (all contents, sum [sha256.Size]byte, wrong, err error) {
	if info.Size() > maxFile {
		return all, sum, nil, fmt.Errorf("%s has more than %d MiB: split it into the files of a folder", path, maxFile>>20)
	}
	opened, err := os.Open(path)
	if err != nil {
		return all, sum, nil, err
	}
	h := sha256.New()
	all, wrong = parse(path, io.TeeReader(io.LimitReader(opened, maxFile), io.MultiWriter(h, text)))
	h.Sum(sum[:0])
	err = opened.Close()
	if _, unread := errors.AsType[*fs.PathError](wrong); unread { // the next try may succeed
		wrong, err = nil, wrong
	}
	return all, sum, wrong, err
}

// errEmpty refuses an empty file: an editor may have truncated it and not written it yet.
var errEmpty = errors.New("is empty, which would revoke every key: if that is intended, leave a line that begins with #")

// parse reads the keys of a file, of which it holds a line at a time. The error is the first thing that is wrong, with its line.
func parse(path string, text io.Reader) (all contents, err error) {
	lines := bufio.NewScanner(text)
	lines.Buffer(nil, maxLine+len("\r\n"))
	empty, n := true, 0
	for lines.Scan() {
		n++
		line := bytes.TrimSpace(lines.Bytes())
		empty = empty && len(line) == 0
		if len(line) == 0 || line[0] == '#' {
			if d, is := parseRevocation(line); is {
				all.revoked = append(all.revoked, d)
			}
			continue
		}
		k, problem := parseLine(line)
		if problem != nil {
			return contents{}, at(path, n, problem)
		}
		all.keys = append(all.keys, placed{k, n})
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return contents{}, at(path, n+1, wrong("line", fmt.Sprintf("has more than %d KiB: write a key on each line", maxLine>>10)))
	case err != nil:
		return contents{}, err
	case empty:
		return contents{}, fmt.Errorf("%s %w", path, errEmpty)
	}
	return all, nil
}

// at is a problem with its place before it.
func at(path string, line int, problem *limit.FieldError) error {
	return fmt.Errorf("%s:%d: %s: %s", path, line, problem.Field, problem.Problem)
}

// join makes a set of files.
func join(files []*file) (*Set, error) {
	count := 0
	for _, f := range files {
		if f.err != nil {
			return nil, f.err
		}
		count += len(f.text.keys)
	}
	s := &Set{byDigest: make(map[Digest]*Key, count), list: make([]*Key, 0, count), revoked: map[Digest]bool{}}
	type place struct {
		file *file
		line int
	}
	labels := make(map[string]place, count)
	h := sha256.New()
	for _, f := range files {
		for _, k := range f.text.keys {
			if there, twice := labels[k.Label]; twice {
				return nil, at(f.path, k.line, wrong(fieldLabel, fmt.Sprintf("%q is also that of %s:%d: change one of them", k.Label, there.file.path, there.line)))
			}
			if other := s.byDigest[k.Digest]; other != nil {
				return nil, at(f.path, k.line, wrong(fieldDigest, fmt.Sprintf("is also that of %s: leave one of them out", other.Label)))
			}
			labels[k.Label], s.byDigest[k.Digest] = place{f, k.line}, k.Key
			s.list = append(s.list, k.Key)
		}
		for _, d := range f.text.revoked {
			s.revoked[d] = true
		}
		_, _ = h.Write(f.sum[:])
	}
	h.Sum(s.digest[:0])
	return s, nil
}
