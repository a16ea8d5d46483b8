package cluster

import (
	"cmp"
	"slices"
	"time"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/ring/agreed"
)

// showStuck is how many of the partitions that cannot be decided are named.
const showStuck = 5

// startWithin is how long after its start a node does not tell that keys cannot be decided, unless they could before.
const startWithin = 10 * time.Second

// Deciding says for which keys this node knows of somebody who can decide.
func (c *Cluster) Deciding() ring.Deciding { return c.deciding(c.State(), c.hearing.look()) }

func (c *Cluster) deciding(s *agreed.State, known map[ring.NodeID]heard) ring.Deciding {
	refuses := c.refuses()
	takes := refuses == "" && c.stalled() == ""
	hears := func(by, id ring.NodeID) bool {
		switch {
		case by == id && id == c.config.ID:
			return takes
		case by == id || by == c.config.ID || known[by].hears == nil: // who does not tell hears whom this one hears
			return known[id].takes()
		case id == c.config.ID:
			return takes && known[by].hears[id]
		}
		return known[by].hears[id]
	}
	j := ring.Judge(s.Table, c.config.ID, hears)
	d := ring.Deciding{
		Verdict: j.Verdict(), Undecided: len(j.Stuck), Partitions: j.Partitions,
		First: j.Stuck[:min(len(j.Stuck), showStuck)],
	}
	for _, id := range j.Silent {
		switch name := cmp.Or(s.Nodes[id].Name, id.String()); {
		case id == c.config.ID && takes:
		case id == c.config.ID:
			d.Refusing = append(d.Refusing, name)
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
	d.Explain(len(s.Nodes))
	return d
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
