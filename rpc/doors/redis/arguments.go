package redis

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

// A refusal is an error as clients get it: a code in capitals, and a text.
type refusal string

func (r refusal) Error() string { return string(r) }

// refuse is a refusal with the code ERR.
func refuse(format string, args ...any) error { return refusal("ERR " + fmt.Sprintf(format, args...)) }

// quote shows text of a caller, cut where it is long.
func quote(text []byte) string { return limit.Quote(string(text[:min(len(text), limit.MaxQuoted+1)])) }

// integer reads the argument called name.
func integer(name string, text []byte) (int64, error) {
	n, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil {
		return 0, refuse("%s: %s is not an integer of 64 bits", name, quote(text))
	}
	return n, nil
}

// integerFrom reads the argument called name, which is at least least.
func integerFrom(least int64, name string, text []byte) (int64, error) {
	n, err := integer(name, text)
	if err == nil && n < least {
		return 0, refuse("%s: %d is too small: at least %d", name, n, least)
	}
	return n, err
}

// decimal reads the argument called name, a number above 0.
func decimal(name string, text []byte) (float64, error) {
	x, err := strconv.ParseFloat(string(text), 64)
	if err != nil || math.IsNaN(x) || math.IsInf(x, 0) || x <= 0 {
		return 0, refuse("%s: %s is not a number above 0", name, quote(text))
	}
	return x, nil
}

// duration is x units, rounded to the nanosecond: the argument called name.
func duration(name string, x float64, unit time.Duration) (time.Duration, error) {
	ns := math.Round(x * float64(unit))
	if !(ns < math.MaxInt64) || ns < 0 { // NaN is out of range, too
		return 0, refuse("%s: %s is too long: at most 292 years", name, strconv.FormatFloat(x, 'g', -1, 64))
	}
	return time.Duration(ns), nil
}

// lower is a word in lower case, as commands and options are compared.
func lower(text []byte) string { return strings.ToLower(string(text)) }

// badSubcommand refuses what stands behind a command, or how many arguments that has.
func badSubcommand(command string, text []byte) error {
	return refuse("unknown subcommand or wrong number of arguments for '%s|%s'", command, lower(text[:min(len(text), limit.MaxQuoted)]))
}
