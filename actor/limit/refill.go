package limit

import (
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"
	"time"
)

// A Refill is how fast a bucket fills: Tokens in every Per. It is written "n/duration", such as "5/s", "100/1m",
// "5000/1h" or "1/1.5s". At most 10⁹ tokens a second.
type Refill struct {
	Tokens int64
	Per    time.Duration
}

// ParseRefill reads the form "n/duration". The duration is that of [time.ParseDuration], which truncates to nanoseconds; a bare
// unit, such as "s", means "1s". Its errors are *FieldError with the field "refill".
func ParseRefill(s string) (Refill, error) {
	count, per, found := strings.Cut(s, "/")
	if !found {
		return Refill{}, refillError("%s is not n/duration, such as 5/s, 100/1m or 1/1.5s", Quote(s))
	}
	tokens, err := strconv.ParseInt(count, 10, 64)
	if err != nil {
		return Refill{}, refillError("%s does not start with a whole number up to %d, as in 5/s", Quote(s), int64(math.MaxInt64))
	}
	if isUnit(per) {
		per = "1" + per
	}
	d, err := time.ParseDuration(per)
	if err != nil {
		return Refill{}, refillError("%s does not end with a duration, such as s, 1m, 1.5s or 24h", Quote(s))
	}
	r := Refill{Tokens: tokens, Per: d}
	if err := r.validate(); err != nil {
		return Refill{}, err
	}
	return r, nil
}

// isUnit says whether per is a duration without its number.
func isUnit(per string) bool { return per != "" && !strings.ContainsAny(per, "0123456789.") }

func (r Refill) validate() error {
	switch {
	case r.Tokens <= 0:
		return refillError("%d tokens are too few: at least 1, as in 1/1h", r.Tokens)
	case r.Per <= 0:
		return refillError("the time %v is too short: it must be above 0, as in 1/s", r.Per)
	case r.Tokens > int64(r.Per):
		return refillError("%s is too fast: at most 1000000000 tokens a second", r)
	}
	return nil
}

func refillError(format string, args ...any) error {
	return &FieldError{Field: "refill", Problem: fmt.Sprintf(format, args...)}
}

// String is the canonical form, which [ParseRefill] reads back to the same value: "5/s" rather than "5/1s".
func (r Refill) String() string {
	per := durationText(r.Per)
	if unit, one := strings.CutPrefix(per, "1"); one && isUnit(unit) {
		per = unit
	}
	return strconv.FormatInt(r.Tokens, 10) + "/" + per
}

// durationText is a duration in the form of [time.Duration.String], without zeros at its end: "1m" rather than "1m0s".
func durationText(d time.Duration) string {
	text := d.String()
	if d%time.Minute == 0 && d != 0 {
		text = strings.TrimSuffix(text, "0s")
	}
	if d%time.Hour == 0 && d != 0 {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// part is exactly the n-th part of r; ok is false if a Refill cannot be that slow.
func (r Refill) part(n int) (part Refill, ok bool) {
	common := gcd(uint64(r.Tokens), uint64(n))
	hi, per := bits.Mul64(uint64(r.Per), uint64(n)/common)
	return Refill{Tokens: r.Tokens / int64(common), Per: time.Duration(per)}, hi == 0 && per <= math.MaxInt64
}

// PerSecond is the refill in tokens a second, for people to read; decisions use exact integers.
func (r Refill) PerSecond() float64 { return float64(r.Tokens) * float64(time.Second) / float64(r.Per) }

// MarshalText and UnmarshalText use the form of [Refill.String].
func (r Refill) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText is [ParseRefill].
func (r *Refill) UnmarshalText(text []byte) error {
	parsed, err := ParseRefill(string(text))
	if err == nil {
		*r = parsed
	}
	return err
}
