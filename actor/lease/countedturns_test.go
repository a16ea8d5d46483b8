package lease_test

import (
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/lease"
	"github.com/jeton-dev/jeton/actor/limit"
)

// A bucket that two plans share by turns reports what was spent of it, and not more for each turn.
func TestCountedByTurns(t *testing.T) {
	free, pro := eventual(t, 100, slowly), eventual(t, 10000, limit.Refill{Tokens: 100, Per: time.Second})
	c := lease.NewCounted(free)
	_, _, ask := c.Check(start, 1)
	hears(t, c, ask, start, 100, 1)
	line, told := 0.0, 0.0
	for i := range 40 { // less than an eighth of a second
		for _, rule := range []*limit.Rule{pro, free} {
			c.Under(rule)
			if i > 0 && rule == free {
				continue // looked at under the plan, and nothing taken
			}
			if _, v, _ := c.Check(start+int64(i), 1); v == lease.Spent {
				line += rule.PerToken() / 1e9
			}
		}
	}
	for _, ask := range c.Flush(start + second/10) {
		told += float64(ask.Tokens) * c.Rule().PerToken() / 1e9
	}
	if told > line+1.1 {
		t.Errorf("%.2f s of line were spent, and %.2f s are reported", line, told)
	}
}
