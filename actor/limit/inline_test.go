package limit

import (
	"fmt"
	"hash/maphash"
	"testing"
	"time"
)

func definition(name string) *Limit {
	return &Limit{Name: name, Capacity: 6000, Refill: Refill{Tokens: 6000, Per: time.Minute}}
}

// TestMemo asks for the same definition twice: it has one rule, of which nobody counts the memory. One that differs in anything has its own.
func TestMemo(t *testing.T) {
	m := &memo{seed: maphash.MakeSeed()}
	first, err := m.rule(definition("l"))
	if err != nil {
		t.Fatal(err)
	}
	if again, err := m.rule(definition("l")); err != nil || again != first || again.Bytes() != 0 || !again.Inline {
		t.Fatalf("%p and %p, %d bytes, %v", first, again, again.Bytes(), err)
	}
	other := definition("l")
	other.MaxWait = time.Second // is no part of the hash
	different, err := m.rule(other)
	if err != nil || different.MaxWait != time.Second || different.Bytes() == 0 {
		t.Fatalf("%+v, %v", different, err)
	}
	if _, err := m.rule(&Limit{Name: "l", Capacity: 6000}); err == nil {
		t.Fatal("a limit without a refill has a rule")
	}
}

// TestMemoUnderFlood invents limits: one that is asked for among them stays, whatever it shares its place with; and one that is not asked for
// any more makes room.
func TestMemoUnderFlood(t *testing.T) {
	m := &memo{seed: maphash.MakeSeed()}
	first, err := m.rule(definition("l"))
	if err != nil {
		t.Fatal(err)
	}
	s := &m.slots[m.hash(definition("l"))%uint64(len(m.slots))]
	shares := func(i int) *Limit { // a limit with the same place
		for n := i * 1_000_000; ; n++ {
			if l := definition(fmt.Sprint("other", n)); m.hash(l)%uint64(len(m.slots)) == m.hash(definition("l"))%uint64(len(m.slots)) {
				return l
			}
		}
	}
	a, b := shares(0), shares(1)
	for i := range 3 * givenUpAfter {
		if _, err := m.rule([]*Limit{a, b}[i%2]); err != nil {
			t.Fatal(err)
		}
		if i%(givenUpAfter-1) != 0 {
			continue
		}
		if again, err := m.rule(definition("l")); err != nil || again != first {
			t.Fatalf("after %d others it has another rule: %v", i, err)
		}
	}
	for range givenUpAfter + 1 {
		if _, err := m.rule(a); err != nil {
			t.Fatal(err)
		}
	}
	if held := s.held.Load(); held.limit != *a || !held.rule.shared {
		t.Fatalf("%+v holds the place still", held.limit)
	}
}
