package clustertests

import (
	"cmp"
	"context"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cluster-tests/history"
	"github.com/jeton-dev/jeton/cluster-tests/load"
	"github.com/jeton-dev/jeton/cluster-tests/process"
	"github.com/jeton-dev/jeton/rpc/client"
)

// What the tests of clusters have in common: 2,000 checks a second over 1,000 keys, at twice the rate at which they
// refill. A caller would give up after 500 ms. That a busy machine makes some slower is counted and printed; a check
// counts as failed when it was refused, or was not decided long after.
const (
	clusterLimits = "limits: {api: {capacity: 3, refill: 1/s}, slow: {capacity: 10, refill: 1/h}}"
	perSecond     = 2000
	clusterKeys   = 1000
	impatience    = 500 * time.Millisecond
	deadline      = 10 * time.Second
	// nodesApart is how far the clocks of processes on one machine may be apart, and from the test's.
	nodesApart = int64(5 * time.Millisecond)
)

// A drill is a cluster under load, to which something happens.
type drill struct {
	*testing.T

	cluster *process.Cluster
	load    *load.Load
	client  *prometheus.Registry // metrics of the client that asks

	perSecond int                // checks; 0 means the usual load
	keys      int                // that take turns; 0 means those of the usual load
	checker   limit.Checker      // what is asked; nil means a client of all nodes
	rename    func(i int) string // what the i-th key is called; nil means as the load calls it
	ahead     time.Duration      // how far the nodes' clocks are ahead of the test's
	seen      history.History    // what was asked besides the present load, on the nodes' clocks
}

// newDrill starts a cluster of three nodes and the load on it.
func newDrill(t *testing.T) *drill {
	t.Helper()
	return drillOn(t, process.StartCluster(t, process.Build(t), 3, clusterLimits))
}

// drillOn puts the load on a cluster.
func drillOn(t *testing.T, c *process.Cluster) *drill {
	t.Helper()
	d := &drill{T: t, cluster: c}
	d.begin()
	return d
}

// begin begins the load.
func (d *drill) begin() {
	d.Helper()
	doc, err := limit.ParseDocument([]byte(clusterLimits))
	if err != nil {
		d.Fatal(err)
	}
	rule, _ := doc.Rule("api")
	d.perSecond, d.keys = cmp.Or(d.perSecond, perSecond), cmp.Or(d.keys, clusterKeys)
	asked := d.checker
	if asked == nil {
		d.client = prometheus.NewRegistry()
		c, err := client.New(client.Config{Servers: d.cluster.Servers(), Registerer: d.client})
		if err != nil {
			d.Fatal(err)
		}
		d.Cleanup(func() { c.Close() }) //nolint:errcheck // nothing is asked any more
		asked = c
	}
	if d.rename != nil {
		asked = renamed{asked, d.rename}
	}
	d.load = load.Start(d.T, load.Config{
		Checker: asked, Rule: rule, Keys: d.keys, PerSecond: d.perSecond, Deadline: deadline, Slow: impatience,
	})
	d.load.Answered(d.perSecond)
}

// end ends the load and passes its verdict: no key is over its bound, and, where that is promised, no check has failed.
func (d *drill) end(mayFail bool) {
	d.Helper()
	d.endWith(mayFail, nodesApart)
}

// endWith is end where the nodes' clocks may be further apart, by epsilon nanoseconds.
func (d *drill) endWith(mayFail bool, epsilon int64) {
	d.Helper()
	d.pause(mayFail)
	if err := history.Safe(&d.seen, epsilon); err != nil {
		d.Errorf("a limit did not hold: %v", err)
	}
}

// pause ends the load and keeps what was seen. Begin begins another one.
func (d *drill) pause(mayFail bool) {
	d.Helper()
	d.load.Stop()
	d.Log(d.load.Summary())
	if len(d.load.Failures()) > 0 && !mayFail {
		d.logs()
		d.Errorf("checks have failed:\n%s", d.load.Why()) // after what the nodes say: the last lines are read first
	}
	seen := d.load.History()
	d.seen.Limits = seen.Limits
	d.keep(seen.Calls)
}

