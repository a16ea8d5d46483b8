package activity

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"

	"github.com/jeton-dev/jeton/internal/plain"
	"github.com/jeton-dev/jeton/ring"
)

// deciding finds keys that no node can decide.
func (f *finder) deciding() {
	c := f.view.Cluster
	if c == nil || c.Waits != "" || c.Deciding.Verdict == ring.DecidesAll {
		return
	}
	f.say(Problem{
		Severity: Critical, What: c.Deciding.String(),
		Do:   "Start the nodes that do not answer. If they are lost for ever, make a cluster of the others with jeton cluster recover.",
		More: majorityLost,
	})
}

// undecided finds checks that get no decision.
func (f *finder) undecided() {
	if f.view.Total.Errors < leastRate {
		return
	}
	failed := map[string]float64{}
	for i := range f.after.Nodes {
		n := &f.after.Nodes[i]
		if was := f.before.same(n); was != nil {
			for code, count := range n.Errors {
				failed[code] += max(0, count-was.Errors[code])
			}
		}
	}
	var names []string
	for code, n := range failed {
		if n > 0 {
			names = append(names, code)
		}
	}
	slices.Sort(names)
	what := fmt.Sprintf("%s checks a second of %s get no decision", number(f.view.Total.Errors), f.failing())
	if len(names) > 0 {
		what += ": " + strings.Join(names, ", ")
	}
	f.say(Problem{Severity: Warning, What: what, More: atANode, Do: aboutErrors(names)})
}

// failing names the limits that have most errors.
func (f *finder) failing() string {
	var limits []*LimitRates
	for i := range f.view.Limits {
		if l := &f.view.Limits[i]; l.Errors > 0 {
			limits = append(limits, l)
		}
	}
	slices.SortStableFunc(limits, func(a, b *LimitRates) int { return cmp.Compare(b.Errors, a.Errors) })
	var names []string
	for _, l := range limits {
		names = append(names, l.Name)
	}
	return plain.Plural(len(names), "limit ", "limits ") + few(names)
}

// aboutErrors says what to do about checks that fail with these codes.
func aboutErrors(names []string) string {
	var callers []string
	for _, name := range names {
		if name == codes.InvalidArgument.String() || name == codes.NotFound.String() {
			callers = append(callers, name)
		}
	}
	const nodes = "See the other problems, and the logs of nodes."
	if len(callers) == 0 {
		return nodes
	}
	do := strings.Join(callers, " and ") + " is a mistake of callers, such as a limit that does not exist."
	if len(callers) > 1 {
		do = strings.Join(callers, " and ") + " are mistakes of callers, such as a limit that does not exist."
	}
	if len(callers) < len(names) {
		return do + " " + nodes
	}
	return do + " The message that a caller gets names it."
}

// gateways finds those that let requests pass without a decision, and those that are silent.
func (f *finder) gateways() {
	for i := range f.view.Gateways {
		g := &f.view.Gateways[i]
		if g.Silent > 0 {
			f.say(Problem{
				Severity: Notice, What: fmt.Sprintf("gateway %s has told nothing for %.0f s", g.Name, g.Silent), More: failsOpen,
				Do: "If it was killed, or runs elsewhere, there is nothing to do. If it runs, it reaches no node of this cluster, and goes by on_unavailable of each limit: see its log.",
			})
		}
		if g.FailedClosed > 0 {
			f.say(Problem{
				Severity: Critical, What: fmt.Sprintf("gateway %s refuses %s requests a second for want of a decision", g.Name, number(g.FailedClosed)), More: failsOpen,
				Do: "Look whether the gateway reaches the nodes: its log and its /readyz say which it does not. These are of limits whose on_unavailable is deny.",
			})
		}
		if g.FailedOpen <= 0 {
			continue
		}
		f.say(Problem{
			Severity: Critical, What: fmt.Sprintf("gateway %s lets %s requests a second pass without a decision", g.Name, number(g.FailedOpen)), More: failsOpen,
			Do: "Look whether the gateway reaches the nodes: its log and its /readyz say which it does not. Until then, what it lets pass is charged to no limit.",
		})
	}
}

// leader finds that nothing can be agreed on, and that the node that was asked is no member yet.
func (f *finder) leader() {
	c := f.view.Cluster
	switch {
	case c == nil:
	case c.Waits != "":
		f.say(Problem{Severity: Critical, What: "node " + c.Node + " waits: " + c.Waits, Node: c.Node, More: whatIsWrong, Do: "See to it that the nodes of --join run and can be reached from this one."})
	case c.Leader == "":
		what := "the cluster has no leader: "
		if f.allDecided() {
			what += "checks are decided, but "
		}
		f.say(Problem{
			Severity: Warning, What: what + "limits, overrides and nodes cannot be changed, and partitions do not move", More: whatIsWrong,
			Do: "An election takes a few seconds. If there is none for longer, start the voters that do not answer: a majority of them must be up.",
		})
	}
}

// keptOut finds nodes that would be of the cluster and cannot be.
func (f *finder) keptOut() {
	c := f.view.Cluster
	if c == nil {
		return
	}
	for _, k := range c.KeptOut {
		if k.Cluster == "" || c.Cluster == "" || k.Cluster == c.Cluster {
			f.say(Problem{
				Severity: Warning, What: fmt.Sprintf("node %s at %s cannot be in this cluster: %s", k.Name, k.Gossip, k.Why), More: whatIsWrong,
				Do: "It joins by itself when that is mended.",
			})
			continue
		}
		f.say(Problem{
			Severity: Critical, What: fmt.Sprintf("node %s at %s is in another cluster, %s: each of the two admits what a limit allows, and clusters never merge", k.Name, k.Gossip, k.Cluster),
			More: whatIsWrong,
			Do:   "If they are to be one, keep the cluster whose buckets count: stop each node of the other, empty its data folder, and start it with --join. If not, let no node's --join name one of the other cluster.",
		})
	}
}

// moves finds partitions that do not get to where they are to be.
func (f *finder) moves() {
	c, was := f.view.Cluster, f.before.Cluster
	if c == nil || was == nil || c.Leader == "" || c.Moves.Left == 0 || c.Moves.Left != was.Moves.Left || len(c.Moves.Phases)+len(was.Moves.Phases) > 0 {
		return
	}
	f.say(Problem{
		Severity: Warning, What: fmt.Sprintf("%d partitions are not where they are to be, and none of them moves", c.Moves.Left), More: whatIsWrong,
		Do: "A partition moves only while a majority of its replicas, and the node that it moves to, answer: see which nodes do not, and the log of the leader, " + c.Leader + ".",
	})
}

// versions finds nodes of different releases.
func (f *finder) versions() {
	by := map[string][]string{}
	for i := range f.view.Nodes {
		if n := &f.view.Nodes[i]; n.Version != "" {
			by[n.Version] = append(by[n.Version], n.Name)
		}
	}
	if len(by) < 2 {
		return
	}
	var said []string
	for version, names := range by {
		said = append(said, version+" on "+strings.Join(names, ", "))
	}
	slices.Sort(said)
	f.say(Problem{
		Severity: Notice, What: "nodes run different versions: " + strings.Join(said, "; "), More: whatIsWrong,
		Do: "Nothing, in the middle of an upgrade. Otherwise upgrade the nodes that were left out.",
	})
}
