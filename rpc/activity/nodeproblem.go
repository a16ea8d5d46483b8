package activity

import (
	"fmt"
	"strings"

	"github.com/jeton-dev/jeton/internal/plain"
	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/ring/cluster/health"
	"github.com/jeton-dev/jeton/ring/cluster/status"
)

// nodeDoesNotDo is what to do about a node of this name that is silent. One that has partitions is removed only by force, or after a drain.
func nodeDoesNotDo(name string) string {
	return "Look at its log and its machine, and start it again. If it is lost for good, take it out with jeton cluster remove " + name +
		" --force. If it is only to go, run jeton cluster drain " + name + ", then jeton cluster remove " + name + "."
}

// nodes finds nodes that do not tell what they do, are not ready, or have slow disks.
func (f *finder) nodes() {
	for i := range f.view.Nodes {
		n := &f.view.Nodes[i]
		switch {
		case n.Error == status.NotKnown:
			f.say(Problem{Severity: Notice, What: "node " + n.Name + " does not tell what it does: " + n.Error, Node: n.Name, More: whatIsWrong, Do: "Upgrade it."})
			continue
		case n.Error != "":
			more := nodeKilled
			if n.Error == status.NotInTime {
				more = nodeFrozen
			}
			f.say(Problem{Severity: Warning, What: "node " + n.Name + " does not tell what it does: " + n.Error, Node: n.Name, More: more, Do: nodeDoesNotDo(n.Name)})
			continue
		case n.Ready != "" && f.allDecided():
			f.say(Problem{
				Severity: Warning, What: "node " + n.Name + " is not well: " + n.Ready, Node: n.Name, More: atANode,
				Do: "Other nodes decide in its place as far as they keep the keys. Its log says more.",
			})
		}
		if n.FsyncP99 > inMillis(FsyncWarns) {
			f.say(Problem{
				Severity: Warning, What: fmt.Sprintf("the disk of node %s is slow: one write of a hundred takes %.0f ms or more", n.Name, n.FsyncP99), Node: n.Name, More: diskHangs,
				Do: "See what else writes to the disk, and whether the volume has reached its limit of operations.",
			})
		}
		if n.Waiting >= WaitingWarns {
			f.say(Problem{
				Severity: Warning, What: fmt.Sprintf("%d checks wait on node %s", n.Waiting, n.Name), Node: n.Name, More: whenOverladen,
				Do: "It gets more checks than it can decide, or waits for other nodes: see its disk and the other problems, and add nodes.",
			})
		}
	}
}

// allDecided says that no keys are known that no node can decide.
func (f *finder) allDecided() bool {
	c := f.view.Cluster
	return c == nil || c.Deciding.Verdict == ring.DecidesAll
}

// inDanger finds that one more node lost would leave keys without a majority.
func (f *finder) inDanger() {
	c := f.view.Cluster
	if c == nil || c.Deciding.Verdict != ring.DecidesAll || c.Replicas < 2 {
		return
	}
	var lost []string
	for i := range c.Nodes {
		if n := &c.Nodes[i]; n.Replica > 0 && (n.Answering == health.Unreachable || n.Refuses != "") {
			lost = append(lost, n.Name)
		}
	}
	if len(lost) == 0 || len(lost) < (c.Replicas-1)/2 {
		return
	}
	f.say(Problem{
		Severity: Warning, What: "one more node that fails stops keys: " + strings.Join(lost, ", ") + plain.Plural(len(lost), " takes", " take") + " no part", More: majorityLost,
		Do: "Start " + strings.Join(lost, ", ") + " again before you stop any other node.",
	})
}

// clocks finds clocks that are off.
func (f *finder) clocks() {
	c := f.view.Cluster
	if c == nil {
		return
	}
	for i := range c.Nodes {
		n := &c.Nodes[i]
		if n.ClockAheadMS == nil {
			continue
		}
		off, where := *n.ClockAheadMS, "ahead of"
		if off < 0 {
			off, where = -off, "behind"
		}
		severity := Warning
		switch {
		case off < inMillis(ClockWarns):
			continue
		case off >= inMillis(ClockStops):
			severity = Critical
		}
		f.say(Problem{
			Severity: severity, What: fmt.Sprintf("the clock of node %s is %.0f ms %s that of node %s", n.Name, off, where, c.Node), Node: n.Name, More: whatIsWrong,
			Do: "Have a time service, such as chrony, set the clock of its machine. A node whose clock differs by more than 250 ms from those of a majority decides nothing, until it is restarted with a right clock.",
		})
	}
}

// memory finds nodes that have little memory left for keys, or refuse checks for want of it.
func (f *finder) memory() {
	for i := range f.after.Nodes {
		n := &f.after.Nodes[i]
		if was := f.before.same(n); was != nil {
			if refused := max(0, n.Shed["new_keys"]-was.Shed["new_keys"]) + max(0, n.Shed["new_limits"]-was.Shed["new_limits"]); refused > 0 {
				f.say(Problem{
					Severity: Critical, What: fmt.Sprintf("node %s has no memory for more keys: it has just refused %s checks", n.Name, number(refused)), Node: n.Name, More: outOfMemory,
					Do: "Give it more memory (--memory), or add nodes.",
				})
				continue
			}
		}
		if n.MemoryBudget <= 0 || float64(n.MemoryHeld) < MemoryWarns*float64(n.MemoryBudget) {
			continue
		}
		p := Problem{
			Severity: Warning, Node: n.Name, More: outOfMemory, Do: "Give it more memory (--memory), or add nodes.",
			What: fmt.Sprintf("keys take %d %% of their memory on node %s: it gives up receipts and line that keys have reserved", 100*n.MemoryHeld/n.MemoryBudget, n.Name),
		}
		if float64(n.MemoryHeld) >= MemoryStops*float64(n.MemoryBudget) {
			p.Severity = Critical
			p.What = fmt.Sprintf("keys take %d %% of their memory on node %s: checks of further keys are refused", 100*n.MemoryHeld/n.MemoryBudget, n.Name)
		}
		f.say(p)
	}
}

// disks finds disks that are nearly full.
func (f *finder) disks() {
	for i := range f.view.Nodes {
		n := &f.view.Nodes[i]
		if n.DiskUsed == 0 && n.DiskFree == 0 || n.DiskFree >= DiskWarns {
			continue
		}
		severity := Warning
		if n.DiskFree < DiskStops {
			severity = Critical
		}
		f.say(Problem{
			Severity: severity, What: fmt.Sprintf("the disk of node %s has only %d MiB left", n.Name, n.DiskFree>>20), Node: n.Name, More: whatIsWrong,
			Do: fmt.Sprintf("Make room: jeton's own data is %d MiB. A node whose disk is full stops.", n.DiskUsed>>20),
		})
	}
}