// keep adds calls to what was seen.
func (d *drill) keep(calls []history.Call) {
	for i := range calls {
		c := calls[i]
		c.Start, c.End = c.Start+int64(d.ahead), c.End+int64(d.ahead)
		d.seen.Calls = append(d.seen.Calls, c)
	}
}

// A renamed checker is asked for keys by other names than the load has for them.
type renamed struct {
	limit.Checker
	name func(i int) string
}

// Check implements limit.Checker.
func (c renamed) Check(ctx context.Context, r limit.Request) (limit.Decision, error) {
	i, err := strconv.Atoi(strings.TrimPrefix(r.Key, "key:"))
	if err != nil {
		return limit.Decision{}, err
	}
	r.Key = c.name(i)
	return c.Checker.Check(ctx, r)
}

// hedges is how many checks were tried at a second node while the first one was silent. Each may be charged twice.
func (d *drill) hedges() (n float64) {
	d.Helper()
	families, err := d.client.Gather()
	if err != nil {
		d.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "jeton_client_hedges_total" {
			for _, m := range f.GetMetric() {
				n += m.GetCounter().GetValue()
			}
			return n
		}
	}
	d.Fatal("the client does not count its hedges")
	return 0
}

// logs shows what the nodes have said.
func (d *drill) logs() {
	for _, m := range d.cluster.Members {
		if m.Node != nil {
			d.Logf("%s said:\n%s", m.Name, m.Log())
		}
	}
}

// status is what the cluster says of itself.
type status struct {
	Cluster string `json:"cluster"`
	Leader  string `json:"leader"`
	Nodes   []struct {
		ID, Name string
		Role     string `json:"role"`
		Owner    int    `json:"owner"`
		Replica  int    `json:"replica"`
	} `json:"nodes"`
	Moves struct {
		Left int `json:"left"`
	} `json:"moves"`
}

// ring asks a node how the cluster is.
func (d *drill) ring(m *process.Member) (s status) {
	d.Helper()
	d.cluster.Status(m, &s)
	return s
}

// settled returns when so many nodes share all partitions, and none is under way.
func (d *drill) settled(m *process.Member, nodes int) status {
	d.Helper()
	ctx, cancel := context.WithTimeout(d.Context(), process.Patience)
	defer cancel()
	for {
		s := d.ring(m)
		sharing := 0
		for _, n := range s.Nodes {
			if n.Replica > 0 {
				sharing++
			}
		}
		if sharing == nodes && s.Moves.Left == 0 {
			return s
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			d.logs()
			d.Fatalf("%d nodes do not share all partitions after minutes: %+v", nodes, s)
		}
	}
}

// leader is the node that leads.
func (d *drill) leader() *process.Member {
	d.Helper()
	name := d.ring(d.cluster.Members[0]).Leader
	for _, m := range d.cluster.Members {
		if m.Name == name {
			return m
		}
	}
	d.Fatalf("%q leads, and is no node", name)
	return nil
}

func TestClusterOwnerKilled(t *testing.T) {
	d := newDrill(t)
	d.cluster.Members[1].Kill()
	d.load.Answered(2 * perSecond)
	d.cluster.Members[1].Launch()
	d.cluster.Members[1].Ready()
	d.load.Answered(perSecond)
	d.end(false)
}

func TestClusterRollingRestart(t *testing.T) {
	d := newDrill(t)
	for _, m := range d.cluster.Members {
		m.Restart()
		d.load.Answered(perSecond)
	}
	d.end(false)
	admitted, due := d.load.Share()
	t.Logf("%.0f tokens were admitted where %.0f were due (%.4f), %.0f hedges", admitted, due, admitted/due, d.hedges())
	// On a machine that keeps up it is all of it. One that does not asks keys later than they could have been admitted, and
	// sends hedges, whose charges admit no caller.
	if share := (admitted + d.hedges()) / due; share < 0.9 {
		t.Errorf("%.4f of what was due was admitted", share)
	}
}

