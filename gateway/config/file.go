package config

import (
	"encoding"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/jeton-dev/jeton/ring/secret"
)

const (
	maxFile = 1 << 20 // bytes of a file that the document names

	writtenByOthers = fs.FileMode(0o002) // a permission that no such file has: it holds tokens, secrets, keys or certificates
)

// A File is a path in the document whose content is read with it, so that document and files change together. Printing it, with
// any verb of fmt, shows the path only.
type File struct {
	Path    string
	content *sealed // nil when the file has not been read
	exposed string  // why the file must not hold a secret, such as its permissions; empty if it may, or is not on disk
}

// sealed is the content of a file. It is behind two pointers because fmt calls no methods on the value of an unexported field, and
// follows one pointer there when the verb does not fit, as in %s.
type sealed struct{ bytes *[]byte }

// FileOf is a file that is not on disk, for documents made by programs.
func FileOf(content []byte) File { return File{Path: "(inline)", content: &sealed{&content}} }

// Given says whether the document names a file.
func (f File) Given() bool { return f.Path != "" }

// Bytes is the content of the file when it was read; nil if it was not read. The caller must not change it.
func (f File) Bytes() []byte {
	if f.content == nil {
		return nil
	}
	return *f.content.bytes
}

// UnmarshalText reads the path.
func (f *File) UnmarshalText(text []byte) error {
	*f = File{Path: string(text)}
	return nil
}

// MarshalText is the path.
func (f File) MarshalText() ([]byte, error) { return []byte(f.Path), nil }

// String is the path.
func (f File) String() string { return f.Path }

// GoString is the path as Go writes it.
func (f File) GoString() string { return fmt.Sprintf("config.File{Path: %q}", f.Path) }

// Format writes the path for every verb.
func (f File) Format(s fmt.State, verb rune) {
	text := f.String()
	switch {
	case verb == 'v' && s.Flag('#'):
		text = f.GoString()
	case verb == 'q':
		text = fmt.Sprintf("%q", f.Path)
	}
	_, _ = io.WriteString(s, text)
}

var (
	_ encoding.TextUnmarshaler = (*File)(nil)
	_ fmt.Formatter            = File{}
)

// read reads the content. A relative path begins at dir.
func (f *File) read(dir string) error {
	if !f.Given() {
		return nil
	}
	path := from(dir, f.Path)
	info, err := os.Stat(path) // before it is opened, since a pipe would make that wait
	switch {
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is not a regular file", path)
	case info.Mode().Perm()&writtenByOthers != 0:
		return fmt.Errorf("%s has mode %04o, so other users of this machine can change it: run `chmod o-w %s`", path, info.Mode().Perm(), path)
	}
	opened, err := os.Open(path)
	if err != nil {
		return err
	}
	content, err := io.ReadAll(io.LimitReader(opened, maxFile+1))
	err = errors.Join(err, opened.Close())
	switch {
	case err != nil:
		return err
	case len(content) > maxFile:
		return errors.New("it has more than 1 MiB")
	}
	f.content = &sealed{&content}
	if err := secret.Check(path, info); err != nil {
		f.exposed = err.Error()
	}
	return nil
}

// from is a path that begins at dir if it is not absolute.
func from(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}
