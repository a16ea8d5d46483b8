package clustertests

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/jeton-dev/jeton/actor/limit"
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
}

// newDrill starts a cluster of three nodes and the load on it.
func newDrill(t *testing.T, args ...string) *drill {
	t.Helper()
	return drillOn(t, process.StartCluster(t, process.Build(t), 3, clusterLimits, args...))
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
	d.client = prometheus.NewRegistry()
	c, err := client.New(client.Config{Servers: d.cluster.Servers(), Registerer: d.client})
	if err != nil {
		d.Fatal(err)
	}
	d.Cleanup(func() { c.Close() }) //nolint:errcheck // nothing is asked any more
	d.load = load.Start(d.T, load.Config{
		Checker: c, Rule: rule, Keys: clusterKeys, PerSecond: perSecond, Deadline: deadline, Slow: impatience,
	})
	d.load.Answered(perSecond)
}

// end ends the load and passes its verdict: no key is over its bound, and, where that is promised, no check has failed.
func (d *drill) end(mayFail bool) {
	d.Helper()
	d.load.Stop()
	d.Log(d.load.Summary())
	if err := d.load.Held(nodesApart); err != nil {
		d.Errorf("a limit did not hold: %v", err)
	}
	if len(d.load.Failures()) > 0 && !mayFail {
		d.Errorf("checks have failed:\n%s", d.load.Why())
		d.logs()
	}
}

// secondTries is how many checks were tried at a second node while the first one was silent. Each may be charged twice.
func (d *drill) secondTries() (n float64) {
	d.Helper()
	families, err := d.client.Gather()
	if err != nil {
		d.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "jeton_client_second_tries_total" {
			for _, m := range f.GetMetric() {
				n += m.GetCounter().GetValue()
			}
			return n
		}
	}
	d.Fatal("the client does not count its second tries")
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
	out, errs, code := d.cluster.Run(m, "cluster", "status", "--output", "json")
	if code != 0 {
		d.Fatalf("jeton cluster status: exit code %d: %s", code, errs)
	}
	if err := json.Unmarshal([]byte(out), &s); err != nil {
		d.Fatalf("%v: %s", err, out)
	}
	return s
}

// settled returns when so many nodes share all partitions, and none is under way.
func (d *drill) settled(m *process.Member, nodes int) status {
	d.Helper()
	ctx, cancel := context.WithTimeout(d.Context(), time.Minute)
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
			d.Fatalf("%d nodes do not share all partitions after a minute: %+v", nodes, s)
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
	t.Logf("%.0f tokens were admitted where %.0f were due (%.4f), %.0f second tries", admitted, due, admitted/due, d.secondTries())
	// On a machine that keeps up it is all of it. One that does not asks keys later than they could have been admitted, and
	// makes second tries, whose charges nobody is admitted for.
	if share := (admitted + d.secondTries()) / due; share < 0.9 {
		t.Errorf("%.4f of what was due was admitted", share)
	}
}

func TestClusterAllKilled(t *testing.T) {
	d := newDrill(t)
	slow := func(m *process.Member) (left int64) {
		status, decision := check(d.T, m.Node, "slow", "saver")
		if status != http.StatusOK && status != http.StatusTooManyRequests {
			t.Fatalf("status %d", status)
		}
		return decision.Limits[0].Remaining
	}
	for range 7 {
		slow(d.cluster.Members[0])
	}
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
	if left := slow(d.cluster.Members[2]); left != 2 {
		t.Errorf("after all nodes were killed %d tokens are left of ten, want 2: eight are spent", left)
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
	d.cluster.Members[1].Launch()
	back := time.Now()
	for status := 0; status != http.StatusOK; {
		status = request(t, http.MethodPost, "http://"+d.cluster.Members[0].HTTP+"/v1/check", `{"key":"alone","limits":["slow"]}`).status
		if time.Since(back) > time.Minute {
			d.logs()
			t.Fatalf("not serving a minute after one of two dead nodes was started again: %d", status)
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

// Two of three disks are lost for ever. Whoever recovers says so, and the limits hold: every bucket counts as emptied.
func TestClusterRecovered(t *testing.T) { recovered(t, false) }

// The one node that is left was restarted too, and asks in vain whether its disk is an old copy.
func TestClusterRecoveredAfterARestart(t *testing.T) { recovered(t, true) }

func recovered(t *testing.T, restarted bool) {
	t.Helper()
	d := newDrill(t)
	survivor := d.cluster.Members[0]
	for range 3 {
		if status, _ := check(t, survivor.Node, "slow", "k"); status != http.StatusOK {
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
		survivor.WaitForLog("waits for a majority")
	}
	out, errs, code := d.cluster.Run(survivor, "cluster", "recover", "--lost", "node-2,node-3", "--yes")
	if code != 0 || !strings.Contains(errs, "begin again with a floor") {
		d.logs()
		t.Fatalf("jeton cluster recover: exit code %d: %s%s", code, out, errs)
	}
	began := time.Now()
	for {
		status, decision := check(t, survivor.Node, "slow", "k")
		if status == http.StatusTooManyRequests && decision.Limits[0].Remaining == 0 {
			break
		}
		if status == http.StatusOK || time.Since(began) > time.Minute {
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

// Whatever happens to one node after the other, in whatever order, the limits hold and the cluster comes back.
func TestClusterStorm(t *testing.T) { storm(t, 8) }

// In memory mode what is killed has forgotten, and assumes the worst.
func TestClusterStormInMemory(t *testing.T) { storm(t, 5, "--durability", "memory") }

// storm does so many things to the nodes of a cluster.
func storm(t *testing.T, things int, args ...string) {
	t.Helper()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	d := newDrill(t, args...)
	for range things {
		m := d.cluster.Members[r.IntN(3)]
		pause := 100 + r.IntN(perSecond) // checks
		switch r.IntN(5) {
		case 0:
			t.Logf("%s is killed", m.Name)
			m.Kill()
			d.load.Answered(pause)
			m.Launch()
		case 1:
			t.Logf("%s is frozen", m.Name)
			m.Freeze()
			d.load.Answered(pause)
			m.Thaw()
		case 2:
			t.Logf("%s is restarted", m.Name)
			m.Restart()
		case 3:
			t.Logf("%s loses its disk", m.Name)
			m.Kill()
			m.Wipe()
			m.Launch()
			m.Ready()
			d.settled(m, 3) // a second one that is lost before that is one too many
		case 4:
			t.Logf("%s, and then another one, is killed", m.Name)
			other := d.cluster.Members[(r.IntN(2)+1+slices.Index(d.cluster.Members, m))%3]
			m.Kill()
			other.Kill()
			d.load.Answered(pause)
			m.Launch()
			other.Launch()
			other.Ready()
		}
		m.Ready()
		d.load.Answered(pause)
	}
	d.settled(d.cluster.Members[0], 3)
	d.end(true)
	if failures := d.load.Failures(); len(failures) > 0 {
		t.Logf("checks that were not decided:\n%s", d.load.Why())
	}
	last := d.load.Calls()
	if len(last) == 0 || time.Since(time.Unix(0, last[len(last)-1].End)) > time.Minute {
		t.Error("nothing is decided in the end")
	}
}