func TestClusterAllKilled(t *testing.T) {
	d := newDrill(t)
	slow := func(m *process.Member) (left int64) {
		_, decision := mustDecide(d.T, m.Node, "slow", "saver")
		return decision.Limits[0].Remaining
	}
	before := int64(10)
	for range 7 {
		before = slow(d.cluster.Members[0])
	}
	if before > 3 {
		t.Errorf("%d tokens are left of ten of which seven were spent", before)
	}
	twice := triedAgain(t, d.cluster.Members[0].Node)
	for _, m := range d.cluster.Members {
		m.Kill()
	}
	var last time.Time
	for _, m := range d.cluster.Members {
		m.Launch()
		last = time.Now()
	}
	for _, m := range d.cluster.Members {
		m.Ready()
	}
	t.Logf("ready %v after the last node was started", time.Since(last).Round(10*time.Millisecond))
	// One that was charged twice, since the first node was silent, leaves fewer.
	if left, want := slow(d.cluster.Members[2]), before-1; left > max(want, 0) || left < want && twice+triedAgain(t, d.cluster.Members[2].Node) == 0 {
		t.Errorf("after all nodes were killed %d tokens are left, want %d: it was %d before one more was spent", left, want, before)
	}
	d.load.Answered(2 * perSecond)
	d.end(true)
}

func TestClusterDiskWiped(t *testing.T) {
	d := newDrill(t)
	before := d.settled(d.cluster.Members[0], 3)
	m := d.cluster.Members[2]
	m.Kill()
	m.Wipe()
	m.Launch()
	m.Ready()
	after := d.settled(d.cluster.Members[0], 3)
	for i, n := range after.Nodes {
		if n.Name == m.Name && (n.ID == before.Nodes[i].ID || n.Replica != before.Nodes[i].Replica) {
			t.Errorf("%s was %+v, and is %+v: want a new id and the old places", m.Name, before.Nodes[i], n)
		}
	}
	d.load.Answered(perSecond)
	d.end(false)
}

func TestClusterGrowsAndShrinks(t *testing.T) {
	d := newDrill(t)
	four, five := d.cluster.Add(), d.cluster.Add()
	s := d.settled(d.cluster.Members[0], 5)
	total := 0
	for _, n := range s.Nodes {
		total += n.Owner
	}
	for _, n := range s.Nodes {
		if mean := total / 5; n.Owner < mean*3/4 || n.Owner > mean*5/4+1 {
			t.Errorf("%s owns %d partitions of %d", n.Name, n.Owner, total)
		}
	}
	for _, m := range []*process.Member{four, five} {
		if out, errs, code := d.cluster.Run(d.cluster.Members[0], "cluster", "drain", m.Name); code != 0 {
			t.Fatalf("jeton cluster drain %s: exit code %d: %s%s", m.Name, code, out, errs)
		}
		if code := m.Stop(); code != 0 {
			t.Fatalf("%s: exit code %d: %s", m.Name, code, m.Log())
		}
		if out, errs, code := d.cluster.Run(d.cluster.Members[0], "cluster", "remove", m.Name); code != 0 {
			t.Fatalf("jeton cluster remove %s: exit code %d: %s%s", m.Name, code, out, errs)
		}
	}
	if s := d.settled(d.cluster.Members[0], 3); len(s.Nodes) != 3 {
		t.Errorf("nodes that were removed are still there: %+v", s)
	}
	d.load.Answered(perSecond)
	d.end(false)
}

