package cli

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// LeastMemory is the memory that a node needs to be of use, in bytes.
const LeastMemory = 128 << 20

// A Size is an option that takes a number of bytes, as GOMEMLIMIT does.
type Size struct {
	Bytes *int64
	Least int64
}

var sizeUnits = []struct {
	name  string
	bytes int64
}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40}, {"B", 1}, {"", 1}}

// Set takes a whole number and a unit.
func (s Size) Set(text string) error {
	for _, unit := range sizeUnits {
		number, ok := strings.CutSuffix(text, unit.name)
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(number, 10, 64)
		if err != nil || n < 0 || n > math.MaxInt64/unit.bytes {
			break
		}
		if n *= unit.bytes; n < s.Least {
			return fmt.Errorf("%q is too little: at least %dMiB", text, s.Least>>20)
		}
		*s.Bytes = n
		return nil
	}
	return fmt.Errorf("%.64q is not a number of bytes, such as 512MiB or 4GiB", text)
}

// String and Type are those of a [pflag.Value].
func (s Size) String() string {
	switch {
	case s.Bytes == nil || *s.Bytes == 0:
		return ""
	case *s.Bytes%(1<<20) == 0:
		return fmt.Sprintf("%dMiB", *s.Bytes>>20)
	}
	return fmt.Sprintf("%dB", *s.Bytes)
}

// Type names the value in the help text.
func (Size) Type() string { return "size" }
