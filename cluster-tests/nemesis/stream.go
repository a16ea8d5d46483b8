package nemesis

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// A rule is a limit as the document has it.
type rule struct {
	name     string
	capacity int64
	refill   string
}

// A stream is one kind of checks.
type stream struct {
	rules   []rule  // the limits of each check, which admit it together or not at all
	share   float64 // of all checks
	keys    float64 // how many keys take turns, as a part of those that the run has, one at least; negative: see opening
	cost    int64   // the most tokens of a check; each costs one of 1 to cost
	returns float64 // the share of what was admitted that is given back
	resets  bool    // buckets are reset
	plain   bool    // gateways can ask for it too: one limit, one token
}

// changedLimit is the limit that operators change.
const changedLimit = "changed"

// streams are what is asked: small and large buckets that are asked for more than they refill, one key that is always at its
// limit, buckets that refill so slowly that every token which comes back by mistake shows, what is given back, what is
// reset, and two limits at once.
var streams = []stream{
	{rules: []rule{{"small", 3, "1/s"}}, share: 0.6, keys: 0.85, cost: 1, plain: true},
	{rules: []rule{{"large", 1000, "100/s"}}, share: 0.08, keys: 0.01, cost: 20},
	{rules: []rule{{"hot", 100, "100/s"}}, share: 0.12, cost: 1, plain: true},
	{rules: []rule{{"slow", 10, "1/1h"}}, share: 0.06, keys: -1, cost: 2},
	{rules: []rule{{"given", 5, "1/s"}}, share: 0.06, keys: 0.08, cost: 2, returns: 0.5},
	{rules: []rule{{"reset", 5, "1/5s"}}, share: 0.03, keys: 0.02, cost: 1, resets: true},
	{rules: []rule{{"pair-a", 20, "10/s"}, {"pair-b", 100, "5/s"}}, share: 0.04, keys: 0.01, cost: 1},
}

// changing is the stream of the limit that operators change.
var changing = stream{rules: []rule{{name: changedLimit}}, share: 0.01, keys: 0.002, cost: 1}

// Of the buckets that refill slowly, so many are opened in a second; every check goes to one of the newest, or to any of
// those that were opened before.
const (
	openedPerSecond = 2
	newest          = 20
	toNewest        = 0.3
)

// keyCount is how many keys of a stream take turns in a run with so many keys.
func (s *stream) keyCount(all int, elapsed time.Duration) int {
	if s.keys < 0 {
		return newest + int(elapsed.Seconds()*openedPerSecond)
	}
	return max(1, int(s.keys*float64(all)))
}

// key is the key of the n-th check of a stream.
func (s *stream) key(r *rand.Rand, n, all int, elapsed time.Duration) string {
	count := s.keyCount(all, elapsed)
	i := n % count
	if s.keys < 0 {
		i = r.IntN(count)
		if r.Float64() < toNewest {
			i = count - newest + r.IntN(newest)
		}
	}
	return s.name(i)
}

// name is the i-th key of a stream.
func (s *stream) name(i int) string { return fmt.Sprintf("%s:%d", s.rules[0].name, i) }