func TestClusterTwoOfThreeDead(t *testing.T) {
	d := newDrill(t)
	d.cluster.Members[1].Kill()
	d.cluster.Members[2].Kill()
	for status := 0; status != http.StatusServiceUnavailable; {
		res := request(t, http.MethodPost, "http://"+d.cluster.Members[0].HTTP+"/v1/check", `{"key":"alone","limits":["slow"]}`)
		if status = res.status; status == http.StatusServiceUnavailable && !strings.Contains(res.body, "replicas") {
			t.Errorf("the answer does not say what is missing: %s", res.body)
		}
	}
	out, errs, code := d.cluster.Run(d.cluster.Members[0], "check", "slow", "alone")
	if code != 2 || out != "" || !strings.HasPrefix(errs, "jeton: too few replicas can answer: 1 of 3 (") || !strings.Contains(errs, "jeton cluster status") {
		t.Errorf("jeton check does not say first what is missing: exit code %d: %s%s", code, out, errs)
	}
	d.cluster.Members[1].Launch()
	back := time.Now()
	for status := 0; status != http.StatusOK; {
		status = request(t, http.MethodPost, "http://"+d.cluster.Members[0].HTTP+"/v1/check", `{"key":"alone","limits":["slow"]}`).status
		if time.Since(back) > process.Patience {
			d.logs()
			t.Fatalf("not serving minutes after one of two dead nodes was started again: %d", status)
		}
	}
	t.Logf("serving %v after one of the two was started again", time.Since(back).Round(10*time.Millisecond))
	d.load.Answered(perSecond)
	d.end(true)
}

// With five replicas of each register, two may be dead.
func TestClusterTwoOfFiveKilled(t *testing.T) {
	d := drillOn(t, process.StartCluster(t, process.Build(t), 5, clusterLimits, "--replicas", "5"))
	d.cluster.Members[1].Kill()
	d.load.Answered(perSecond)
	d.cluster.Members[4].Kill()
	d.load.Answered(2 * perSecond)
	d.end(false)
}

func TestClusterLeaderKilled(t *testing.T) {
	d := newDrill(t)
	m := d.leader()
	m.Kill()
	d.load.Answered(3 * perSecond)
	m.Launch()
	m.Ready()
	d.load.Answered(perSecond)
	d.end(false)
}

// Two of three disks are lost for ever. The operator who recovers confirms that, and the limits hold: every bucket counts as
// empty.
func TestClusterRecovered(t *testing.T) { recovered(t, false) }

// The one node that is left was restarted too, and gets no answer to whether its disk is an old copy.
func TestClusterRecoveredAfterARestart(t *testing.T) { recovered(t, true) }

func recovered(t *testing.T, restarted bool) {
	t.Helper()
	d := newDrill(t)
	survivor := d.cluster.Members[0]
	for range 3 {
		if status, _ := mustDecide(t, survivor.Node, "slow", "k"); status != http.StatusOK {
			t.Fatalf("status %d", status)
		}
	}
	for _, m := range d.cluster.Members[1:] {
		m.Kill()
		m.Wipe()
	}
	if restarted {
		survivor.Kill()
		survivor.Launch()
		survivor.WaitForLog("waiting for a majority of the voters")
	}
	out, errs, code := d.cluster.Run(survivor, "cluster", "recover", "--lost", "node-2,node-3", "--yes")
	if code != 0 || !strings.Contains(errs, "begin again with a floor") || !strings.Contains(errs, "may be denied, at most for so long: slow ") {
		d.logs()
		t.Fatalf("jeton cluster recover: exit code %d: %s%s", code, out, errs)
	}
	began := time.Now()
	for {
		status, decision := check(t, survivor.Node, "slow", "k")
		if status == http.StatusTooManyRequests && decision.Limits[0].Remaining == 0 {
			break
		}
		if status == http.StatusOK || time.Since(began) > process.Patience {
			d.logs()
			t.Fatalf("after a recovery: %d %+v, want every bucket emptied", status, decision)
		}
	}
	t.Logf("serving %v after the recovery", time.Since(began).Round(10*time.Millisecond))
	for _, m := range d.cluster.Members[1:] {
		m.Launch()
		m.Ready()
	}
	d.settled(survivor, 3)
	d.load.Answered(2 * perSecond)
	d.end(true)
}
