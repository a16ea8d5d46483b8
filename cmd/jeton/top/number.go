package top

import (
	"fmt"
	"math"
	"strconv"
)

// none stands where there is nothing to tell.
const none = "-"

// rate is a number per second: whole from 100 on, and otherwise with one digit.
func rate(v float64) string { return digits(v, 100) }

// milliseconds is a time of an operation; none where there was no operation.
func milliseconds(v float64) string {
	switch {
	case v <= 0 || math.IsNaN(v):
		return none
	case v < 1:
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
	return digits(v, 100)
}

// digits is a number with one digit behind the point, if it has one and is below whole.
func digits(v, whole float64) string {
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return none
	case math.Abs(v) >= whole || math.Abs(v-math.Round(v)) < 0.05:
		return strconv.FormatFloat(math.Abs(math.Round(v))*sign(v), 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'f', 1, 64)
}

// sign is that of a number, so that what rounds to 0 has none.
func sign(v float64) float64 {
	if math.Round(v) < 0 {
		return -1
	}
	return 1
}

// share is 0 to 1 in percent; none where it is below 0. Only what is all is 100%.
func share(v float64) string {
	percent := v * 100
	switch {
	case v < 0 || math.IsNaN(v) || math.IsInf(v, 0):
		return none
	case percent < 100 && percent > 99:
		return strconv.FormatFloat(math.Floor(percent*10)/10, 'f', 1, 64) + "%"
	}
	return digits(percent, 10) + "%"
}

// size is a number of bytes, with about three digits.
func size(bytes int64) string {
	v, unit := float64(bytes), 0
	for v >= 1024 && unit < 5 {
		v, unit = v/1024, unit+1
	}
	return digits(v, 10) + [...]string{"B", "KiB", "MiB", "GiB", "TiB", "PiB"}[unit]
}

// partOf is held of a budget, in percent; none without a budget.
func partOf(held, budget int64) string {
	if budget <= 0 {
		return none
	}
	return share(float64(held) / float64(budget))
}

// counted is a number of things in words.
func counted(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}

// orNone is text, or none where there is none.
func orNone(s string) string {
	if s == "" {
		return none
	}
	return s
}
