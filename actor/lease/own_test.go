package lease_test

import (
	"math/rand/v2"
	"slices"
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

// TestOwnIsAQueue compares a bucket with the queue that it stands for: time takes from the front, a check is put at the end, and what comes back is taken out of its place.
func TestOwnIsAQueue(t *testing.T) {
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	for range 200 {
		capacity := 1 + random.Int64N(30)
		rule, err := limit.Limit{Name: "l", Capacity: capacity, Refill: limit.Refill{Tokens: 1, Per: time.Second}, Consistency: limit.OfEdge}.Rule()
		if err != nil {
			t.Fatal(err)
		}
		o := lease.NewOwn(rule)
		var queue []int64 // what is left of each piece, in nanoseconds
		var pieces []lease.Piece
		now, total := start, int64(0)
		for step := range 100 {
			switch random.IntN(3) {
			case 0:
				passed := random.Int64N(3 * second)
				now += passed
				for i := range queue {
					gone := min(passed, queue[i])
					queue[i], passed, total = queue[i]-gone, passed-gone, total-gone
				}
			case 1:
				cost := 1 + random.Int64N(capacity)
				piece, v, _ := o.Check(now, cost)
				if fits := total+cost*second <= capacity*second; (v == lease.Spent) != fits {
					t.Fatalf("seed %d, step %d: a check of %d is told %v, and it fits: %v", seed, step, cost, v, fits)
				}
				if v == lease.Spent {
					queue, pieces, total = append(queue, cost*second), append(pieces, piece), total+cost*second
				}
			case 2:
				if len(pieces) == 0 {
					continue
				}
				i := random.IntN(len(pieces))
				if back := o.Undo(pieces[i], now); back != (queue[i] > 0) {
					t.Fatalf("seed %d, step %d: a piece of which %d ns are left comes back: %v", seed, step, queue[i], back)
				}
				total -= queue[i]
				queue, pieces = slices.Delete(queue, i, i+1), slices.Delete(pieces, i, i+1)
			}
			if left, want := o.Left(now), (capacity*second-total)/second; left != want {
				t.Fatalf("seed %d, step %d: %d are left, want %d", seed, step, left, want)
			}
		}
	}
}
