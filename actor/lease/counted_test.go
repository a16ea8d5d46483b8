package lease_test

import (
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/lease"
	"github.com/jeton-dev/jeton/actor/limit"
)

func eventual(t *testing.T, capacity int64, refill limit.Refill) *limit.Rule {
	t.Helper()
	rule, err := limit.Limit{Name: "views", Capacity: capacity, Refill: refill, Consistency: limit.Eventual}.Rule()
	if err != nil {
		t.Fatal(err)
	}
	return rule
}

var slowly = limit.Refill{Tokens: 1, Per: time.Second}

// heard is a Counted of 100 tokens, 1/s, that has heard at start that so many are left, and that this is its share of them.
func heard(t *testing.T, left int64, share float64) *lease.Counted {
	t.Helper()
	c := lease.NewCounted(eventual(t, 100, slowly))
	_, v, ask := c.Check(start, 1)
	if v != lease.Waits || ask.Number == 0 || ask.Tokens != 0 || ask.Asked != 1 {
		t.Fatalf("before it has heard: %v, %+v", v, ask)
	}
	hears(t, c, ask, start, left, share)
	return c
}

func hears(t *testing.T, c *lease.Counted, ask lease.Ask, at, left int64, share float64) {
	t.Helper()
	told := &limit.Reported{Spent: at + (100-left)*second, Now: at, Share: int64(share * limit.ShareWhole)}
	if !c.Answered(lease.Answer{Number: ask.Number, Sent: at, Now: at, Reported: told}, 0) {
		t.Fatal("the answer was not taken")
	}
}

// burst makes checks of one token at a time, and says how many were admitted, and what there is to be sent.
func burst(c *lease.Counted, at int64, checks int) (admitted int, asks []lease.Ask) {
	for range checks {
		_, v, ask := c.Check(at, 1)
		if v == lease.Spent {
			admitted++
		}
		if ask.Number != 0 {
			asks = append(asks, ask)
		}
	}
	return admitted, asks
}

// An edge admits its share of what is left, and of what comes back since.
func TestCountedTakesItsShare(t *testing.T) {
	c := heard(t, 80, 0.25)
	if got, asks := burst(c, start+second/10, 50); got != 20 || len(asks) != 0 {
		t.Errorf("of 80 tokens and a share of a quarter, %d were admitted, and %d asks are to be sent", got, len(asks))
	}
	later := heard(t, 40, 0.25)
	if got, asks := burst(later, start+40*second, 50); got != 20 || len(asks) != 1 {
		t.Errorf("of 40 tokens, and 40 that came back, %d were admitted, and %d asks are to be sent", got, len(asks))
	}
}

// A flood that is denied is one report, and then one for each time between two; those that fail pause as long.
func TestCountedAsksOnce(t *testing.T) {
	for name, fails := range map[string]bool{"answered": false, "failed": true} {
		c := heard(t, 0, 1)
		sent := 0
		for at := start; at < start+20*second; at += second / 100 {
			_, v, ask := c.Check(at, 100)
			if v == lease.Spent || v == lease.Waits {
				t.Fatalf("%s: a flood is told %v", name, v)
			}
			if ask.Number == 0 {
				continue
			}
			sent++
			if fails {
				c.Answered(lease.Answer{Number: ask.Number, Sent: at, Now: at}, 0)
			} else {
				hears(t, c, ask, at, 0, 1)
			}
		}
		if sent < 20 || sent > 24 {
			t.Errorf("%s: %d reports in 20 s", name, sent)
		}
	}
}

// A report without an answer is made again as it was, by the same number; what was admitted meanwhile is in the next one.
func TestCountedReportsAgain(t *testing.T) {
	c := heard(t, 100, 1)
	burst(c, start, 5)
	first := c.Due(start + 2*second)
	burst(c, start+2*second, 3)
	c.Answered(lease.Answer{Number: first.Number, Now: start + 3*second}, 0)
	if ask := c.Due(start + 3*second); ask.Number != 0 {
		t.Errorf("a report that failed is made again at once: %+v", ask)
	}
	again := c.Due(start + 4*second)
	if again.Number != first.Number || again.Tokens != 5 || again.Age != first.Age+2*second {
		t.Errorf("made again as %+v, and it was %+v", again, first)
	}
	hears(t, c, again, start+4*second, 90, 1)
	rest := c.Due(start + 5*second)
	if rest.Number == again.Number || rest.Tokens+again.Tokens != 8 {
		t.Errorf("then %+v is reported, and of 8 tokens %d were", rest, again.Tokens)
	}
}

// What comes back after its report is spent before anything is reported again, as far as the bucket lacks of being full.
func TestCountedCredit(t *testing.T) {
	c := heard(t, 100, 1)
	piece, _, _ := c.Check(start, 30)
	ask := c.Due(start + second)
	if ask.Tokens != 30 {
		t.Fatalf("reported %+v", ask)
	}
	hears(t, c, ask, start+second, 70, 1)
	if !c.Undo(piece, start+second) {
		t.Fatal("it does not come back")
	}
	if left := c.Left(start + second); left != 99 { // a second of what it took has come back by itself
		t.Errorf("%d are left, want 99", left)
	}
	burst(c, start+second, 20)
	if ask := c.Due(start + 3*second); ask.Tokens != 0 {
		t.Errorf("of 20 that came back first, %+v is reported", ask)
	}
	full := heard(t, 100, 1)
	piece, _, _ = full.Check(start, 30)
	hears(t, full, full.Due(start+second), start+second, 70, 1)
	if full.Undo(piece, start+40*second) {
		t.Error("it comes back to a bucket that is full again")
	}
}

// A check that costs more than an edge may take goes to the owner if that may have as much: one at a time, and none after a denial until the owner is heard.
func TestCountedAsksForMuch(t *testing.T) {
	c := heard(t, 80, 0.1)
	says := func(want lease.Verdict, cost int64) {
		t.Helper()
		if _, v, _ := c.Check(start, cost); v != want {
			t.Errorf("a check of %d is told %v, want %v", cost, v, want)
		}
	}
	says(lease.Denied, 81)
	says(lease.Elsewhere, 30)
	says(lease.Denied, 30)
	c.Heard(lease.Heard{Outcome: limit.Outcome{Allowed: true}, Taken: true})
	says(lease.Elsewhere, 30)
	c.Heard(lease.Heard{})
	says(lease.Denied, 20)
}

// A denial says when the bucket has as much, as the owner said it, less what has passed.
func TestCountedSaysWhen(t *testing.T) {
	c := heard(t, -20, 1)
	if o := c.Outcome(start+5*second, 1, false); o.RetryAfter != 16*time.Second || o.ResetAfter != 115*time.Second || o.Remaining != 0 {
		t.Errorf("with 20 tokens of debt, 5 s later: %+v", o)
	}
}

// Under other numbers, what was spent and what is to be reported are as much line as before.
func TestCountedUnder(t *testing.T) {
	c := heard(t, 100, 1)
	burst(c, start, 40)
	c.Under(eventual(t, 200, limit.Refill{Tokens: 2, Per: time.Second}))
	if left := c.Left(start); left != 120 {
		t.Errorf("%d are left of 200, want 120", left)
	}
	c.Answered(lease.Answer{Number: uint64(start) + 1, Now: start}, 0)
	total := int64(0)
	for _, ask := range c.Flush(start + second) {
		total += ask.Tokens
	}
	if total != 80 {
		t.Errorf("%d tokens are reported for 40 of twice the line", total)
	}
}
