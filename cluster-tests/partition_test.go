package clustertests

import (
	"flag"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cluster-tests/history"
	"github.com/jeton-dev/jeton/cluster-tests/load"
	"github.com/jeton-dev/jeton/cluster-tests/network"
	"github.com/jeton-dev/jeton/cluster-tests/process"
	"github.com/jeton-dev/jeton/rpc/client"
)

// cutFor is how long nodes stay cut off in the tests of partitions. From longCut on they run under the full load, else under
// half of it, with as many checks for each key.
var cutFor = flag.Duration("cut", 10*time.Second, "how long nodes stay cut off in the tests of partitions; from 30s on under the full load")

const longCut = 30 * time.Second

// latest is by how much a check may outlast its deadline where the machine stalls.
const latest = 5 * time.Second

// A partition is three nodes in a network that can be cut, and callers in it, each at a host of its own.
type partition struct {
	*drill

	lab     *network.Lab
	rule    *limit.Rule
	loads   []*load.Load
	callers []*witness
}

// inPartition runs f in such a network.
func inPartition(t *testing.T, f func(*partition)) {
	t.Helper()
	t.Parallel()
	binary := process.Build(t) // once, outside
	network.Run(t, func(lab *network.Lab) {
		doc, err := limit.ParseDocument([]byte(clusterLimits))
		if err != nil {
			t.Fatal(err)
		}
		rule, _ := doc.Rule("api")
		c := process.StartClusterIn(t, lab, binary, 3, clusterLimits)
		p := &partition{drill: &drill{T: t, cluster: c, perSecond: perSecond, keys: clusterKeys}, lab: lab, rule: rule}
		if *cutFor < longCut {
			p.perSecond, p.keys = perSecond/2, clusterKeys/2
		}
		p.settled(c.Members[0], 3)
		f(p)
	})
}

// caller begins to ask the cluster for so many checks a second, each with a deadline.
func (p *partition) caller(name string, perSecond int, deadline time.Duration) *witness {
	p.Helper()
	c, err := client.New(client.Config{Servers: p.cluster.Servers(), Dial: p.lab.Dial(name)})
	if err != nil {
		p.Fatal(err)
	}
	p.Cleanup(func() { c.Close() }) //nolint:errcheck // nothing is asked any more
	w := &witness{t: p.T, name: name, checker: c}
	p.callers = append(p.callers, w)
	p.loads = append(p.loads, load.Start(p.T, load.Config{
		Checker: w, Rule: p.rule, Keys: p.keys, PerSecond: perSecond, Deadline: deadline, Slow: impatience,
	}))
	p.served(w, time.Now())
	return w
}

// served returns when a caller has been answered about every key, after some time, and says since when.
func (p *partition) served(w *witness, after time.Time) (since time.Time) {
	p.Helper()
	return w.await(after, 2*p.keys, seen.decided, "decided")
}

// last returns when a caller goes on asking so long after a cut.
func (p *partition) last(w *witness, cut time.Time, d time.Duration) {
	p.Helper()
	w.await(cut.Add(d), 1, func(seen) bool { return true }, "made")
}

// healed ends all cuts, and returns when all callers are served again and all nodes agree.
func (p *partition) healed() (at time.Time) {
	p.Helper()
	p.lab.Heal()
	at = time.Now()
	for _, w := range p.callers {
		p.Logf("%s is served %v after healing", w.name, p.served(w, at).Sub(at).Round(time.Millisecond))
	}
	p.agreed(p.cluster.Members, "")
	p.Logf("the nodes agree %v after healing", time.Since(at).Round(time.Millisecond))
	return at
}

// agreed returns the leader once all members report the same state of the cluster and the same leader, which is not but.
func (p *partition) agreed(members []*process.Member, but string) (leader string) {
	p.Helper()
	deadline := time.After(process.Patience)
	for {
		first := p.view(members[0])
		same := first.Leader != "" && first.Leader != but && first.Moves.Left == 0
		for _, m := range members[1:] {
			same = same && reflect.DeepEqual(p.view(m), first)
		}
		if same {
			return first.Leader
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-deadline:
			p.logs()
			p.Fatalf("the nodes do not agree after minutes: %+v", first)
		}
	}
}

