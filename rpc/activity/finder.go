package activity

import (
	"fmt"
	"slices"
	"strings"
)

// Pages that say more.
const (
	whatIsWrong   = "operate.md#what-is-wrong-now"
	hotKeys       = "operate.md#hot-keys"
	nodeKilled    = "when-it-fails.md#a-node-is-killed"
	nodeFrozen    = "when-it-fails.md#a-node-is-frozen-or-cut-off-without-a-word"
	diskHangs     = "when-it-fails.md#a-disk-hangs"
	majorityLost  = "when-it-fails.md#a-majority-of-a-keys-replicas-is-lost-or-all-nodes-are"
	outOfMemory   = "when-it-fails.md#a-node-runs-out-of-memory"
	failsOpen     = "when-it-fails.md#what-you-choose-allow-deny-local"
	atANode       = "when-it-fails.md#at-a-node"
	whenOverladen = "when-it-fails.md#the-cluster-is-overloaded"
)

// mostNamed is how many things a problem names.
const mostNamed = 3

// leastRate is of checks a second: fewer are no problem.
const leastRate = 0.1

// A finder finds what is wrong.
type finder struct {
	view          *View
	before, after *Look
	found         []Problem
}

func (f *finder) say(p Problem) { f.found = append(f.found, p) }

// number is a rate for people.
func number(n float64) string {
	if n < 10 {
		return fmt.Sprintf("%.1f", n)
	}
	return fmt.Sprintf("%.0f", n)
}

// few names the first of some things.
func few(names []string) string {
	if len(names) <= mostNamed {
		return strings.Join(names, ", ")
	}
	return strings.Join(slices.Clone(names[:mostNamed]), ", ") + fmt.Sprintf(" and %d more", len(names)-mostNamed)
}
