package agreed

import (
	"encoding/hex"
	"fmt"

	"github.com/jeton-dev/jeton/ring"
)

// A Unique is 128 random bits: the name of a cluster or of a process. Its text is hexadecimal.
type Unique [16]byte

// String is the bits in hexadecimal.
func (u Unique) String() string { return hex.EncodeToString(u[:]) }

// MarshalText is String.
func (u Unique) MarshalText() ([]byte, error) { return []byte(u.String()), nil }

// UnmarshalText reads what MarshalText writes.
func (u *Unique) UnmarshalText(text []byte) error {
	id, err := ring.ParseNodeID(string(text))
	if err != nil {
		return fmt.Errorf("%q is not the id of a cluster or process: it has 32 hexadecimal digits", text)
	}
	*u = Unique(id)
	return nil
}
