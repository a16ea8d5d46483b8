package activity

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/ring/cluster/health"
	"github.com/jeton-dev/jeton/ring/cluster/status"
)

// well are two looks at a cluster in which nothing is wrong.
func well() (before, after Look) {
	look := func(second float64) Look {
		l := at(second, said("a", 5000+10*second, 50), said("b", 5000, 0), said("c", 5000, 0))
		c := &status.Status{
			Node: "a", Leader: "a", Partitions: 100, Replicas: 3, Wanted: 3, Deciding: ring.Deciding{Verdict: ring.DecidesAll, Partitions: 100},
		}
		for i := range l.Nodes {
			n := &l.Nodes[i]
			n.Version, n.MemoryBudget, n.MemoryHeld, n.DiskFree, n.DiskUsed = "v1.0.0", 1000, 100, 1<<40, 1<<20
			n.Limits = map[string]Counts{"login": {Allowed: n.Limits["login"].Allowed, Denied: n.Limits["login"].Denied}} // no errors
			n.Latency = Histogram{Bounds: []float64{1}, Counts: []float64{second, 0}}
			ahead := float64(i)
			c.Nodes = append(c.Nodes, status.NodeStatus{Name: n.Name, Alive: true, Answering: health.Answers, Role: "voter", Replica: 100, ClockAheadMS: &ahead})
		}
		l.Cluster = c
		return l
	}
	return look(0), look(1)
}

// A silent node that has partitions is not removed just so: what to do names what the cluster takes.
func TestWhatToDoAboutASilentNode(t *testing.T) {
	before, after := well()
	after.Nodes[1] = Node{Name: "b", Error: status.NotReached}
	problems := Compare(before, after).Problems
	if len(problems) != 1 {
		t.Fatalf("got %+v", problems)
	}
	for _, says := range []string{"jeton cluster remove b --force.", "jeton cluster drain b, then jeton cluster remove b."} {
		if !strings.Contains(problems[0].Do, says) {
			t.Errorf("%q, want %q", problems[0].Do, says)
		}
	}
}

