package limit

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// TestDefinedRule asks for the same definition twice: it has one rule, of which nobody counts the memory. One that differs in anything has its own.
func TestDefinedRule(t *testing.T) {
	l := &Limit{Name: fmt.Sprint("l", rand.Uint64()), Capacity: 6000, Refill: Refill{Tokens: 6000, Per: time.Minute}}
	first, err := definedRule(l)
	if err != nil {
		t.Fatal(err)
	}
	again, err := definedRule(l)
	if err != nil || !again.Inline || again.shared != (again == first) || again.shared != (again.Bytes() == 0) {
		t.Fatalf("%p and %p, %d bytes, shared %t, %v", first, again, again.Bytes(), again.shared, err)
	}
	other := *l
	other.MaxWait = time.Second // is no part of the hash
	different, err := definedRule(&other)
	if err != nil || different.MaxWait != time.Second || again.shared && different.Bytes() == 0 {
		t.Fatalf("%+v, %v", different, err)
	}
	if _, err := definedRule(&Limit{Name: l.Name, Capacity: 6000}); err == nil {
		t.Fatal("a limit without a refill has a rule")
	}
}
