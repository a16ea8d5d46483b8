package bench

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

// The kinds of keys and of arrivals.
const (
	Uniform = "uniform" // every key is as likely as any other
	Zipf    = "zipf"    // the k-th key is drawn with a probability of 1/k^s
	One     = "one"     // always the same key
	New     = "new"     // no key comes twice

	Even    = "even"    // one call after the other at the same distance
	Poisson = "poisson" // calls come independently of one another
)

// The bounds of a Load.
const (
	maxCallers     = 4096
	maxConnections = 256
	maxKeys        = 10_000_000
	maxRate        = 10_000_000
	maxExponent    = 10
)

// A Load says what is asked, and how often. The zero value of a field is its default, but for Limit.
type Load struct {
	// Limit is the limit that every check names. Required.
	Limit limit.Ref
	// TLS is what a node is shown over gRPC; nil speaks plain text.
	TLS *tls.Config
	// Callers is how many calls are under way at most; 0 means 64.
	Callers int
	// Connections is over how many connections the callers share; 0 means 2. Redis needs one for each caller.
	Connections int
	// Rate is how many calls begin in a second, whether earlier ones have been answered or not (open loop). 0 means that
	// every caller makes its next call as soon as the last one is answered (closed loop).
	Rate float64
	// Arrivals is Even or Poisson; empty means Even. It matters with a Rate only.
	Arrivals string
	// Keys is Uniform, Zipf, One or New; empty means Uniform.
	Keys string
	// KeyCount is how many keys there are with Uniform and Zipf; 0 means 100,000.
	KeyCount int
	// Exponent is that of Zipf; 0 means 1.1.
	Exponent float64
	// Batch is how many checks one call holds: 1 makes it a Check, more a CheckBatch; 0 means 1.
	Batch int
	// Duration is how long the load is measured; 0 means 10 seconds.
	Duration time.Duration
	// Warmup comes before that and is not measured.
	Warmup time.Duration
	// Seed makes the same draws again.
	Seed uint64
}

// check fills in the defaults and says what is wrong, by the name of the flag.
func (l *Load) check() error {
	l.Callers = cmp.Or(l.Callers, 64)
	l.Connections = cmp.Or(l.Connections, 2)
	l.Arrivals = cmp.Or(l.Arrivals, Even)
	l.Keys = cmp.Or(l.Keys, Uniform)
	l.KeyCount = cmp.Or(l.KeyCount, 100_000)
	l.Exponent = cmp.Or(l.Exponent, 1.1)
	l.Batch = cmp.Or(l.Batch, 1)
	l.Duration = cmp.Or(l.Duration, 10*time.Second)
	return errors.Join(
		upTo(maxCallers, "callers", l.Callers),
		upTo(maxConnections, "connections", l.Connections),
		upTo(maxKeys, "key-count", l.KeyCount),
		upTo(limit.MaxBatch, "batch", l.Batch),
		oneOf("keys", l.Keys, Uniform, Zipf, One, New),
		oneOf("arrivals", l.Arrivals, Even, Poisson),
		when(!(l.Rate >= 0 && l.Rate <= maxRate), "rate", "%g is not between 0 and %d calls a second", l.Rate, maxRate),
		when(!(l.Exponent > 0 && l.Exponent <= maxExponent), "zipf", "%g is not above 0 and at most %d", l.Exponent, maxExponent),
		when(l.Duration <= 0, "duration", "%v is not above 0, as 10s is", l.Duration),
		when(l.Warmup < 0, "warmup", "%v is below 0", l.Warmup),
	)
}

// flagError says what is wrong with a flag.
func flagError(flag, format string, args ...any) error {
	return fmt.Errorf("--%s: %w", flag, fmt.Errorf(format, args...))
}

func when(wrong bool, flag, format string, args ...any) error {
	if !wrong {
		return nil
	}
	return flagError(flag, format, args...)
}

func upTo(most int, flag string, n int) error {
	return when(n < 1 || n > most, flag, "%d is not between 1 and %d", n, most)
}

func oneOf(flag, value string, known ...string) error {
	return when(!slices.Contains(known, value), flag, "%q is not known: use %s", value, strings.Join(known, ", "))
}
