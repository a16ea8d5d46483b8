package limit_test

import (
	"math"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

const (
	lineEnd = math.MaxInt64
	epoch   = int64(1_800_000_000_000_000_000) // a time of day in 2027
)

func pos(ns int64, frac uint64) limit.Pos { return limit.Pos{NS: ns, Frac: frac} }

func TestPosOrder(t *testing.T) {
	ordered := []limit.Pos{pos(-1, 0), pos(-1, 6), pos(0, 0), pos(0, 1), pos(1, 0), pos(epoch, 2), pos(epoch, 3), pos(lineEnd, 0)}
	for i, a := range ordered {
		for j, b := range ordered {
			want := 0
			switch {
			case i < j:
				want = -1
			case i > j:
				want = 1
			}
			if got := a.Compare(b); got != want {
				t.Errorf("%v against %v: %d, want %d", a, b, got, want)
			}
			if got := a.After(b); got != (i > j) {
				t.Errorf("%v after %v: %v", a, b, got)
			}
			if got := limit.Later(a, b); got != ordered[max(i, j)] {
				t.Errorf("the later of %v and %v is %v", a, b, got)
			}
		}
	}
}

func TestPosCeil(t *testing.T) {
	for p, want := range map[limit.Pos]int64{
		pos(5, 0): 5, pos(5, 1): 6, pos(-5, 0): -5, pos(-5, 1): -4, pos(lineEnd-1, 1): lineEnd, pos(lineEnd, 1): lineEnd,
	} {
		if got := p.Ceil(); got != want {
			t.Errorf("ceiling of %v is %d, want %d", p, got, want)
		}
	}
	if got := limit.At(epoch); got != pos(epoch, 0) {
		t.Errorf("At: %v", got)
	}
}

func TestAddSub(t *testing.T) {
	third := mustRule(t, 10, limit.Refill{Tokens: 3, Per: 7}) // positions in thirds of a nanosecond
	for _, c := range []struct{ a, b, sum limit.Pos }{
		{pos(1, 0), pos(2, 0), pos(3, 0)},
		{pos(1, 1), pos(2, 1), pos(3, 2)},
		{pos(1, 2), pos(2, 1), pos(4, 0)},
		{pos(1, 2), pos(2, 2), pos(4, 1)},
		{pos(-1, 2), pos(0, 2), pos(0, 1)},
		{pos(epoch, 2), pos(0, 1), pos(epoch+1, 0)},
		{pos(lineEnd-1, 2), pos(0, 1), pos(lineEnd, 0)},
		{pos(-5, 0), pos(lineEnd, 0), pos(lineEnd-5, 0)},
	} {
		if got := third.Add(c.a, c.b); got != c.sum {
			t.Errorf("%v + %v is %v, want %v", c.a, c.b, got, c.sum)
		}
		if got := third.Sub(c.sum, c.b); got != c.a {
			t.Errorf("%v − %v is %v, want %v", c.sum, c.b, got, c.a)
		}
	}
}

func TestAddStopsAtTheEndOfTheLine(t *testing.T) {
	third := mustRule(t, 10, limit.Refill{Tokens: 3, Per: 7})
	for _, c := range [][2]limit.Pos{
		{pos(lineEnd, 0), pos(1, 0)},
		{pos(lineEnd, 2), pos(0, 1)},
		{pos(lineEnd-1, 2), pos(1, 1)},
		{pos(1, 0), pos(lineEnd, 0)},
		{pos(lineEnd, 2), pos(lineEnd, 2)},
		{pos(epoch, 0), pos(lineEnd, 0)},
	} {
		if got := third.Add(c[0], c[1]); got != pos(lineEnd, 0) {
			t.Errorf("%v + %v is %v, want the end of the line", c[0], c[1], got)
		}
	}
}

func TestLength(t *testing.T) {
	for _, c := range []struct {
		refill limit.Refill
		cost   int64
		want   limit.Pos
	}{
		{perSecond(1), 0, pos(0, 0)},
		{perSecond(1), 1, pos(1e9, 0)},
		{perSecond(1), 7, pos(7e9, 0)},
		{perSecond(3), 1, pos(333_333_333, 1)}, // 10⁹/3: thirds
		{perSecond(3), 2, pos(666_666_666, 2)}, //
		{perSecond(3), 3, pos(1e9, 0)},         //
		{perSecond(4), 1, pos(250_000_000, 0)}, // in lowest terms: no fraction
		{perSecond(700_000_000), 1, pos(1, 3)}, // 10/7 ns
		{perSecond(700_000_000), 7, pos(10, 0)},
		{perSecond(1e9), 1 << 61, pos(1<<61, 0)},
		{limit.Refill{Tokens: 1<<63 - 2, Per: 1<<63 - 1}, 5, pos(5, 5)},
		{limit.Refill{Tokens: 1, Per: time.Hour}, 1 << 62, pos(lineEnd, 0)}, // out of range
		{perSecond(1e9), lineEnd, pos(lineEnd, 0)},
	} {
		if got := mustRule(t, 1, c.refill).Length(c.cost); got != c.want {
			t.Errorf("%d tokens at %v are %v long, want %v", c.cost, c.refill, got, c.want)
		}
	}
}

func TestCarry(t *testing.T) {
	old := mustRule(t, 10, perSecond(700_000_000)) // sevenths
	for _, c := range []struct {
		name       string
		to         *limit.Rule
		same       bool
		from, want limit.Pos
	}{
		{"another capacity", mustRule(t, 99, perSecond(700_000_000)), true, pos(epoch, 3), pos(epoch, 3)},
		{"the same sevenths of another refill", mustRule(t, 10, perSecond(7)), true, pos(epoch, 3), pos(epoch, 3)},
		{"thirds, rounded up", mustRule(t, 10, perSecond(3)), false, pos(epoch, 3), pos(epoch+1, 0)},
		{"whole nanoseconds, rounded up", mustRule(t, 10, perSecond(1)), false, pos(epoch, 6), pos(epoch+1, 0)},
		{"nothing to round", mustRule(t, 10, perSecond(1)), false, pos(epoch, 0), pos(epoch, 0)},
		{"an idle bucket", mustRule(t, 10, perSecond(1)), false, pos(0, 0), pos(0, 0)},
		{"the end of the line", mustRule(t, 10, perSecond(1)), false, pos(lineEnd, 6), pos(lineEnd, 0)},
	} {
		if got := c.to.Same(old); got != c.same {
			t.Errorf("%s: same is %v", c.name, got)
		}
		if got := c.to.Carry(old, c.from); got != c.want {
			t.Errorf("%s: %v is carried to %v, want %v", c.name, c.from, got, c.want)
		}
	}
}
