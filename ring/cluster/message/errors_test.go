package message

import (
	"errors"
	"slices"
	"testing"
)

// Every error with a name on the wire is the same error on the other side.
func TestErrorsTravel(t *testing.T) {
	for name, is := range wireErrors() {
		if got := refusalOf(is); !slices.Contains(got.Names, name) || !errors.Is(got.Err(), is) {
			t.Errorf("%v travels as %+v", is, got)
		}
	}
}
