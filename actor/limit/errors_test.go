package limit_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/jeton-dev/jeton/actor/limit"
)

// fieldError is the *FieldError that err must be, with a field and a problem.
func fieldError(t *testing.T, err error) limit.FieldError {
	t.Helper()
	var fe *limit.FieldError
	if !errors.As(err, &fe) || fe.Field == "" || fe.Problem == "" {
		t.Fatalf("error %v names no field or no problem", err)
	}
	return *fe
}

// wantFieldError asserts that err is a *FieldError about field whose message holds fix, what would be right.
func wantFieldError(t *testing.T, err error, field, fix string) {
	t.Helper()
	fe := fieldError(t, err)
	if fe.Field != field {
		t.Errorf("field %q, want %q, of error: %v", fe.Field, field, err)
	}
	if !strings.Contains(fe.Problem, fix) {
		t.Errorf("problem %q does not say %q", fe.Problem, fix)
	}
}

func TestFieldErrorText(t *testing.T) {
	e := limit.FieldError{Field: "limits.login.capacity", Problem: "0 is too small"}
	if got, want := e.Error(), "limits.login.capacity: 0 is too small"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	e.Line = 7
	if got, want := e.Error(), "line 7: limits.login.capacity: 0 is too small"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
