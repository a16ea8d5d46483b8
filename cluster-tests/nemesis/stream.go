package nemesis

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// A rule is a limit as the document has it.
type rule struct{ name, fields string }

// A stream is one kind of checks.
type stream struct {
	rules   []rule        // the limits of each check, which admit it together or not at all
	share   float64       // of all checks
	burst   int           // so many checks in a row go to one key; 0 for one
	keys    float64       // how many keys take turns, as a part of those that the run has, one at least; negative: see opening
	cost    int64         // the most tokens of a check; each costs one of 1 to cost
	returns float64       // the share of what was admitted that is given back
	resets  bool          // buckets are reset
	permits bool          // what is admitted is extended a few times, and then, as a rule, given back: or its caller dies
	holds   time.Duration // its checks hold what they ask for so long, and it is settled: or their callers die
	wait    time.Duration // how long its checks may wait, at most
	plan    string        // by which it asks
	plain   bool          // gateways and doors can ask for it too: one limit, one token
	through string        // the only way to ask for it; empty for any
}

// The limits that operators change: their numbers, while checks of them are under way.
const (
	changedLimit   = "changed"
	changedWindow  = "changed-window"
	changedPermits = "changed-permits"
)

// streams are what is asked: small and large buckets that are asked for more than they refill, one key that is always at its
// limit, buckets that refill so slowly that every token which comes back by mistake shows, what is given back, what is
// reset, what gateways and clients decide by leases, one key after the other, or tell afterwards, two limits at once, checks that wait, by themselves and with a limit that is not waited for, plans, holds of budgets that
// any node settles and of one that only its owner does, and limits of every other algorithm: among them a window that is asked for so
// often that its owner takes room ahead, and permits whose callers die; and one that only a door knows, by the rules in its files.
var streams = []stream{
	{rules: []rule{{"small", "capacity: 3, refill: 1/s"}}, share: 0.18, keys: 0.85, cost: 1, plain: true},
	{rules: []rule{{"large", "capacity: 1000, refill: 100/s"}}, share: 0.08, keys: 0.01, cost: 20},
	{rules: []rule{{"hot", "capacity: 100, refill: 100/s"}}, share: 0.09, cost: 1, plain: true},
	{rules: []rule{{"leased", "capacity: 150, refill: 5/s, consistency: leased"}}, share: 0.06, burst: 240, keys: 0.02, cost: 1, plain: true},
	{rules: []rule{{"leased-fast", "capacity: 40, refill: 40/s, consistency: leased"}}, share: 0.02, burst: 80, keys: 0.005, cost: 1, plain: true},
	{
		rules: []rule{{"leased-window", "algorithm: fixed-window, limit: 150, window: 12s, consistency: leased"}},
		share: 0.03, burst: 200, keys: 0.002, cost: 1, plain: true,
	},
	{rules: []rule{{"leased-some", "capacity: 20, refill: 20/s, consistency: leased"}}, share: 0.03, keys: 0.002, cost: 3},
	{rules: []rule{{"eventual", "capacity: 20, refill: 5/s, consistency: eventual, sync: 500ms"}}, share: 0.01, cost: 1, plain: true},
	{rules: []rule{{"slow", "capacity: 10, refill: 1/1h"}}, share: 0.06, keys: -1, cost: 2},
	{rules: []rule{{"given", "capacity: 5, refill: 1/s"}}, share: 0.06, keys: 0.08, cost: 2, returns: 0.5},
	{rules: []rule{{"reset", "capacity: 5, refill: 1/5s"}}, share: 0.03, keys: 0.02, cost: 1, resets: true},
	{rules: []rule{{"pair-a", "capacity: 20, refill: 10/s"}, {"pair-b", "capacity: 100, refill: 5/s"}}, share: 0.03, keys: 0.01, cost: 1},
	{rules: []rule{{"fixed", "algorithm: fixed-window, limit: 5, window: 3s"}}, share: 0.025, keys: 0.005, cost: 1, plain: true},
	{rules: []rule{{"fixed-given", "algorithm: fixed-window, limit: 8, window: 4s"}}, share: 0.01, keys: 0.002, cost: 2, returns: 0.3},
	{rules: []rule{{"sliding", "algorithm: sliding-window, limit: 5, window: 3s"}}, share: 0.025, keys: 0.005, cost: 2, returns: 0.3},
	{rules: []rule{{"sliding-hot", "algorithm: sliding-window, limit: 600, window: 6s"}}, share: 0.1, cost: 1, plain: true},
	{rules: []rule{{"sliding-reset", "algorithm: sliding-window, limit: 5, window: 3s"}}, share: 0.01, keys: 0.002, cost: 1, resets: true},
	{rules: []rule{{"weighted", "algorithm: sliding-window, limit: 4, window: 2s, weighted: true"}}, share: 0.02, keys: 0.004, cost: 1},
	{rules: []rule{{"log", "algorithm: sliding-log, limit: 5, window: 3s"}}, share: 0.015, keys: 0.003, cost: 2, returns: 0.3},
	{rules: []rule{{"permits", "algorithm: concurrency, limit: 3, lease: 3s"}}, share: 0.015, keys: 0.003, cost: 2, returns: 0.6, permits: true},
	{rules: []rule{{"queue", "capacity: 2, refill: 2/s, wait: 3s"}}, share: 0.02, keys: 0.002, cost: 2, returns: 0.3, wait: 3 * time.Second},
	{
		rules: []rule{{"queue-a", "capacity: 1, refill: 1/s, wait: 2s"}, {"queue-b", "algorithm: fixed-window, limit: 5, window: 1s, wait: 5s"}},
		share: 0.01, keys: 0.001, cost: 1, returns: 0.3, wait: 2 * time.Second,
	},
	{rules: []rule{{"planned", "capacity: 2, refill: 1/s, plans: {pro: {capacity: 10, refill: 5/s}}"}}, share: 0.01, keys: 0.001, cost: 2, plan: "pro"},
	{rules: []rule{{"held", "capacity: 300, refill: 100/s, hold: 10s, on_expiry: free, max_debt: 50"}}, share: 0.01, keys: 0.002, cost: 40, holds: 3 * time.Second},
	{
		rules: []rule{
			{"held-window", "algorithm: sliding-window, limit: 400, window: 6s, hold: 10s, max_debt: 50"},
			{"held-month", "algorithm: fixed-window, limit: 1000000000, window: 720h, hold: 10s, on_expiry: free"},
		},
		share: 0.01, keys: 0.002, cost: 40, holds: 2 * time.Second,
	},
	{rules: []rule{{"held-slow", "capacity: 2000, refill: 2000/20m, hold: 10s, on_expiry: free"}}, share: 0.01, keys: 0.002, cost: 40, holds: 2 * time.Second},
	{rules: []rule{{ruled, "algorithm: fixed-window, limit: 2, window: 1s"}}, share: 0.01, keys: 0.001, cost: 1, plain: true, through: throughRLS},
}

