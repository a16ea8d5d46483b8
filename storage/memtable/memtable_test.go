package memtable

import "testing"

// Entries whose keys have the same hash are kept apart, whichever is added and removed first.
func TestHashCollision(t *testing.T) {
	table := New()
	find := func(key string) *Entry {
		s := Slot{Key: []byte(key), hash: 7}
		s.Entry = table.byHash[s.hash]
		s.Prefetch()
		table.Find(&s)
		return s.Entry
	}
	add := func(key string) *Entry { return table.Add(&Slot{Key: []byte(key), hash: 7}) }
	a := add("a")
	if find("b") != nil || find("a") != a {
		t.Fatal("b, which is not there, or not a")
	}
	b := add("b")
	if find("a") != a || find("b") != b || find("c") != nil || table.Len() != 2 {
		t.Errorf("%v", table)
	}
	delete(table.byHash, 7) // as remove dotable, which gotable by the key's own hash
	if find("a") != nil || find("b") != b {
		t.Errorf("%v, want b alone", table)
	}
	if a = add("a"); find("a") != a || find("b") != b {
		t.Errorf("%v, want both", table)
	}
	table.Remove(b)
	if find("a") != a || find("b") != nil || table.Len() != 1 {
		t.Errorf("%v, want a alone", table)
	}
}
