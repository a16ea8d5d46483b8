package simulation

import (
	"math"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

// What all rules of a limit allow refills as fast as the fastest of them, also where the tokens of one and the time of the other multiply to
// more than 64 bits hold.
func TestAllRulesRefillAsTheFastest(t *testing.T) {
	const day = 24 * time.Hour
	for _, tokens := range [][2]int64{{100, 250}, {100_000, 250_000}, {250_000, 100_000}} {
		var rules []*limit.Rule
		for _, n := range tokens {
			rules = append(rules, mustRule(limit.Limit{Name: "api", Capacity: n, Refill: limit.Refill{Tokens: n, Per: day}}))
		}
		most := max(tokens[0], tokens[1])
		if one := asOne(rules, math.MaxInt64); one.Tokens != most || one.PerNS != int64(day) || one.Capacity != most {
			t.Errorf("rules that refill %v a day count as one of %d that refills %d in %v", tokens, one.Capacity, one.Tokens, time.Duration(one.PerNS))
		}
	}
}