// A view is what a node says of the cluster that all nodes are to say.
type view struct {
	status

	Version       uint64 `json:"version"` // of what was agreed on
	HighestEpoch  uint64 `json:"highest_epoch"`
	LowestEpoch   uint64 `json:"lowest_epoch"`
	LimitsVersion uint64 `json:"limits_version"`
}

// view asks a node how the cluster is.
func (p *partition) view(m *process.Member) (v view) {
	p.Helper()
	p.cluster.Status(m, &v)
	return v
}

// names are those of some members.
func names(members ...*process.Member) (all []string) {
	for _, m := range members {
		all = append(all, m.Name)
	}
	return all
}

// others are all members but one.
func (p *partition) others(m *process.Member) []*process.Member {
	return slices.DeleteFunc(slices.Clone(p.cluster.Members), func(other *process.Member) bool { return other == m })
}

// follower is a node that does not lead.
func (p *partition) follower() *process.Member {
	p.Helper()
	return p.others(p.leader())[0]
}

// verdict ends the load: no key is over its bound, all callers' checks together; no check has hung past its deadline; and
// every key was decided for every caller after healing.
func (p *partition) verdict(healed time.Time) {
	p.Helper()
	var all history.History
	for i, l := range p.loads {
		l.Stop()
		p.Logf("%s: %s", p.callers[i].name, l.Summary())
		seen := l.History()
		all.Limits, all.Calls = seen.Limits, append(all.Calls, seen.Calls...)
	}
	if err := history.Safe(&all, nodesApart); err != nil {
		p.Errorf("a limit did not hold: %v", err)
	}
	for _, w := range p.callers {
		decided := map[string]bool{}
		for _, s := range w.between(healed, time.Time{}) {
			decided[s.key] = decided[s.key] || s.decided()
		}
		for key, ok := range decided {
			if !ok {
				p.Errorf("%s: %s is stuck: no check was decided after healing", w.name, key)
			}
		}
	}
	if p.Failed() {
		p.logs()
	}
}

// never fails the test if a caller's checks failed, or hung.
func (p *partition) never(w *witness, bad func(seen) bool, meaning string) {
	p.Helper()
	n := 0
	for _, s := range w.between(time.Time{}, time.Time{}) {
		if bad(s) {
			if n++; n <= 10 {
				p.Errorf("%s: a check of %s %s: after %v: %v", w.name, s.key, meaning, s.took, s.err)
			}
		}
	}
	if n > 10 {
		p.Errorf("%s: and %d more", w.name, n-10)
	}
}

func failed(s seen) bool { return s.err != nil }

func hung(s seen) bool { return s.took > impatience+latest }

// One node is cut off together with a caller. The caller on the other side notices nothing. The one that is cut off gets
// ErrUnavailable once what the node holds is spent, and never waits longer than its deadline.
func TestPartitionMinority(t *testing.T) {
	inPartition(t, func(p *partition) { p.minority(p.follower(), *cutFor) })
}

// The same with the node that leads.
func TestPartitionLeader(t *testing.T) {
	inPartition(t, func(p *partition) { p.minority(p.leader(), *cutFor/2) })
}

// minority cuts a node off together with a caller, for some time.
func (p *partition) minority(lost *process.Member, d time.Duration) {
	p.Helper()
	rest := p.others(lost)
	many, few := p.caller("many", p.perSecond/2, deadline), p.caller("few", p.perSecond/2, impatience)
	led := p.leader() == lost
	p.lab.Split(append(names(rest...), "many"), append(names(lost), "few"))
	cut := time.Now()
	refused := few.await(cut, p.perSecond/4, seen.unavailable, "unavailable")
	p.Logf("the minority is refused from %v on", refused.Sub(cut).Round(time.Millisecond))
	if led {
		p.Logf("%s leads %v after the cut", p.agreed(rest, lost.Name), time.Since(cut).Round(time.Millisecond))
	}
	p.last(few, cut, d)
	p.Log(many.moved(cut, time.Time{}))
	p.Log(few.moved(cut, refused))
	p.Log(few.moved(refused, time.Time{}))
	healed := p.healed()
	p.Log(many.moved(healed, time.Time{}))
	p.Log(few.moved(healed, time.Time{}))
	p.verdict(healed)
	p.never(many, failed, "failed")
	p.never(few, hung, "hung")
}

