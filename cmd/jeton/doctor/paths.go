package doctor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jeton-dev/jeton/cmd/jeton/doctor/facts"
	"github.com/jeton-dev/jeton/ring/cluster/status"
	"github.com/jeton-dev/jeton/rpc/activity"
)

// problems are what is wrong at the nodes now, as jeton top shows it.
func problems(j *judge, c *facts.Cluster) {
	j.report.Findings = append(j.report.Findings, c.View.Problems...)
	up := 0
	for i := range c.View.Nodes {
		if c.View.Nodes[i].Error == "" {
			up++
		}
	}
	j.sees("nodes", "%d of %d tell what they do", up, len(c.View.Nodes))
}

// reached are the nodes, from where jeton doctor runs.
func reached(j *judge, c *facts.Cluster) {
	answer := 0
	for i := range c.Reached {
		r := &c.Reached[i]
		if r.Error == "" {
			answer++
			continue
		}
		j.notice(notReached, finding{
			node: r.Node,
			what: fmt.Sprintf("node %s cannot be reached from here at %s (%s): %s", r.Node, r.Address, r.Port, r.Error),
			do:   "If the node runs: clients and gateways on this machine need a way to it too, since a client asks each node at the address that the node advertises (--advertise).",
		})
	}
	if len(c.Reached) > 0 {
		j.sees("from here", "%d of the nodes' %d addresses for clients accept connections", answer, len(c.Reached))
	}
}

// paths are the ways between nodes.
func paths(j *judge, c *facts.Cluster) {
	if c.View.Cluster == nil {
		return
	}
	if c.ProbesUnknown != "" {
		j.unknown("paths", "whether nodes reach one another: %s", c.ProbesUnknown)
		return
	}
	silent := map[string]bool{} // nodes that are down, of which a problem tells
	for i := range c.View.Nodes {
		if n := &c.View.Nodes[i]; n.Error != "" && n.Error != status.NotKnown {
			silent[n.Name] = true
		}
	}
	tried, worked := 0, 0
	for i := range c.Probes {
		p := &c.Probes[i]
		if p.Error != "" && !silent[p.Name] {
			j.untold(p)
		}
		for to, broken := range brokenOf(p, &tried, &worked) {
			if !silent[to] {
				j.broken(p.Name, to, broken)
			}
		}
	}
	if tried > 0 {
		j.sees("paths", "%d of %d between nodes work: gRPC, gossip over TCP and UDP, raft, both ways", worked, tried)
	}
}

// brokenOf are the paths of a probe that do not work, by the node that they lead to.
func brokenOf(p *status.Probed, tried, worked *int) map[string][]status.Path {
	broken := map[string][]status.Path{}
	for _, path := range p.Paths {
		*tried++
		if path.Error == "" {
			*worked++
			continue
		}
		broken[path.To] = append(broken[path.To], path)
	}
	return broken
}

// untold finds that a node has not said what it reaches.
func (j *judge) untold(p *status.Probed) {
	f := finding{node: p.Name, what: "node " + p.Name + " does not say which other nodes it reaches: " + p.Error, do: "Ask again. If it stays so, see the other findings about it."}
	if p.Error == status.NotProbing {
		f.do = "Upgrade it. Until then, what the others reach of it is known, and not what it reaches."
	}
	j.notice(pathUntold, f)
}

// broken finds that one node does not reach another one at some ports.
func (j *judge) broken(from, to string, paths []status.Path) {
	var said []string
	for _, p := range paths {
		said = append(said, fmt.Sprintf("%s at %s: %s", words(p.Port), p.Address, p.Error))
	}
	slices.Sort(said)
	j.say(activity.Warning, pathBroken, finding{
		node: from,
		what: fmt.Sprintf("node %s does not reach node %s: %s", from, to, strings.Join(said, "; ")),
		do:   "Open these ports from the one to the other, in firewalls, security groups and network policies: each node needs all of them to each other one, gossip over TCP and UDP.",
	})
}

// words are what a port is called.
func words(port string) string {
	switch port {
	case status.PortGRPC:
		return "gRPC"
	case status.PortGossipTCP:
		return "gossip over TCP"
	case status.PortGossipUDP:
		return "gossip over UDP"
	}
	return port
}

// certificates are those that nodes, and what else was named, show.
func certificates(j *judge, c *facts.Cluster) {
	seen := 0
	for _, r := range slices.Concat(c.Reached, c.Gateways) {
		switch {
		case r.Ends != nil:
			seen++
			whose := "the certificate of " + r.Address
			if r.Node != "" {
				whose = "the certificate of node " + r.Node
			}
			j.end(*r.Ends, finding{node: r.Node, what: whose, do: "Renew it, and replace the file: nodes and gateways read it again while they run."})
		case r.Node == "" && r.Error != "":
			j.warning(gatewayClosed, finding{
				what: fmt.Sprintf("%s, which --gateway names, cannot be reached from here: %s", r.Address, r.Error),
				do:   "If nothing runs there, start it. If it runs, see whether it listens at this address, and whether a firewall lets this machine reach it.",
			})
		case r.Node == "":
			j.unknown("certificate", "of %s: it shows none", r.Address)
		}
	}
	if seen > 0 {
		j.sees("certificates", "%d are shown", seen)
	}
}
