package lease_test

import (
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/lease"
	"github.com/jeton-dev/jeton/actor/limit"
)

// What an owner has denied, an edge denies until the owner would admit it, and asks for no lease meanwhile.
func TestShareRepeatsDenials(t *testing.T) {
	for what, c := range map[string]struct {
		heard lease.Heard
		cost  int64
		at    time.Duration // after the answer
		want  lease.Verdict
	}{
		"while it holds":             {heard: lease.Heard{}, cost: 3, at: 400 * time.Millisecond, want: lease.Denied},
		"a check that costs more":    {heard: lease.Heard{}, cost: 4, at: 400 * time.Millisecond, want: lease.Denied},
		"a check that costs less":    {heard: lease.Heard{}, cost: 2, at: 400 * time.Millisecond, want: lease.Elsewhere},
		"when it is over":            {heard: lease.Heard{}, cost: 3, at: 490 * time.Millisecond, want: lease.Elsewhere},
		"a little sooner":            {heard: lease.Heard{Random: 0.99}, cost: 3, at: 450 * time.Millisecond, want: lease.Elsewhere},
		"no longer than a second":    {heard: lease.Heard{Outcome: limit.Outcome{RetryAfter: time.Minute}}, cost: 3, at: 995 * time.Millisecond, want: lease.Elsewhere},
		"for a second":               {heard: lease.Heard{Outcome: limit.Outcome{RetryAfter: time.Minute}}, cost: 3, at: 980 * time.Millisecond, want: lease.Denied},
		"no longer than it may":      {heard: lease.Heard{Known: 100 * time.Millisecond}, cost: 3, at: 100 * time.Millisecond, want: lease.Elsewhere},
		"what cannot be known":       {heard: lease.Heard{Known: -1}, cost: 3, want: lease.Elsewhere},
		"what was admitted":          {heard: lease.Heard{Outcome: limit.Outcome{Allowed: true}}, cost: 3, want: lease.Elsewhere},
		"what never passes":          {heard: lease.Heard{Outcome: limit.Outcome{Never: true}}, cost: 3, want: lease.Elsewhere},
		"by other numbers":           {heard: lease.Heard{Outcome: limit.Outcome{Limit: 99}}, cost: 3, want: lease.Elsewhere},
		"a clock that has gone back": {heard: lease.Heard{}, cost: 3, at: -time.Millisecond, want: lease.Elsewhere},
	} {
		t.Run(what, func(t *testing.T) {
			h := newHand(t, 100, limit.Refill{Tokens: 1, Per: time.Second})
			told := c.heard
			told.Outcome.Name, told.Cost, told.Sent, told.Now = "l", 3, start, start+10*ms
			if told.Outcome.RetryAfter == 0 {
				told.Outcome.RetryAfter = 500 * time.Millisecond
			}
			if told.Outcome.Limit == 0 {
				told.Outcome.Limit = 100
			}
			if told.Known == 0 {
				told.Known = time.Second
			}
			told.Known = max(told.Known, 0)
			h.Heard(told)
			now := start + 10*ms + int64(c.at)
			if got := h.Look(now, c.cost); got != c.want {
				t.Errorf("looked at: %v, want %v", got, c.want)
			}
			_, got, ask := h.Check(now, c.cost)
			if got != c.want || c.want == lease.Denied && ask.Number != 0 {
				t.Fatalf("%v and ask %d, want %v", got, ask.Number, c.want)
			}
			if c.want != lease.Denied {
				return
			}
			if o := h.Outcome(now, c.cost, false); o.Allowed || o.Limit != 100 || o.RetryAfter != told.Outcome.RetryAfter-c.at+time.Duration(c.cost-3)*time.Second {
				t.Errorf("it says %+v", o)
			}
		})
	}
}

// A denial ends where the owner has admitted as much since, and nothing else that it has heard ends it.
func TestShareForgetsDenials(t *testing.T) {
	h := newHand(t, 100, limit.Refill{Tokens: 1, Per: time.Second})
	denied := lease.Heard{Outcome: limit.Outcome{Name: "l", Limit: 100, RetryAfter: time.Second}, Cost: 1, Sent: start, Now: start, Known: time.Second}
	h.Heard(denied)
	denied.Known = 0
	h.Heard(denied) // of another node
	if v := h.Look(start+500*ms, 1); v != lease.Denied {
		t.Errorf("%v, want a denial", v)
	}
	h.Heard(lease.Heard{Outcome: limit.Outcome{Name: "l", Limit: 100, Allowed: true}, Cost: 1, Sent: start, Now: start})
	if v := h.Look(start+500*ms, 1); v != lease.Elsewhere {
		t.Errorf("%v after the owner has admitted as much", v)
	}
}

// What is held is spent, also of a bucket of which the owner has denied a check.
func TestShareSpendsWhatItHas(t *testing.T) {
	h := newHand(t, 100_000, limit.Refill{Tokens: 10_000, Per: time.Second})
	for range 100 {
		h.check()
		h.pass(ms)
	}
	if h.Left(h.now) == 0 {
		t.Fatal("it holds nothing")
	}
	h.Heard(lease.Heard{Outcome: limit.Outcome{Name: "l", Limit: 100_000, RetryAfter: time.Second}, Cost: 1, Sent: h.now, Now: h.now, Known: time.Second})
	if _, v, _ := h.Check(h.now, 1); v != lease.Spent {
		t.Errorf("%v while %d tokens are held", v, h.Left(h.now))
	}
}