// A node is cut from the other two, but not from its callers: they find out that it cannot decide, and ask the next one.
func TestPartitionOwner(t *testing.T) {
	inPartition(t, func(p *partition) {
		owner := p.follower()
		w := p.caller("caller", p.perSecond, impatience)
		var healed time.Time
		for _, how := range []struct {
			name string
			cut  func(other string)
		}{
			{"both ways", func(other string) { p.lab.Cut(owner.Name, other) }},
			{"it is not heard", func(other string) { p.lab.CutOneWay(owner.Name, other) }},
			{"it hears no other node", func(other string) { p.lab.CutOneWay(other, owner.Name) }},
		} {
			p.Logf("-- %s is cut from the others: %s", owner.Name, how.name)
			for _, other := range p.others(owner) {
				how.cut(other.Name)
			}
			healed = p.endured(w)
		}
		p.verdict(healed)
		p.never(w, hung, "hung")
	})
}

// endured returns when a caller has been served despite a cut, for a third of the time that others last, and again after it
// is healed.
func (p *partition) endured(w *witness) (healed time.Time) {
	p.Helper()
	cut := time.Now()
	served := p.served(w, cut)
	p.Logf("%s is served from %v on", w.name, served.Sub(cut).Round(time.Millisecond))
	p.last(w, cut, *cutFor/3)
	p.Log(w.moved(cut, time.Time{}))
	healed = p.healed()
	p.Log(w.moved(healed, time.Time{}))
	return healed
}

// TCP is cut between a node and the others while UDP lives: for gossip all is well.
func TestPartitionTCP(t *testing.T) {
	inPartition(t, func(p *partition) {
		owner := p.follower()
		w := p.caller("caller", p.perSecond, impatience)
		for _, other := range p.others(owner) {
			p.lab.CutTCP(owner.Name, other.Name)
		}
		p.endured(w)
		p.lab.CutTCP(owner.Name, w.name) // and now the callers cannot reach it, while the nodes can
		p.verdict(p.endured(w))
		p.never(w, hung, "hung")
	})
}

// Every node is cut off from the others: none can decide, until they find each other again.
func TestPartitionEverybody(t *testing.T) {
	inPartition(t, func(p *partition) {
		w := p.caller("caller", p.perSecond, impatience)
		m := p.cluster.Members
		p.lab.Cut(m[0].Name, m[1].Name)
		p.lab.Cut(m[0].Name, m[2].Name)
		p.lab.Cut(m[1].Name, m[2].Name)
		cut := time.Now()
		refused := w.await(cut, p.perSecond/4, seen.unavailable, "unavailable")
		p.Logf("refused from %v on", refused.Sub(cut).Round(time.Millisecond))
		p.last(w, cut, *cutFor)
		p.Log(w.moved(refused, time.Time{}))
		healed := p.healed()
		p.Log(w.moved(healed, time.Time{}))
		p.verdict(healed)
		p.never(w, hung, "hung")
	})
}

// One node after the other is cut off from all, callers included, under load.
func TestPartitionRolling(t *testing.T) {
	inPartition(t, func(p *partition) {
		w := p.caller("caller", p.perSecond, deadline)
		var healed time.Time
		for _, m := range p.cluster.Members {
			p.lab.Isolate(m.Name)
			cut := time.Now()
			p.last(w, cut, *cutFor/5)
			p.lab.Heal()
			healed = time.Now()
			p.Log(m.Name + " is cut off: " + w.moved(cut, healed))
			p.served(w, healed)
			p.Log(m.Name + " is back: " + w.moved(healed, time.Time{}))
		}
		p.agreed(p.cluster.Members, "")
		p.verdict(healed)
		p.never(w, failed, "failed")
	})
}
