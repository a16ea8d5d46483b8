package llm

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// A Decimal is a number of at least 0 with six decimal places, kept exactly: millionths.
type Decimal int64

// The parts of a Decimal.
const (
	millionths  = 1_000_000
	decimals    = 6
	maxIntegers = 12 // digits before the point: the greatest Decimal fits into 63 bits
)

// ParseDecimal reads a number such as 0.1 or 15, with at most twelve digits before the point and six after it. It knows no sign and
// no exponent.
func ParseDecimal(text string) (Decimal, error) {
	whole, fraction, point := strings.Cut(text, ".")
	digits := strings.Trim(whole+fraction, "0123456789") == ""
	switch {
	case whole == "" || point && fraction == "" || !digits:
		return 0, fmt.Errorf("%q is not a decimal number such as 0.25", text)
	case len(whole) > maxIntegers:
		return 0, fmt.Errorf("%q is too large: at most %d digits before the point", text, maxIntegers)
	case len(fraction) > decimals:
		return 0, fmt.Errorf("%q is too fine: at most %d digits after the point", text, decimals)
	}
	n, err := strconv.ParseInt(whole+fraction+strings.Repeat("0", decimals-len(fraction)), 10, 64)
	return Decimal(n), err
}

// String is the number without trailing zeros.
func (d Decimal) String() string {
	text := fmt.Sprintf("%d.%06d", d/millionths, d%millionths)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}

// MarshalText implements [encoding.TextMarshaler].
func (d Decimal) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (d *Decimal) UnmarshalText(text []byte) error {
	n, err := ParseDecimal(string(text))
	if err != nil {
		return err
	}
	*d = n
	return nil
}

// plus is the sum of two numbers of at least 0, or the greatest number.
func plus(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
