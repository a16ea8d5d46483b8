package storage

import "testing"

// Registers whose keys have the same hash are told apart, whichever comes and goes first.
func TestEntriesWithOneHash(t *testing.T) {
	es := newEntries()
	find := func(key string) *entry {
		s := slot{key: []byte(key), hash: 7}
		s.entry = es.byHash[s.hash]
		s.touch()
		es.find(&s)
		return s.entry
	}
	add := func(key string) *entry { return es.add(&slot{key: []byte(key), hash: 7}) }
	a := add("a")
	if find("b") != nil || find("a") != a {
		t.Fatal("b, which is not there, or not a")
	}
	b := add("b")
	if find("a") != a || find("b") != b || find("c") != nil || es.len() != 2 {
		t.Errorf("%v", es)
	}
	delete(es.byHash, 7) // as remove does, which goes by the key's own hash
	if find("a") != nil || find("b") != b {
		t.Errorf("%v, want b alone", es)
	}
	if a = add("a"); find("a") != a || find("b") != b {
		t.Errorf("%v, want both", es)
	}
	es.remove(b)
	if find("a") != a || find("b") != nil || es.len() != 1 {
		t.Errorf("%v, want a alone", es)
	}
}
