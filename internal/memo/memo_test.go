package memo

import "testing"

// TestMemo remembers one key of each place.
func TestMemo(t *testing.T) {
	var m Memo[string, int]
	a, b := "a", "b"
	if _, ok := m.Get(7, &a); ok || !m.Free(7) {
		t.Fatal("an empty memo remembers")
	}
	m.Put(7, a, 1)
	if value, ok := m.Get(7, &a); !ok || value != 1 {
		t.Fatalf("%d, %t", value, ok)
	}
	if _, ok := m.Get(7, &b); ok || m.Free(7+Places) {
		t.Fatal("two keys have one place")
	}
	m.Put(8, b, 2)
	if value, ok := m.Get(8, &b); !ok || value != 2 {
		t.Fatalf("%d, %t", value, ok)
	}
}

// TestOthers asks for other keys of a place: what is asked for among them stays, and what is not any more makes room.
func TestOthers(t *testing.T) {
	var m Memo[string, int]
	a := "a"
	m.Put(7, a, 1)
	for i := range 3 * givenUpAfter {
		if m.Free(7) {
			t.Fatalf("after %d others its place is free", i)
		}
		if i%givenUpAfter == givenUpAfter-1 {
			if _, ok := m.Get(7, &a); !ok {
				t.Fatalf("after %d others it is not remembered", i)
			}
		}
	}
	for range givenUpAfter {
		if m.Free(7) {
			t.Fatal("its place is free too early")
		}
	}
	if !m.Free(7) {
		t.Fatal("it is never given up")
	}
}
