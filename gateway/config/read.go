package config

import (
	"bytes"
	"encoding"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/gateway/keys"
	"github.com/jeton-dev/jeton/internal/strictyaml"
)

// maxText is how many bytes a document may have.
const maxText = 16 << 20

// Read reads the document at path and all files that it names, and checks them. A file with tokens, a private key or a secret
// that signs is refused if others on the machine may read it. Every problem is a *[limit.FieldError] of its own, joined with the
// others; its text begins with path:line.
func Read(path string) (*Document, error) { return new(Reader).Read(path) }

// ReadInsecure is Read without the check of permissions: it accepts those files even if others on the machine may read them.
func ReadInsecure(path string) (*Document, error) { return (&Reader{Insecure: true}).Read(path) }

// A Reader reads a document again and again, and of its keys_file, which may be large, only what has changed. It is for one
// goroutine at a time.
type Reader struct {
	// Insecure accepts files with secrets even if others on the machine may read them.
	Insecure bool

	keys keys.Reader
}

// Read is [Read] or [ReadInsecure].
func (r *Reader) Read(path string) (*Document, error) {
	text, err := ReadText(path)
	if err != nil {
		return nil, err
	}
	return r.Parse(path, text)
}

// ReadText is the text of the document at path. It checks nothing but that the file can be read.
func ReadText(path string) ([]byte, error) {
	opened, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read the gateway's document: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(opened, maxText+1)) // and Parse refuses what is longer
	if err = errors.Join(err, opened.Close()); err != nil {
		return nil, fmt.Errorf("read the gateway's document: %w", err)
	}
	return text, nil
}

// Parse is Read of a text that was read from path; the files that it names are read now.
func (r *Reader) Parse(path string, text []byte) (*Document, error) {
	d, err := parse(text, filepath.Dir(path), &r.keys)
	if err == nil && !r.Insecure {
		err = joined(d.exposed())
	}
	if err != nil {
		return nil, inFile(path, err)
	}
	return d, nil
}

// WithKeys is d, which was read from path, with the API keys that its keys_file holds now. d itself stays as it is. It is d where d names
// no keys_file.
func (r *Reader) WithKeys(path string, d *Document) (*Document, error) {
	if d.Identity.APIKey == nil || !d.Identity.APIKey.KeysFile.Given() {
		return d, nil
	}
	with, keys := *d, *d.Identity.APIKey
	if err := keys.KeysFile.read(filepath.Dir(path), &r.keys); err != nil {
		return nil, err
	}
	with.Identity.APIKey = &keys
	if err := with.Validate(); err != nil {
		return nil, inFile(path, err)
	}
	return &with, nil
}

// A fileError is a problem of a document that has a path.
type fileError struct {
	path    string
	problem *limit.FieldError
}

func (e *fileError) Error() string {
	return fmt.Sprintf("%s:%d: %s: %s", e.path, max(e.problem.Line, 1), e.problem.Field, e.problem.Problem)
}

func (e *fileError) Unwrap() error { return e.problem }

// inFile puts a path before every problem that is joined in err.
func inFile(path string, err error) error {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return fmt.Errorf("%s: %w", path, err)
	}
	var all []error
	for _, err := range joined.Unwrap() {
		if fe, ok := errors.AsType[*limit.FieldError](err); ok {
			err = &fileError{path, fe}
		}
		all = append(all, err)
	}
	return errors.Join(all...)
}

// Parse reads a document strictly: an unknown field, one that is there twice, a value of another kind or out of range are
// *[limit.FieldError] with their lines, all of them joined. A file that it names is read, from dir when its path is
// relative; "" is the working directory.
//
// A document without fields is {}; a text without a document is refused, and so is more than one document. Anchors and
// aliases of whole values are allowed, merge keys (<<) are not.
func Parse(text []byte, dir string) (*Document, error) { return parse(text, dir, new(keys.Reader)) }

func parse(text []byte, dir string, by *keys.Reader) (*Document, error) {
	if len(text) > maxText {
		return nil, errors.Join(&limit.FieldError{Field: "document", Problem: fmt.Sprintf("has more than the maximum of %d bytes", maxText), Line: 1})
	}
	root, problem := strictyaml.Root(text)
	if problem == nil && root == nil {
		problem = &strictyaml.Problem{Path: "document", Text: "is empty: write {} for one without fields", Line: 1}
	}
	if problem != nil {
		return nil, errors.Join(fieldError(problem))
	}
	d := &Document{text: bytes.Clone(text)}
	dec := strictyaml.Decoder{Read: fileReader(dir, by)}
	dec.Decode(root, d)
	d.lines = dec.Lines

	var found []*limit.FieldError
	for _, p := range dec.Problems {
		found = append(found, fieldError(p))
	}
	if dec.GaveUp() {
		return nil, joined(found)
	}
	for _, problem := range d.problems() {
		// A value that could not be read is zero in d: that it is missing there says nothing.
		if !slices.ContainsFunc(dec.Problems, func(p *strictyaml.Problem) bool { return covers(p.Path, problem.Field) }) {
			found = append(found, problem)
		}
	}
	if len(found) > 0 {
		return nil, joined(found)
	}
	return d, nil
}

func fieldError(p *strictyaml.Problem) *limit.FieldError {
	return &limit.FieldError{Field: p.Path, Problem: p.Text, Line: p.Line}
}

// covers says whether a field is at a path or under it.
func covers(path, field string) bool {
	rest, ok := strings.CutPrefix(field, path)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// fileReader returns a function that reads the files which a document names, as [strictyaml.Decoder] calls it. Relative paths begin at
// dir.
func fileReader(dir string, by *keys.Reader) func(encoding.TextUnmarshaler) error {
	return func(v encoding.TextUnmarshaler) error {
		switch file := v.(type) {
		case *File:
			return file.read(dir)
		case *KeysFile:
			return file.read(dir, by)
		case *Folder:
			return file.look(dir)
		case *Place:
			return file.look(dir)
		}
		return nil
	}
}