// TestProblems makes one thing wrong after another, and expects that to be said, and nothing else.
func TestProblems(t *testing.T) {
	ahead := -180.0
	far := 400.0
	for _, test := range []struct {
		what  string
		wrong func(before, after *Look)
		want  string // severity: words; empty for nothing
	}{
		{"nothing", func(_, _ *Look) {}, ""},
		{"a node does not answer", func(_, l *Look) { l.Nodes[1] = Node{Name: "b", Error: status.NotReached} }, "warning: node b does not tell what it does: it cannot be reached"},
		{"a node hangs", func(_, l *Look) { l.Nodes[1] = Node{Name: "b", Error: status.NotInTime} }, "warning: node b does not tell what it does: it has not"},
		{"a node is old", func(_, l *Look) {
			l.Nodes[1] = Node{Name: "b", Error: status.NotKnown}
		}, "notice: node b does not tell what it does: it is of an older release"},
		{"a node is not ready", func(_, l *Look) { l.Nodes[2].Ready = "its disk hangs" }, "warning: node c is not well: its disk hangs"},
		{"some keys", func(_, l *Look) {
			l.Cluster.Deciding = ring.Deciding{Verdict: ring.DecidesSome, Undecided: 7, Partitions: 100, Why: "replica b does not answer"}
			l.Nodes[0].Ready = "partitions 1 (7 of 100) cannot be decided"
		}, "critical: 7 of 100 partitions cannot be decided: replica b does not answer"},
		{"no keys", func(_, l *Look) {
			l.Cluster.Deciding = ring.Deciding{Verdict: ring.DecidesNone, Undecided: 100, Partitions: 100, Why: "2 of 3 nodes do not answer: b and c"}
		}, "critical: no key can be decided: 2 of 3 nodes do not answer"},
		{"one more stops keys", func(_, l *Look) { l.Cluster.Nodes[1].Answering = health.Unreachable }, "warning: one more node that fails stops keys: b takes no part"},
		{"five replicas bear two", func(_, l *Look) {
			l.Cluster.Replicas, l.Cluster.Nodes[1].Answering = 5, health.Unreachable
		}, ""},
		{"a node without partitions", func(_, l *Look) {
			l.Cluster.Nodes[1].Answering, l.Cluster.Nodes[1].Replica = health.Unreachable, 0
		}, ""},
		{"a clock is off", func(_, l *Look) { l.Cluster.Nodes[1].ClockAheadMS = &ahead }, "warning: the clock of node b is 180 ms behind that of node a"},
		{"a clock is far off", func(_, l *Look) { l.Cluster.Nodes[1].ClockAheadMS = &far }, "critical: the clock of node b is 400 ms ahead of that of node a"},
		{"a disk is nearly full", func(_, l *Look) { l.Nodes[1].DiskFree = 500 << 20 }, "warning: the disk of node b has only 500 MiB left"},
		{"a disk is full", func(_, l *Look) { l.Nodes[1].DiskFree = 0 }, "critical: the disk of node b has only 0 MiB left"},
		{"a disk is not known", func(_, l *Look) { l.Nodes[1].DiskFree, l.Nodes[1].DiskUsed = 0, 0 }, ""},
		{"a disk is slow", func(_, l *Look) { l.Nodes[1].Fsync = Histogram{Bounds: []float64{0.1, 1}, Counts: []float64{0, 9, 0}} }, "warning: the disk of node b is slow: one write of a hundred takes 991 ms"},
		{"memory", func(_, l *Look) { l.Nodes[1].MemoryHeld = 800 }, "warning: keys take 80 % of their memory on node b"},
		{"much memory", func(_, l *Look) { l.Nodes[1].MemoryHeld = 960 }, "critical: keys take 96 % of their memory on node b"},
		{"no bound of memory", func(_, l *Look) { l.Nodes[1].MemoryHeld, l.Nodes[1].MemoryBudget = 960, 0 }, ""},
		{"checks are shed", func(_, l *Look) { l.Nodes[1].Shed = map[string]float64{"new_keys": 3} }, "critical: node b has no memory for more keys: it has just refused 3.0 checks"},
		{"checks were shed", func(b, l *Look) {
			b.Nodes[1].Shed, l.Nodes[1].Shed = map[string]float64{"new_keys": 3}, map[string]float64{"new_keys": 3}
		}, ""},
		{"checks wait", func(_, l *Look) { l.Nodes[1].Waiting = 20_000 }, "warning: 20000 checks wait on node b"},
		{"checks get no decision", func(_, l *Look) {
			l.Nodes[1].Errors, l.Nodes[1].Limits = map[string]float64{"Unavailable": 30, "OK": 0}, map[string]Counts{"login": {Errors: 30}}
		}, "warning: 30 checks a second of limit login get no decision: Unavailable"},
		{"checks of several limits get no decision", func(_, l *Look) {
			l.Nodes[1].Errors = map[string]float64{"Unavailable": 30}
			l.Nodes[1].Limits = map[string]Counts{"a": {Errors: 1}, "b": {Errors: 9}, "c": {Errors: 15}, "d": {Errors: 5}, "e": {}, "(inline)": {Errors: 60}}
		}, "warning: 90 checks a second of limits (inline), c, b and 2 more get no decision: Unavailable"},
		{"checks of unknown limits", func(_, l *Look) {
			l.Nodes[1].Errors, l.Nodes[1].Limits = map[string]float64{"NotFound": 30}, map[string]Counts{"(unknown)": {Errors: 30}}
		}, "warning: 30 checks a second of limit (unknown) get no decision: NotFound"},
		{"a hot key", func(_, l *Look) {
			l.Nodes[1].Keys = []Key{{Key: "x\n", Escaped: "x", PerSecond: 500, Hot: true}}
		}, `notice: a key is hot: "x\n"`},
		{"a limit is nearly used up", func(_, l *Look) {
			l.Nodes[1].Keys = []Key{{Key: "x", Escaped: "x", PerSecond: 5, Buckets: []Bucket{{Limit: "login", Used: 0.95}}}}
		}, "notice: limit login is nearly used up: 95 %"},
		{"a limit denies", func(_, l *Look) {
			l.Nodes[1].Keys = []Key{{Key: "x", Escaped: "x", PerSecond: 5, Buckets: []Bucket{{Limit: "login", Used: 0.95}}}}
			l.Nodes[1].Limits["login"] = Counts{Allowed: 5000, Denied: 5}
		}, ""},
		{"a limit denies much more than before", func(_, l *Look) { l.Nodes[1].Limits["login"] = Counts{Allowed: 5000, Denied: 90} }, "warning: limit login denies 90 % of its checks at nodes, and 0.3 % since they started"},
		{"gateways repeat many denials, as ever", func(b, l *Look) {
			b.Nodes[1].Limits["login"], l.Nodes[1].Limits["login"] = Counts{Allowed: 5000, Denied: 500}, Counts{Allowed: 5100, Denied: 510}
			l.Nodes[1].Gateways = []Gateway{{
				Name: "g", Now: start.Add(2 * time.Second), Limits: map[string]Counts{"login": {Denied: 9000}}, Before: &Gateway{Name: "g", Now: start},
			}}
		}, ""},
		{"gateways repeat many denials, and nodes deny more than before", func(_, l *Look) {
			l.Nodes[1].Limits["login"] = Counts{Allowed: 5100, Denied: 20}
			l.Nodes[1].Gateways = []Gateway{{
				Name: "g", Now: start.Add(2 * time.Second), Limits: map[string]Counts{"login": {Denied: 9000}}, Before: &Gateway{Name: "g", Now: start},
			}}
		}, "warning: limit login denies 15 % of its checks at nodes, and 0.3 % since they started"},
		{"versions differ", func(_, l *Look) { l.Nodes[1].Version = "v1.1.0" }, "notice: nodes run different versions: v1.0.0 on a, c; v1.1.0 on b"},
		{"moves stand still", func(b, l *Look) { b.Cluster.Moves.Left, l.Cluster.Moves.Left = 5, 5 }, "warning: 5 partitions are not where they are to be, and none of them moves"},
		{"moves go on", func(b, l *Look) { b.Cluster.Moves.Left, l.Cluster.Moves.Left = 6, 5 }, ""},
		{"moves are under way", func(b, l *Look) {
			b.Cluster.Moves.Left, l.Cluster.Moves.Left, l.Cluster.Moves.Phases = 5, 5, map[string]int{"copying": 1}
		}, ""},
		{"no leader", func(_, l *Look) { l.Cluster.Leader = "" }, "warning: the cluster has no leader"},
		{"not a member", func(_, l *Look) { l.Cluster.Waits = "no node answers at b:7703" }, "critical: node a waits: no node answers"},
		{"a node is in another cluster", func(_, l *Look) {
			l.Cluster.Cluster, l.Cluster.KeptOut = "c1", []status.KeptOut{{Name: "d", Gossip: "d:7701", Cluster: "c2", Why: "it belongs to cluster c2"}}
		}, "critical: node d at d:7701 is in another cluster, c2: each of the two admits what a limit allows"},
		{"a node cannot join", func(_, l *Look) {
			l.Cluster.Cluster, l.Cluster.KeptOut = "c1", []status.KeptOut{{Name: "d", Gossip: "d:7701", Why: "it has 7 partitions, this node 271"}}
		}, "warning: node d at d:7701 cannot be in this cluster: it has 7 partitions"},
		{"a gateway fails open", func(_, l *Look) {
			l.Nodes[1].Gateways = []Gateway{{
				Name: "g", Now: start.Add(2 * time.Second), Requests: map[string]float64{"fail_open": 8}, Before: &Gateway{Name: "g", Now: start},
			}}
		}, "critical: gateway g lets 4.0 requests a second pass without a decision"},
		{"a gateway fails closed", func(_, l *Look) {
			l.Nodes[1].Gateways = []Gateway{{
				Name: "g", Now: start.Add(2 * time.Second), Requests: map[string]float64{"unavailable": 8}, Before: &Gateway{Name: "g", Now: start},
			}}
		}, "critical: gateway g refuses 4.0 requests a second for want of a decision"},
		{"a gateway is silent", func(_, l *Look) {
			l.Nodes[1].Gateways = []Gateway{{Name: "g", Now: l.Nodes[1].Now.Add(-20 * time.Second)}}
		}, "notice: gateway g has told nothing for 20 s"},
		{"a gateway has told a moment ago", func(_, l *Look) {
			l.Nodes[1].Gateways = []Gateway{{Name: "g", Now: l.Nodes[1].Now.Add(-5 * time.Second)}}
		}, ""},
	} {
		before, after := well()
		test.wrong(&before, &after)
		var said []string
		for _, p := range Compare(before, after).Problems {
			said = append(said, p.Severity+": "+p.What)
			if p.Do == "" || !strings.HasSuffix(p.Do, ".") {
				t.Errorf("%s: it is not said what to do: %q", test.what, p.Do)
			}
			if !headings(t)[p.More] {
				t.Errorf("%s: there is no heading %s", test.what, p.More)
			}
		}
		if len(said) > 1 || (len(said) == 0) != (test.want == "") || len(said) == 1 && !strings.HasPrefix(said[0], test.want) {
			t.Errorf("%s: it is said %q, want %q", test.what, said, test.want)
		}
	}
}

