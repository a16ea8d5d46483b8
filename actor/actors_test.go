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

// Whoever is to be visited is, in the order of his coming, and the places of those who were are given back.
func TestVisits(t *testing.T) {
	var v visits
	as := make([]actor, 5*fewActors)
	next := 0
	for i := range as {
		v.add(&as[i])
		if i%3 == 0 {
			continue
		}
		if got := v.next(); got != &as[next] {
			t.Fatalf("visit %d: another's turn", next)
		}
		v.pop()
		next++
	}
	for ; next < len(as); next++ {
		if v.next() != &as[next] {
			t.Fatalf("visit %d: another's turn", next)
		}
		v.pop()
	}
	if v.next() != nil || cap(v.queue) > 4*fewActors {
		t.Errorf("%v is left, in room for %d", v.next(), cap(v.queue))
	}
}
