package cluster

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jeton-dev/jeton/ring"
)

// startWithin is how long after its start a node does not tell that keys cannot be decided, unless they could before.
const startWithin = 10 * time.Second

// showStuck is how many of the partitions that cannot be decided are named.
const showStuck = 5

// A Deciding says for which keys a node knows of somebody who can decide: itself, or another one that it asks.
type Deciding struct {
	Verdict ring.Verdict `json:"decides"` // all, some or none
	// Undecided is how many of the partitions nobody can decide, and First are the first few of them.
	Undecided  int              `json:"undecided_partitions"`
	Partitions int              `json:"partitions"`
	First      []ring.Partition `json:"first_undecided,omitempty"`
	// Silent are the names of their replicas that do not answer, and Refusing those that answer and take no reservations.
	Silent   []string `json:"silent,omitempty"`
	Refusing []string `json:"refusing,omitempty"`
	// Why says it in words; empty while every key can be decided.
	Why string `json:"why,omitempty"`
}

// String is the sentence for people.
func (d Deciding) String() string {
	switch d.Verdict {
	case ring.DecidesAll:
		return "every key can be decided"
	case ring.DecidesSome:
		return fmt.Sprintf("%d of %d partitions cannot be decided: %s", d.Undecided, d.Partitions, d.Why)
	case ring.DecidesNone:
	}
	return "no key can be decided: " + d.Why
}

// Degraded is what is wrong where some keys can be decided, with the partitions of the others; else it is empty.
func (d Deciding) Degraded() string {
	if d.Verdict != ring.DecidesSome {
		return ""
	}
	var first []string
	for _, p := range d.First {
		first = append(first, strconv.Itoa(int(p)))
	}
	more := ""
	if d.Undecided > len(first) {
		more = ", …"
	}
	return fmt.Sprintf("partitions %s%s (%d of %d) cannot be decided: %s", strings.Join(first, ", "), more, d.Undecided, d.Partitions, d.Why)
}

// Deciding says for which keys this node knows of somebody who can decide.
func (c *Cluster) Deciding() Deciding { return c.deciding(c.State(), c.hearing.look()) }

func (c *Cluster) deciding(s *State, known map[ring.NodeID]heard) Deciding {
	refuses := c.refuses()
	hears := func(by, id ring.NodeID) bool {
		switch {
		case by == id && id == c.config.ID:
			return refuses == ""
		case by == id || by == c.config.ID || known[by].hears == nil: // who does not tell hears whom this one hears
			return known[id].takes()
		case id == c.config.ID:
			return refuses == "" && known[by].hears[id]
		}
		return known[by].hears[id]
	}
	j := ring.Judge(s.Table, c.config.ID, hears)
	d := Deciding{
		Verdict: j.Verdict(), Undecided: len(j.Stuck), Partitions: j.Partitions,
		First: j.Stuck[:min(len(j.Stuck), showStuck)],
	}
	for _, id := range j.Silent {
		switch name := cmp.Or(s.Nodes[id].Name, id.String()); {
		case id == c.config.ID:
		case known[id].refuses == "" || !known[id].answers():
			d.Silent = append(d.Silent, name)
		default:
			d.Refusing = append(d.Refusing, name)
		}
	}
	slices.Sort(d.Silent)
	slices.Sort(d.Refusing)
	if refuses != "" { // a node that refuses everything asks nobody
		d.Verdict, d.Undecided, d.Why = ring.DecidesNone, d.Partitions, refuses
		return d
	}
	d.Why = d.why(len(s.Nodes))
	return d
}

// why says in words what keeps partitions of a cluster of that many nodes from being decided.
func (d *Deciding) why(nodes int) string {
	switch {
	case d.Verdict == ring.DecidesAll:
		return ""
	case d.Partitions == 0:
		return "this node has not heard from its cluster yet"
	case len(d.Silent)+len(d.Refusing) == 0:
		return "their replicas do not hear one another"
	}
	var whys []string
	switch n := len(d.Silent); {
	case n == 0:
	case d.Verdict == ring.DecidesNone:
		whys = append(whys, fmt.Sprintf("%d of %d nodes %s not answer: %s", n, nodes, plural(n, "does", "do"), list(d.Silent)))
	default:
		whys = append(whys, fmt.Sprintf("%s %s %s not answer", plural(n, "replica", "replicas"), list(d.Silent), plural(n, "does", "do")))
	}
	if n := len(d.Refusing); n > 0 {
		whys = append(whys, fmt.Sprintf("%s %s %s no reservations", plural(n, "replica", "replicas"), list(d.Refusing), plural(n, "takes", "take")))
	}
	return strings.Join(whys, "; ")
}

func plural(n int, one, more string) string {
	if n == 1 {
		return one
	}
	return more
}

// list is names as a sentence has them.
func list(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// tellDeciding logs when keys cannot be decided any more, and when they can again. The goroutine that pings calls it.
func (c *Cluster) tellDeciding() {
	if c.refuses() != "" {
		return // which the log has from elsewhere
	}
	d := c.Deciding()
	before := c.told.Load()
	if before == nil && d.Verdict != ring.DecidesAll && time.Since(c.began) < startWithin {
		return // the others may be about to start, too
	}
	c.told.Store(&d)
	switch {
	case before == nil && d.Verdict == ring.DecidesAll, before != nil && before.String() == d.String():
		return
	case d.Verdict == ring.DecidesAll:
		c.logger.Info("every key can be decided again")
	case d.Verdict == ring.DecidesSome:
		c.logger.Warn("some keys cannot be decided", "partitions", d.Undecided, "of", d.Partitions, "first", d.First, "why", d.Why)
	default:
		c.logger.Warn("no key can be decided", "why", d.Why)
	}
	if c.config.OnDeciding != nil {
		c.config.OnDeciding(d)
	}
}
