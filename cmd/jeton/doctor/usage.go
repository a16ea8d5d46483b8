package doctor

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jeton-dev/jeton/cmd/jeton/doctor/facts"
	"github.com/jeton-dev/jeton/internal/plain"
	"github.com/jeton-dev/jeton/rpc/activity"
)

// limits are those that no check uses, and those that deny every one, since the nodes started.
func limits(j *judge, c *facts.Cluster) {
	if c.LimitsUnknown != "" {
		j.unknown("limits", "which there are: %s", c.LimitsUnknown)
		return
	}
	said, shortest, longest := countsOf(c.Nodes)
	since := sinceStart(shortest, longest)
	j.sees("limits", "%d; their checks are counted since the nodes started%s", len(c.Limits), since)
	var unused []string
	for _, name := range c.Limits {
		n := said[name]
		switch {
		case n.Allowed+n.Denied == 0:
			unused = append(unused, name)
		case n.Allowed == 0 && n.Denied >= enoughDenied:
			j.warning(limitDenies, finding{
				what: fmt.Sprintf("limit %s has denied all of its %.0f checks since the nodes started%s", name, n.Denied, since),
				do:   "See whether it is to: a cost above its capacity never passes, and an override may say deny (jeton limits override list). At a gateway, a shadow check denies nothing all the same.",
			})
		}
	}
	switch {
	case len(unused) == 0:
	case !slices.ContainsFunc(c.Nodes, func(n activity.Node) bool { return n.Error != "" }) && shortest >= unusedAfter:
		j.notice(limitUnused, finding{
			what: fmt.Sprintf("no check has used %s since the nodes started%s", few(unused), since),
			do:   "Take out what is not needed. If it should be used, see whether callers and gateways name it as the limits do.",
		})
	default:
		j.unknown("limits", "whether checks use %s: that takes all nodes to tell, and to have run for %s", few(unused), plain.Duration(unusedAfter))
	}
}

// countsOf are what all nodes and gateways have counted, by limit, and for how long the nodes run that started last and first.
func countsOf(nodes []activity.Node) (said map[string]activity.Counts, shortest, longest time.Duration) {
	said = map[string]activity.Counts{}
	add := func(all map[string]activity.Counts) {
		for name, n := range all {
			sum := said[name]
			said[name] = activity.Counts{Allowed: sum.Allowed + n.Allowed, Denied: sum.Denied + n.Denied}
		}
	}
	first := true
	for i := range nodes {
		n := &nodes[i]
		if n.Error != "" {
			continue
		}
		add(n.Limits)
		for k := range n.Gateways {
			add(n.Gateways[k].Limits)
		}
		runs := n.Now.Sub(n.Started)
		if first || runs < shortest {
			shortest = runs
		}
		longest, first = max(longest, runs), false
	}
	return said, shortest, longest
}

// sinceStart says for how long nodes have run.
func sinceStart(shortest, longest time.Duration) string {
	a, b := plain.Duration(rough(shortest)), plain.Duration(rough(longest))
	switch {
	case longest == 0:
		return ""
	case a == b:
		return ", " + a + " ago"
	}
	return ", " + a + " to " + b + " ago"
}

// rough is a duration in whole minutes, from one minute on, and else in whole seconds.
func rough(d time.Duration) time.Duration {
	if d >= time.Minute {
		return d.Truncate(time.Minute)
	}
	return d.Truncate(time.Second)
}

// gateways have let checks pass without a decision.
func gateways(j *judge, c *facts.Cluster) {
	newest := map[string]*activity.Gateway{}
	for i := range c.Nodes {
		for k := range c.Nodes[i].Gateways {
			if g := &c.Nodes[i].Gateways[k]; newest[g.Name] == nil || g.Now.After(newest[g.Name].Now) {
				newest[g.Name] = g
			}
		}
	}
	var names []string
	for name, g := range newest {
		if !g.Leaves {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	if len(newest) == 0 {
		j.unknown("gateways", "whether gateways decide: none tells")
		return
	}
	j.sees("gateways", "%d tell the cluster what they do", len(names))
	for _, name := range names {
		g, passed := newest[name], 0.0
		var by []string
		for limit, n := range g.FailedOpen {
			if n > 0 {
				passed += n
				by = append(by, limit)
			}
		}
		if passed == 0 {
			continue
		}
		slices.Sort(by)
		j.notice(passedOpen, finding{
			what: fmt.Sprintf("gateway %s has let %.0f checks pass without a decision since it started, %s ago: of %s", name, passed, plain.Duration(rough(g.Now.Sub(g.Started))), few(by)),
			do:   "Its log says when and why. Whether a limit may fail open is on_unavailable in the gateway's document.",
		})
	}
}

// few names the first of some things.
func few(names []string) string {
	if len(names) <= mostNamed {
		return strings.Join(names, ", ")
	}
	return strings.Join(names[:mostNamed], ", ") + fmt.Sprintf(" and %d more", len(names)-mostNamed)
}
