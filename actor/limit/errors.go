package limit

import (
	"errors"
	"fmt"
)

// The errors of a Checker. None of them is a denial: a denial is a Decision.
var (
	// ErrUnknownLimit means that the request names a limit that is not stored.
	ErrUnknownLimit = errors.New("unknown limit")
	// ErrUnknownHold means that no limit knows the hold: it expired more than ten minutes ago, and stays charged as the limit's OnExpiry
	// says; it was settled long ago; its bucket was reset; it was never taken; or its limits were removed. The settlement charged nothing.
	ErrUnknownHold = errors.New("unknown hold: it expired more than 10 minutes ago and stays charged as on_expiry says, or was settled long ago, " +
		"or was never taken, or its bucket was filled; this settlement charged nothing: after a fill, charge what was used by a check")
	// ErrUnavailable means that there is no decision: too few replicas answered, or the node is stopping.
	ErrUnavailable = errors.New("no decision available")
	// ErrOverloaded means that the node sheds load: a queue is full, there is no memory for more keys, or the number of limits
	// that requests define is at its maximum. The error's text says which.
	ErrOverloaded = errors.New("overloaded")
	// ErrUnauthenticated means that the caller did not present the credentials that the node requires for this call.
	ErrUnauthenticated = errors.New("not authenticated")
)

// A FieldError says which field of a request, a limit or a limits document is wrong, and how.
type FieldError struct {
	Field   string // such as "key", "limits[1].refill" or "limits.login.capacity"
	Problem string // what is wrong, and what to write instead
	Line    int    // in the document, counted from 1; 0 when there is none
}

// Error is the line, if there is one, the field and its problem.
func (e *FieldError) Error() string {
	if e.Line > 0 {
		return fmt.Sprintf("line %d: %s: %s", e.Line, e.Field, e.Problem)
	}
	return e.Field + ": " + e.Problem
}

// under puts the path of the enclosing value in front of the field of err.
func under(path string, err error) error {
	var fe *FieldError
	if !errors.As(err, &fe) {
		return err
	}
	in := *fe
	in.Field = path + "." + fe.Field
	return &in
}

// InField is err under the name that the caller gave the field, if it is a *FieldError.
func InField(name string, err error) error {
	var fe *FieldError
	if !errors.As(err, &fe) {
		return err
	}
	in := *fe
	in.Field = name
	return &in
}
