package config

import (
	"encoding"

	"github.com/jeton-dev/jeton/gateway/keys"
)

// A KeysFile is a path in the document, of a file or a folder, whose API keys are read with it.
type KeysFile struct {
	Path string
	set  *keys.Set // nil when it has not been read
}

// KeysFileOf are keys that a program has read itself.
func KeysFileOf(set *keys.Set) KeysFile { return KeysFile{Path: "(inline)", set: set} }

// Given says whether the document names a file or a folder.
func (f KeysFile) Given() bool { return f.Path != "" }

// Keys are the keys in the files when they were read.
func (f KeysFile) Keys() *keys.Set { return f.set }

// APIKeys is how many API keys count, those of the files and those in the document; expired ones, too.
func (d *Document) APIKeys() int {
	a := d.Identity.APIKey
	if a == nil {
		return 0
	}
	return len(a.KeysFile.Keys().All()) + len(a.Known)
}

// UnmarshalText reads the path.
func (f *KeysFile) UnmarshalText(text []byte) error {
	*f = KeysFile{Path: string(text)}
	return nil
}

// MarshalText is the path.
func (f KeysFile) MarshalText() ([]byte, error) { return []byte(f.Path), nil }

// String is the path.
func (f KeysFile) String() string { return f.Path }

// read takes the keys in. A path that is not absolute begins at dir.
func (f *KeysFile) read(dir string, by *keys.Reader) (err error) {
	if f.Given() {
		f.set, err = by.Read(from(dir, f.Path))
	}
	return err
}

var _ encoding.TextUnmarshaler = (*KeysFile)(nil)
