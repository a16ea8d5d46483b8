package config

import "os"

// A Place is a path in the document of a file, or of a directory with several, that is followed while the gateway runs.
type Place struct {
	Path string // as the document has it
	At   string // where it is; empty when nobody has looked
}

// Given says whether the document names a place.
func (p Place) Given() bool { return p.Path != "" }

// String is the path.
func (p Place) String() string { return p.Path }

// UnmarshalText reads the path.
func (p *Place) UnmarshalText(text []byte) error {
	*p = Place{Path: string(text)}
	return nil
}

// MarshalText is the path.
func (p Place) MarshalText() ([]byte, error) { return []byte(p.Path), nil }

// look says where the place is, if something is there. A relative path begins at dir.
func (p *Place) look(dir string) error {
	if !p.Given() {
		return nil
	}
	p.At = from(dir, p.Path)
	_, err := os.Stat(p.At)
	return err
}
