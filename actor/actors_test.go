package actor

import (
	"testing"

	"github.com/jeton-dev/jeton/ring"
)

// Keys with the same hash are told apart, whichever comes and goes first.
func TestActorsWithOneHash(t *testing.T) {
	as := newActors()
	a, b := &actor{key: "a"}, &actor{key: "b"}
	hash := ring.Hash("a")
	as.add(hash, a)
	as.add(hash, b)
	is := func(key string, want *actor) {
		t.Helper()
		if got := as.find(hash, key); got != want {
			t.Errorf("%s: found %+v", key, got)
		}
	}
	is("a", a)
	is("b", b)
	is("c", nil)
	as.remove(a)
	is("a", nil)
	is("b", b)
	as.add(hash, a)
	is("a", a)
	is("b", b)
	as.remove(b)
	is("a", a)
	is("b", nil)
	if as.len() != 1 {
		t.Errorf("%d actors, want 1", as.len())
	}
}