// TestAdvice has problems say what helps in their case.
func TestAdvice(t *testing.T) {
	none := ring.Deciding{Verdict: ring.DecidesNone, Undecided: 100, Partitions: 100, Why: "2 of 3 nodes do not answer: b and c"}
	for _, test := range []struct {
		what      string
		wrong     func(before, after *Look)
		says, not string
	}{
		{"a node does not answer", func(_, l *Look) { l.Nodes[1] = Node{Name: "b", Error: "it cannot be reached"} }, "jeton cluster remove b.", ""},
		{"a leader is missing", func(_, l *Look) { l.Cluster.Leader = "" }, "checks are decided", ""},
		{"nodes and a leader are missing", func(_, l *Look) { l.Cluster.Leader, l.Cluster.Deciding = "", none }, "the cluster has no leader: limits", "checks are decided"},
		{"nodes fail checks", failing(map[string]float64{"Unavailable": 9}), "Unavailable", "InvalidArgument"},
		{"callers fail checks", failing(map[string]float64{"NotFound": 9}), "mistake", "logs of nodes"},
		{"both fail checks", failing(map[string]float64{"NotFound": 9, "Internal": 1}), "NotFound is a mistake of callers, such as a limit that does not exist. See the other", ""},
	} {
		before, after := well()
		test.wrong(&before, &after)
		var said strings.Builder
		for _, p := range Compare(before, after).Problems {
			said.WriteString(p.What + ": " + p.Do + "\n")
		}
		if text := said.String(); !strings.Contains(text, test.says) || test.not != "" && strings.Contains(text, test.not) {
			t.Errorf("%s: it is said %q", test.what, text)
		}
	}
}

