package agreed

import "slices"

// A Document is a text that this package keeps and does not read.
type Document []byte

// MarshalText is the document.
func (d Document) MarshalText() ([]byte, error) { return d, nil }

// UnmarshalText copies the text.
func (d *Document) UnmarshalText(text []byte) error {
	*d = slices.Clone(text)
	return nil
}
