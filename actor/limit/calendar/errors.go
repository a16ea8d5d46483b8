package calendar

import "fmt"

// An Error says which field of a calendar is wrong, what it was, and how to write it.
type Error struct {
	Field   string // per, timezone or anchor
	Value   string
	Problem string
}

func (e *Error) Error() string { return fmt.Sprintf("%s: %q %s", e.Field, e.Value, e.Problem) }
