package lease_test

import (
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/lease"
	"github.com/jeton-dev/jeton/actor/limit"
)

// What comes back to an edge's own bucket does so as far as time has not brought it back already, and only then.
func TestOwnTakesBackWhatTimeHasNot(t *testing.T) {
	rule, err := limit.Limit{Name: "l", Capacity: 10, Refill: limit.Refill{Tokens: 1, Per: time.Second}}.Rule()
	if err != nil {
		t.Fatal(err)
	}
	o := lease.NewOwn(rule)
	ten, _, _ := o.Check(start, 10)
	five, _, _ := o.Check(start+5*second, 5)
	if !o.Undo(ten, start+5*second) || o.Left(start+5*second) != 5 {
		t.Errorf("ten were spent five seconds ago, and five now; with what comes back of the ten %d are left, want 5", o.Left(start+5*second))
	}
	if !o.Undo(five, start+6*second) || o.Left(start+6*second) != 10 {
		t.Errorf("all but what was admitted is back, and %d are left", o.Left(start+6*second))
	}
	old, _, _ := o.Check(start+20*second, 3)
	if o.Undo(old, start+23*second) {
		t.Error("what time has brought back comes back again")
	}
}

// A bucket goes on under other numbers: what was spent stays spent, and comes back as the line that it was.
func TestOwnUnderAnotherRule(t *testing.T) {
	slow, err := limit.Limit{Name: "l", Capacity: 10, Refill: limit.Refill{Tokens: 1, Per: time.Second}}.Rule()
	if err != nil {
		t.Fatal(err)
	}
	fast, err := limit.Limit{Name: "l", Capacity: 30, Refill: limit.Refill{Tokens: 3, Per: time.Second}}.Rule()
	if err != nil {
		t.Fatal(err)
	}
	o := lease.NewOwn(slow)
	piece, _, _ := o.Check(start, 6)
	o.Under(fast)
	if left := o.Left(start); left != 30-18 {
		t.Errorf("six of ten were spent; of thirty, %d are left, want 12", left)
	}
	third, _, _ := o.Check(start, 1)
	if !o.Undo(third, start) || o.Left(start) != 12 {
		t.Errorf("one came back, and %d are left, want 12", o.Left(start))
	}
	if !o.Undo(piece, start) || o.Left(start) != 30 {
		t.Errorf("all came back, and %d are left", o.Left(start))
	}
}
