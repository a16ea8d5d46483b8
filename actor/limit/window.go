package limit

import (
	"fmt"
	"strings"
	"time"
)

// The range of a window: the API tells times in whole milliseconds, and the line of two windows must fit in MaxFill.
const (
	minWindow = time.Millisecond
	maxWindow = MaxFill / 2
)

// parseWindow reads a duration as time.ParseDuration does. A bare unit, such as "m", means "1m". Its errors are *FieldError with the
// field "window".
func parseWindow(text string) (time.Duration, error) {
	number := strings.TrimRight(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZµμ ")
	unit := strings.TrimSpace(text[len(number):])
	if isUnit(text) {
		number = "1"
	}
	d, err := time.ParseDuration(number + unit)
	if err == nil {
		return d, nil
	}
	if calendar, fixed := unitOfCalendar(unit); calendar != "" {
		problem := fmt.Sprintf("%s is no duration: ", Quote(text))
		if fixed != "" {
			problem += fmt.Sprintf("write it in hours, such as %s, or ", fixed)
		} else {
			problem += fmt.Sprintf("%ss are not equally long: ", calendar)
		}
		return 0, &FieldError{Field: "window", Problem: problem + "write per: " + calendar + " for one of the calendar"}
	}
	return 0, &FieldError{Field: "window", Problem: fmt.Sprintf("%s is not a duration, such as 1s, 1m, 1.5s or 24h", Quote(text))}
}

// unitOfCalendar is the unit of the calendar that a word means, and how long it usually is, if that is always about the same.
func unitOfCalendar(word string) (unit, fixed string) {
	switch strings.ToLower(word) {
	case "d", "day", "days":
		return "day", "24h"
	case "w", "week", "weeks":
		return "week", "168h"
	case "mo", "mon", "month", "months":
		return "month", ""
	case "y", "yr", "year", "years":
		return "year", ""
	}
	return "", ""
}

// checkWindow checks the length of windows that are aligned.
func checkWindow(d time.Duration) error {
	switch {
	case d < minWindow:
		return &FieldError{Field: "window", Problem: fmt.Sprintf("%s is too short: at least %s, since times are told in whole milliseconds", durationText(d), durationText(minWindow))}
	case d > maxWindow:
		return &FieldError{Field: "window", Problem: fmt.Sprintf("%s is too long: at most 36 years, which are %.0fh", durationText(d), maxWindow.Truncate(time.Hour).Hours())}
	}
	return nil
}