// changing are the streams of the limits that operators change.
var changing = []stream{
	{rules: []rule{{name: changedLimit}}, share: 0.01, keys: 0.002, cost: 1},
	{rules: []rule{{name: changedWindow}}, share: 0.005, keys: 0.001, cost: 1, returns: 0.2},
	{rules: []rule{{name: changedPermits}}, share: 0.005, keys: 0.001, cost: 1, returns: 0.6, permits: true},
}

// Of the buckets that refill slowly, so many are opened in a second; every check goes to one of the newest, or to any of
// those that were opened before.
const (
	openedPerSecond = 2
	newest          = 20
	toNewest        = 0.3
)

// askedBy says whether a caller can make checks of the stream, and what comes after them.
func (s *stream) askedBy(c *caller, returned bool) bool {
	if s.through != "" || c.through == throughRLS {
		return c.through == s.through
	}
	return (s.plain || !c.plain) && (c.rpc != nil || !returned && !s.permits && s.holds == 0)
}

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
	i := n / max(1, s.burst) % count
	if s.keys < 0 {
		i = r.IntN(count)
		if r.Float64() < toNewest {
			i = count - newest + r.IntN(newest)
		}
	}
	return s.name(i)
}

// name is the i-th key of a stream. It has no colon, which gateways escape: to nodes it is the same key whoever asks.
func (s *stream) name(i int) string { return fmt.Sprintf("%s.%d", s.rules[0].name, i) }
