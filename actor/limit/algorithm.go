package limit

import (
	"cmp"
	"maps"
	"slices"
)

// The algorithms. TokenBucket is the default.
const (
	TokenBucket   = "token-bucket"
	FixedWindow   = "fixed-window"
	SlidingWindow = "sliding-window"
	SlidingLog    = "sliding-log"
	Concurrency   = "concurrency"
)

// algorithms lists the algorithms that spend a line, by their names in a limits document: the constructor of its rules, and the
// names of the fields that its limits have besides the wait, the reserve and those of holds, of which the first holds the Capacity. Each has a file of its own.
var algorithms = withLineFields(map[string]compiler{
	TokenBucket: {newBucket, []string{"capacity", "refill"}},
	FixedWindow: {newFixedWindow, []string{"limit", "window", "per", "timezone", "anchor"}},
})

// countingAlgorithms lists those that count entries, likewise.
var countingAlgorithms = map[string]compiler{
	SlidingWindow: {newSlidingWindow, append([]string{"limit", "window", "weighted", "reserve"}, holdFields...)},
	SlidingLog:    {newSlidingLog, append([]string{"limit", "window"}, holdFields...)},
	Concurrency:   {newConcurrency, []string{"limit", "lease"}},
}

// A compiler makes the rules of an algorithm. Make checks the fields that it has; Capacity is at least 1 already, and all other
// fields are empty.
type compiler struct {
	make   func(Limit) (*Rule, error)
	fields []string
}

// withLineFields gives every one of them the fields of all limits that spend a line.
func withLineFields(all map[string]compiler) map[string]compiler {
	for name, c := range all {
		c.fields = slices.Concat(c.fields, []string{"wait", "reserve"}, holdFields)
		all[name] = c
	}
	return all
}

// compilerOf is that of an algorithm.
func compilerOf(name string) (c compiler, ok bool) {
	if c, ok = algorithms[name]; !ok {
		c, ok = countingAlgorithms[name]
	}
	return c, ok
}

// Algorithms are the names that a Limit's Algorithm may have, sorted.
func Algorithms() []string { return slices.Sorted(slices.Values(append(Spending(), Counting()...))) }

// Spending are the names of the algorithms that spend a line, sorted.
func Spending() []string { return slices.Sorted(maps.Keys(algorithms)) }

// Counting are the names of the algorithms that count entries, sorted.
func Counting() []string { return slices.Sorted(maps.Keys(countingAlgorithms)) }

// Fields are the names of the fields that limits of an algorithm have besides those of every limit. The first of them holds the
// Capacity. There are none of an unknown algorithm.
func Fields(algorithm string) []string {
	c, _ := compilerOf(cmp.Or(algorithm, TokenBucket))
	return c.fields
}