// failing has a node fail checks, by code.
func failing(codes map[string]float64) func(before, after *Look) {
	return func(_, l *Look) {
		l.Nodes[0].Errors = codes
		var all float64
		for _, n := range codes {
			all += n
		}
		l.Nodes[0].Limits["(unknown)"] = Counts{Errors: all}
	}
}

// TestProblemsAreSorted has the worst first.
func TestProblemsAreSorted(t *testing.T) {
	before, after := well()
	after.Nodes[1].Version, after.Nodes[0].MemoryHeld, after.Cluster.Leader = "v2", 990, ""
	var order []string
	for _, p := range Compare(before, after).Problems {
		order = append(order, p.Severity)
	}
	if got := fmt.Sprint(order); got != "[critical warning notice]" {
		t.Errorf("got %s", got)
	}
}

// headings are those of the pages that problems link to, as links write them.
func headings(t *testing.T) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	for _, page := range []string{"operate.md", "when-it-fails.md"} {
		text, err := os.ReadFile(filepath.Join("..", "..", "docs", page))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(?m)^##+ (.*)$`).FindAllStringSubmatch(string(text), -1) {
			words := regexp.MustCompile(`[^a-z0-9 -]`).ReplaceAllString(strings.ToLower(m[1]), "")
			all[page+"#"+strings.ReplaceAll(words, " ", "-")] = true
		}
	}
	return all
}
