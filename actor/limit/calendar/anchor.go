package calendar

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jeton-dev/jeton/internal/spelling"
)

// The periods of a calendar.
const (
	day   = "day"
	week  = "week"
	month = "month"
	year  = "year"
)

// pers are the periods, from the shortest to the longest.
var pers = []string{day, week, month, year}

// weekdays are in the order of a week.
var weekdays = []string{"monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"}

// An anchor is where in the calendar a window begins: of each period it has the fields that say so, and the others are 0.
type anchor struct {
	hour    int8 // of a day
	weekday int8 // from Monday, which is 0
	month   int8 // of a year
	day     int8 // of a month, or of the month of a year
}

// parseAnchor reads an anchor of that period. Empty is the first: midnight, Monday, the first day.
func parseAnchor(per, text string) (a anchor, err error) {
	n, numeric := strconv.Atoi(text)
	switch per {
	case day:
		if text == "" {
			return anchor{}, nil
		}
		if numeric != nil || n < 0 || n > 23 {
			return a, anchorError(text, "is not an hour of the day: use 0 to 23")
		}
		return anchor{hour: int8(n)}, nil
	case week:
		if text == "" {
			return anchor{}, nil
		}
		i := slices.Index(weekdays, strings.ToLower(text))
		if i < 0 {
			problem := "is not a day of the week: use " + strings.Join(weekdays[:6], ", ") + " or " + weekdays[6]
			if meant := spelling.Near(strings.ToLower(text), weekdays); meant != "" {
				problem += fmt.Sprintf(": did you mean %q?", meant)
			}
			return a, anchorError(text, problem)
		}
		return anchor{weekday: int8(i)}, nil
	case month:
		if text == "" {
			return anchor{day: 1}, nil
		}
		if numeric != nil || n < 1 || n > 31 {
			return a, anchorError(text, "is not a day of the month: use 1 to 31; in a month that is shorter, the window begins on its last day")
		}
		return anchor{day: int8(n)}, nil
	}
	if text == "" {
		return anchor{month: 1, day: 1}, nil
	}
	date, err := time.Parse("2006-01-02", "2000-"+text) // a leap year
	if err != nil {
		return a, anchorError(text, "is not a date without its year: write month and day with two digits each, such as 04-06")
	}
	return anchor{month: int8(date.Month()), day: int8(date.Day())}, nil
}

func anchorError(text, problem string) error {
	return &Error{Field: "anchor", Value: text, Problem: problem}
}

// text is the anchor as parseAnchor reads it.
func (a anchor) text(per string) string {
	switch per {
	case day:
		return strconv.Itoa(int(a.hour))
	case week:
		return weekdays[a.weekday]
	case month:
		return strconv.Itoa(int(a.day))
	}
	return fmt.Sprintf("%02d-%02d", a.month, a.day)
}
