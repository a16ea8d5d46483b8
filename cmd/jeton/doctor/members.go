package doctor

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jeton-dev/jeton/cmd/jeton/doctor/facts"
	"github.com/jeton-dev/jeton/internal/plain"
	"github.com/jeton-dev/jeton/storage"
)

// zones are where the nodes stand. Where none has a zone, nothing is said of it.
func zones(j *judge, c *facts.Cluster) {
	s := c.View.Cluster
	if s == nil || s.Replicas < 2 {
		return
	}
	by, without := map[string]int{}, []string{}
	for i := range s.Nodes {
		if n := &s.Nodes[i]; n.Zone != "" {
			by[n.Zone]++
		} else {
			without = append(without, n.Name)
		}
	}
	names := slices.Sorted(maps.Keys(by))
	switch {
	case len(by) == 0:
		j.unknown("zones", "whether replicas fail together: no node has a --zone")
		return
	case len(without) > 0:
		j.warning(someZones, finding{
			what: fmt.Sprintf("%s without a zone, and others have one: each of them counts as a zone of its own", few(without)),
			do:   "Start them with --zone, so that two replicas are not in the same place.",
		})
	case len(by) == 1:
		j.warning(oneZone, finding{
			what: "all nodes are in zone " + names[0] + ": when it fails, no key can be decided",
			do:   "Add nodes in two other zones, and drain some of these: replicas are spread over zones by themselves.",
		})
	case len(by) == 2:
		j.notice(oneZone, finding{
			what: fmt.Sprintf("there are two zones, %s: a key has most of its replicas in one of them, and cannot be decided without it", strings.Join(names, " and ")),
			do:   "Add a node in a third zone, if a zone is to be lost without harm.",
		})
	}
	j.sees("zones", "%s", strings.Join(names, ", "))
}

// members are the nodes as the cluster has them.
func members(j *judge, c *facts.Cluster) {
	s := c.View.Cluster
	if s == nil {
		j.sees("cluster", "the node is alone: no other ever joins it")
		return
	}
	voters := 0
	for i := range s.Nodes {
		n := &s.Nodes[i]
		if n.Role == "leader" || n.Role == "voter" {
			voters++
		}
		switch {
		case n.Draining && n.Owner == 0 && n.Replica == 0:
			j.notice(draining, finding{
				node: n.Name, what: "node " + n.Name + " is drained, and keeps nothing any more",
				do: "Stop it and run jeton cluster remove " + n.Name + ", or jeton cluster drain " + n.Name + " --undo.",
			})
		case n.Draining:
			j.notice(draining, finding{
				node: n.Name, what: fmt.Sprintf("node %s is being drained, and keeps %d %s yet", n.Name, n.Replica, plain.Plural(n.Replica, "partition", "partitions")),
				do: "Nothing, while partitions move. If it was forgotten, run jeton cluster drain " + n.Name + " --undo.",
			})
		}
	}
	leader := s.Leader
	if leader == "" {
		leader = "none"
	}
	j.sees("cluster", "%s: %d %s, of which %d %s, leader %s; %d %s of each register", s.Cluster, len(s.Nodes), plain.Plural(len(s.Nodes), "node", "nodes"),
		voters, plain.Plural(voters, "votes", "vote"), leader, s.Replicas, plain.Plural(s.Replicas, "replica", "replicas"))
	if s.Replicas == 1 && s.Wanted > 1 {
		j.notice(fewReplicas, finding{
			what: fmt.Sprintf("each register is kept on one node, since there are %d: if its disk is lost, limits begin anew", len(s.Nodes)),
			do:   "Nothing, if that will do. Else add nodes until there are three.",
		})
	}
	if s.Leader != "" && len(s.Nodes) >= 3 && voters < 3 {
		j.warning(fewVoters, finding{
			what: fmt.Sprintf("only %d of %d nodes vote: the loss of one stops changes of limits and nodes", voters, len(s.Nodes)),
			do:   "Wait for some seconds after a node was added. If it stays so, see the leader's log.",
		})
	}
	if s.Raise > 0 {
		j.notice(levelBehind, finding{
			what: fmt.Sprintf("the cluster is at level %d, and every node knows %d", s.Level, s.Raise),
			do:   "Run jeton cluster upgrade once no node is to go back to its release before; the release after this one needs it.",
		})
	}
}

// durability finds nodes that keep decisions in memory.
func durability(j *judge, c *facts.Cluster) {
	var names []string
	for i := range c.Nodes {
		if n := &c.Nodes[i]; n.Durability == string(storage.Memory) {
			names = append(names, n.Name)
		}
	}
	if len(names) > 0 {
		j.warning(memoryOnly, finding{
			what: fmt.Sprintf("%s with --durability memory: a node that was killed has forgotten what it granted, and counts every bucket as emptied when it starts", few(names)),
			do:   "Start them without, one after another, unless limits may be stricter after a crash, of several nodes at once or of a node that is alone.",
		})
	}
}
