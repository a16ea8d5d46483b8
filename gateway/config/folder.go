package config

import (
	"fmt"
	"os"
)

// A Folder is a path in the document of a directory that is followed while the gateway runs.
type Folder struct {
	Path string // as the document has it
	At   string // where it is; empty when nobody has looked
}

// Given says whether the document names a folder.
func (f Folder) Given() bool { return f.Path != "" }

// String is the path.
func (f Folder) String() string { return f.Path }

// UnmarshalText reads the path.
func (f *Folder) UnmarshalText(text []byte) error {
	*f = Folder{Path: string(text)}
	return nil
}

// MarshalText is the path.
func (f Folder) MarshalText() ([]byte, error) { return []byte(f.Path), nil }

// look says where the folder is, if it is one. A relative path begins at dir.
func (f *Folder) look(dir string) error {
	if !f.Given() {
		return nil
	}
	f.At = from(dir, f.Path)
	info, err := os.Stat(f.At)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is not a directory", f.At)
	}
	return err
}
