package lease_test

import (
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/lease"
	"github.com/jeton-dev/jeton/actor/limit"
)

const (
	second = int64(time.Second)
	start  = 1_700_000_000 * second
)

func bucket(t *testing.T) *lease.Bucket {
	t.Helper()
	rule, err := limit.Limit{Name: "tokens", Capacity: 100, Refill: limit.Refill{Tokens: 1, Per: time.Second}}.Rule()
	if err != nil {
		t.Fatal(err)
	}
	return lease.NewBucket(rule)
}

// of is a lease of line in seconds.
func of(from, to, until int64) *limit.Lease {
	return &limit.Lease{Receipt: limit.Receipt{Limit: "tokens", Span: limit.Span{Start: start + from*second, End: start + to*second}}, Until: start + until*second}
}

func got(t *testing.T, b *lease.Bucket, l *limit.Lease) {
	t.Helper()
	if !b.Answer(b.Ask(), l) {
		t.Fatal("the answer to the last ask was not taken")
	}
}

// take takes tokens at a time in seconds, and says where they lie.
func take(t *testing.T, b *lease.Bucket, at, cost, from, to int64) {
	t.Helper()
	p, ok := b.Take(start+at*second, cost)
	if want := (limit.Span{Start: start + from*second, End: start + to*second}); !ok || p.Span != want {
		t.Fatalf("took %+v, %v, want %+v", p.Span, ok, want)
	}
}

func none(t *testing.T, b *lease.Bucket, at, cost int64) {
	t.Helper()
	if p, ok := b.Take(start+at*second, cost); ok {
		t.Fatalf("took %+v", p)
	}
}

// A lease is spent from its beginning, or from now on, up to its end; then the next one.
func TestTake(t *testing.T) {
	b := bucket(t)
	none(t, b, 0, 1)
	got(t, b, of(10, 20, 20))
	got(t, b, of(30, 33, 33))
	if left := b.Left(start); left != 13 {
		t.Errorf("%d are left, want 13", left)
	}
	take(t, b, 0, 4, 10, 14)
	take(t, b, 0, 7-4, 14, 17)
	take(t, b, 0, 3, 17, 20)
	take(t, b, 0, 3, 30, 33)
	none(t, b, 0, 1)
}

func TestTimePasses(t *testing.T) {
	b := bucket(t)
	got(t, b, of(10, 20, 20))
	take(t, b, 15, 2, 15, 17)
	if left := b.Left(start + 18*second); left != 2 {
		t.Errorf("%d are left at 18 s, want 2", left)
	}
	none(t, b, 18, 3)
	take(t, b, 18, 2, 18, 20)
	none(t, b, 20, 1)
}

// A lease is over at its time, whatever is left.
func TestUntil(t *testing.T) {
	b := bucket(t)
	got(t, b, of(10, 60, 10))
	take(t, b, 9, 1, 10, 11)
	none(t, b, 10, 1)
	if left := b.Left(start + 10*second); left != 0 {
		t.Errorf("%d are left", left)
	}
	if tails := b.GiveBack(start+10*second, 0); len(tails) > 0 {
		t.Errorf("gave back %+v of what is over", tails)
	}
}

// Nothing is spent further ahead than a bucket reaches.
func TestNoFurtherThanTheBucket(t *testing.T) {
	b := bucket(t)
	got(t, b, of(95, 105, 105))
	take(t, b, 0, 5, 95, 100)
	none(t, b, 0, 1)
	take(t, b, 1, 1, 100, 101)
}

// An answer counts once, and only while its number is the last one.
func TestAnswer(t *testing.T) {
	b := bucket(t)
	first := b.Ask()
	second := b.Ask()
	if b.Answer(first, of(0, 10, 10)) {
		t.Error("an answer that is too late was taken")
	}
	if !b.Asking() || !b.Answer(second, nil) || b.Asking() {
		t.Error("the answer that there is no lease was not taken")
	}
	third := b.Ask()
	if !b.Answer(third, of(0, 10, 10)) || b.Answer(third, of(0, 10, 10)) {
		t.Error("an answer was taken twice, or not at all")
	}
	if left := b.Left(start); left != 10 {
		t.Errorf("%d are left, want 10", left)
	}
}

// What is given back is gone. It is what is left, from now on.
func TestGiveBack(t *testing.T) {
	b := bucket(t)
	got(t, b, of(10, 20, 20))
	got(t, b, of(20, 23, 23))
	got(t, b, of(30, 31, 31))
	take(t, b, 0, 4, 10, 14)
	take(t, b, 0, 1, 14, 15)
	c := b.Clone()
	tails := b.GiveBack(start+21*second, 0)
	if len(tails) != 2 || tails[0].From != start+21*second || tails[0].End != start+23*second || tails[1].From != start+30*second {
		t.Errorf("gave back %+v", tails)
	}
	none(t, b, 21, 1)
	take(t, c, 21, 1, 21, 22)
}

// A lease of a bucket that was reset ends those of before.
func TestReset(t *testing.T) {
	b := bucket(t)
	got(t, b, of(10, 20, 20))
	l := of(5, 8, 8)
	l.Generation = 1
	got(t, b, l)
	n := 0
	for held, at := range b.Held() {
		if n++; held.Generation != 1 || at != limit.At(start+5*second) {
			t.Errorf("holds %+v, spent up to %v", held, at)
		}
	}
	if n != 1 {
		t.Errorf("%d leases, want that of the new generation", n)
	}
	got(t, b, of(40, 50, 50))
	none(t, b, 8, 1)
}
