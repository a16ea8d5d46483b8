package backup

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// ErrFile refuses a file. The error says which field is wrong.
var ErrFile = errors.New("the file is no export that can be imported")

func wrong(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrFile, fmt.Errorf(format, args...))
}

// Decode reads a file, and refuses one that is cut off, was edited, or has anything that this release does not know. Its errors are
// ErrFile.
func Decode(text []byte) (*File, error) {
	switch {
	case len(text) > MaxFile:
		return nil, wrong("it has more than %d bytes", MaxFile)
	case len(bytes.TrimSpace(text)) == 0:
		return nil, wrong("it is empty")
	case !bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")):
		return nil, wrong("it is no JSON, as what jeton cluster export has written is: a limits document is put in force by jeton limits apply")
	}
	var raw struct { // what tells of every format
		Format  *int            `json:"format"`
		SHA256  string          `json:"sha256"`
		Content json.RawMessage `json:"content"`
	}
	if err := decode(text, &raw, false); err != nil {
		return nil, err
	}
	switch {
	case raw.Format == nil:
		return nil, wrong("format: is missing: is this what jeton cluster export has written?")
	case *raw.Format > Format:
		return nil, wrong("format: is %d, and this release reads %d: it was written by a newer release, which can import it", *raw.Format, Format)
	case *raw.Format != Format:
		return nil, wrong("format: is %d: there is only %d", *raw.Format, Format)
	}
	if err := count(text); err != nil {
		return nil, err
	}
	f := &File{}
	if err := decode(text, f, true); err != nil {
		return nil, err
	}
	if raw.Content == nil {
		return nil, wrong("content: is missing")
	}
	sum, err := digest(raw.Content)
	if err != nil {
		return nil, wrong("content: %w", err)
	}
	if sum != raw.SHA256 {
		return nil, wrong("sha256: is %q, and that of the content is %s: the file was changed after it was written; limits alone can be changed with jeton limits apply",
			raw.SHA256, sum)
	}
	if err := f.check(); err != nil {
		return nil, err
	}
	return f, nil
}

// decode reads one JSON value. Strictly, fields that are not known are refused.
func decode(text []byte, into any, strict bool) error {
	d := json.NewDecoder(bytes.NewReader(text))
	if strict {
		d.DisallowUnknownFields()
	}
	err := d.Decode(into)
	if syntax, is := errors.AsType[*json.SyntaxError](err); is {
		if syntax.Offset < int64(len(bytes.TrimRight(text, " \t\r\n"))) {
			return wrong("line %d: %w", lineAt(text, syntax.Offset), syntax)
		}
		err = io.ErrUnexpectedEOF
	}
	if kind, is := errors.AsType[*json.UnmarshalTypeError](err); is {
		return wrong("line %d: %s: is of the wrong kind: %s", lineAt(text, kind.Offset), cmp.Or(kind.Field, "the file"), kind.Value)
	}
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return wrong("it is cut off: it ends in the middle, after %d bytes", len(text))
	case err != nil:
		return wrong("%s", strings.TrimPrefix(err.Error(), "json: "))
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return wrong("line %d: there is more after its end", lineAt(text, d.InputOffset()))
	}
	return nil
}

// What a file holds at most. It is more than any cluster has: 100,000 overrides, 1,000 entries of the audit log, and the lines of a limits
// document of 1 MiB.
const (
	maxObjects = 1 << 17
	maxCommas  = 2 << 20
)

// count refuses a file with more in it than an export has. It is asked before memory is taken for what is in the file: an empty override
// has three bytes, and takes a hundred in memory. The text is JSON.
func count(text []byte) error {
	objects, commas, quoted := 0, 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{':
			objects++
		case c == ',':
			commas++
		}
		if objects > maxObjects || commas > maxCommas {
			return wrong("line %d: up to here there are %d objects and %d values: a file has at most %d and %d", lineAt(text, int64(i)), objects, commas, maxObjects, maxCommas)
		}
	}
	return nil
}

// lineAt is the line of a byte, from 1.
func lineAt(text []byte, offset int64) int {
	return 1 + bytes.Count(text[:min(int(offset), len(text))], []byte("\n"))
}

// idSize is how many bytes the id of a cluster has. The audit log names it: so nothing else may stand in its place.
const idSize = 16

// check says what is missing, and which overrides are there twice.
func (f *File) check() error {
	if f.Content.Cluster == "" {
		return wrong("content.cluster: is missing")
	}
	if id, err := hex.DecodeString(f.Content.Cluster); err != nil || len(id) != idSize {
		return wrong("content.cluster: is no id of a cluster, which has %d hexadecimal digits", 2*idSize)
	}
	seen := map[[2]string]int{}
	for i, o := range f.Content.Overrides {
		if o.Limit == "" || o.Key == "" || o.Says == "" {
			return wrong("content.overrides[%d]: has no limit, no key, or says nothing", i)
		}
		if before, twice := seen[[2]string{o.Limit, o.Key}]; twice {
			return wrong("content.overrides[%d]: is about the same limit and key as content.overrides[%d]", i, before)
		}
		seen[[2]string{o.Limit, o.Key}] = i
	}
	return nil
}
