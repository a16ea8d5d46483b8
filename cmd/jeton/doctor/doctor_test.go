package doctor

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/cmd/jeton/doctor/facts"
	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/ring/cluster"
	"github.com/jeton-dev/jeton/ring/cluster/status"
	"github.com/jeton-dev/jeton/rpc/activity"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// well is a machine and a cluster with which nothing is wrong.
func well() *Facts {
	m := &facts.Machine{
		User: "jeton", Clustered: true,
		Folder: facts.Folder{Path: "/data", Made: "/data", Format: 3, Newest: 3, Node: "a1", Cluster: "c1", Holder: 7},
		Disk: facts.Disk{
			Mount: facts.Mount{Type: "ext4", Point: "/data", Source: "/dev/vda", Options: []string{"rw"}}, Drive: facts.Drive{Name: "vda", Cache: "write back"},
			Fsync: facts.Fsync{Writes: 64, P50: 800 * time.Microsecond, P99: 3 * time.Millisecond}, Room: facts.Room{Free: 1 << 40, Whole: 1 << 41, FreeFiles: 900, WholeFiles: 1000},
		},
		Files: facts.Files{Limit: 65536, Open: 100, Of: 7}, Memory: facts.Memory{Bound: 3 << 30, Source: "the machine", There: 4 << 30, Of: "the machine", Killed: -1},
		Processors: facts.Processors{Count: 4, Quota: 2, Periods: 1000, Throttled: 3}, Clock: facts.Clock{Synchronized: true, Error: time.Millisecond, Source: "tsc"},
		Ports: []facts.Port{{Option: "listen-grpc", Network: "tcp", Address: ":7700", Taken: true, Holder: 7}}, Named: []facts.Named{{Option: "tls-cert", Path: "tls.crt", Ends: in(90 * 24 * time.Hour)}},
	}
	c := &facts.Cluster{Server: "a:7700", Limits: []string{"api", "login"}}
	s := &status.Status{Cluster: "c1", Node: "a", Leader: "a", Replicas: 3, Wanted: 3, Partitions: 100, Deciding: ring.Deciding{Verdict: ring.DecidesAll}}
	for i, name := range []string{"a", "b", "c"} {
		role := "voter"
		if i == 0 {
			role = "leader"
		}
		s.Nodes = append(s.Nodes, status.NodeStatus{Name: name, Zone: "zone-" + name, Role: role, Owner: 33, Replica: 100})
		c.Nodes = append(c.Nodes, activity.Node{
			Name: name, Started: now.Add(-3 * time.Hour), Now: now, Durability: "fsync", Limits: map[string]activity.Counts{"api": {Allowed: 5}, "login": {Allowed: 1, Denied: 40}},
		})
		c.View.Nodes = append(c.View.Nodes, activity.NodeRates{Name: name})
		c.Reached = append(c.Reached, facts.Reached{Node: name, Port: "http", Address: name + ":7702", Ends: in(90 * 24 * time.Hour)})
		p := status.Probed{Name: name}
		for _, to := range []string{"a", "b", "c"} {
			if to != name {
				p.Paths = append(p.Paths, status.Path{To: to, Port: status.PortRaft, Address: to + ":7703"}, status.Path{To: to, Port: status.PortGossipUDP, Address: to + ":7701"})
			}
		}
		c.Probes = append(c.Probes, p)
	}
	c.View.Cluster = s
	c.Nodes[0].Gateways = []activity.Gateway{{Name: "edge", Started: now.Add(-time.Hour), Now: now}}
	c.Overrides = []cluster.OverrideStatus{{Limit: "api", Key: "x", At: now.Add(-48 * time.Hour), Until: now.Add(200 * time.Hour)}, {Limit: "api", Key: "y", Document: true}}
	return &Facts{At: now, Machine: m, Cluster: c}
}

func in(d time.Duration) *time.Time {
	at := now.Add(d)
	return &at
}

// A wrong is one thing that is wrong, and what is said then: severity, heading, and a part of the words.
type wrong struct {
	what     string
	make     func(m *facts.Machine, c *facts.Cluster)
	severity string
	heading  heading
	says     string
}

// ofMachine are things that are wrong with a machine.
var ofMachine = []wrong{
	{"options", func(m *facts.Machine, _ *facts.Cluster) { m.Wrong = "expect: 2" }, activity.Critical, optionsWrong, "expect: 2"},
	{"durability", func(m *facts.Machine, _ *facts.Cluster) { m.InMemory = true }, activity.Warning, memoryOnly, "--durability memory"},
	{"another program's folder", func(m *facts.Machine, _ *facts.Cluster) { m.Folder.Wrong = "it holds a.doc" }, activity.Critical, folderWrong, "it holds a.doc"},
	{"a folder to be emptied", func(m *facts.Machine, _ *facts.Cluster) { m.Folder.Renewing = true }, activity.Warning, folderRenewed, "an old copy"},
	{"one slow fsync of a hundred", func(m *facts.Machine, _ *facts.Cluster) { m.Disk.Fsync.P99 = activity.FsyncWarns }, activity.Warning, diskSlow, "one of a hundred 200ms"},
	{"slow fsyncs", func(m *facts.Machine, _ *facts.Cluster) { m.Disk.Fsync.P50 = 30 * time.Millisecond }, activity.Warning, diskSlow, "take 30ms or more"},
	{"no fsync at all", func(m *facts.Machine, _ *facts.Cluster) { m.Disk.Fsync.P50 = 700 * time.Nanosecond }, activity.Warning, fsyncQuick, "an fsync takes 700ns"},
	{"a folder that cannot be written to", func(m *facts.Machine, _ *facts.Cluster) { m.Disk.Fsync = facts.Fsync{Unknown: "permission denied"} }, activity.Critical, fsyncFails, "user jeton cannot write to /data: permission denied"},
	{"tmpfs", func(m *facts.Machine, _ *facts.Cluster) {
		m.Disk.Mount.Type, m.Disk.Fsync.P50 = "tmpfs", 300*time.Nanosecond
	}, activity.Warning, noDisk, "on tmpfs"},
	{"overlay", func(m *facts.Machine, _ *facts.Cluster) { m.Disk.Mount.Type = "overlay" }, activity.Warning, layer, "(overlay)"},
	{"nfs", func(m *facts.Machine, _ *facts.Cluster) { m.Disk.Mount.Type = "nfs4" }, activity.Notice, elsewhere, "on nfs4"},
	{"a program's file system", func(m *facts.Machine, _ *facts.Cluster) { m.Disk.Mount.Type = "fuse.s3fs" }, activity.Notice, elsewhere, "fuse.s3fs"},
	{"nobarrier", func(m *facts.Machine, _ *facts.Cluster) { m.Disk.Mount.Options = []string{"rw", "nobarrier"} }, activity.Warning, unsafeMount, "mounted with nobarrier"},
	{"data=writeback", func(m *facts.Machine, _ *facts.Cluster) { m.Disk.Mount.Options = []string{"data=writeback"} }, activity.Warning, unsafeMount, "data=writeback"},
	{"little room", func(m *facts.Machine, _ *facts.Cluster) { m.Disk.Free = 900 << 20 }, activity.Warning, diskFull, "900.0 MiB left"},
	{"no room", func(m *facts.Machine, _ *facts.Cluster) { m.Disk.Free = 5000 }, activity.Critical, diskFull, "5000 bytes left"},
	{"few inodes", func(m *facts.Machine, _ *facts.Cluster) { m.Disk.FreeFiles = 20 }, activity.Warning, fewFiles, "20 more files, of 1000"},
	{"few descriptors", func(m *facts.Machine, _ *facts.Cluster) { m.Files.Limit = 1024 }, activity.Warning, fewDescriptors, "only 1024 files"},
	{"descriptors used up", func(m *facts.Machine, _ *facts.Cluster) { m.Files.Open = 60000 }, activity.Warning, fewDescriptors, "60000 files open, and may have 65536"},
	{"more memory than there is", func(m *facts.Machine, _ *facts.Cluster) { m.Memory.Bound, m.Memory.Source = 5<<30, "--memory" }, activity.Warning, muchMemory, "5.0 GiB, by --memory, and the machine has only 4.0 GiB"},
	{"no bound of memory", func(m *facts.Machine, _ *facts.Cluster) { m.Memory.Bound = 0 }, activity.Warning, muchMemory, "no bound"},
	{"killed for memory", func(m *facts.Machine, _ *facts.Cluster) { m.Memory.Killed = 2 }, activity.Warning, memoryKilled, "killed 2 processes"},
	{"a small quota", func(m *facts.Machine, _ *facts.Cluster) { m.Processors.Quota = 0.5 }, activity.Warning, littleProcessor, "0.5 of a processor"},
	{"a quota that is used up", func(m *facts.Machine, _ *facts.Cluster) { m.Processors.Throttled = 200 }, activity.Warning, littleProcessor, "20 % of the periods"},
	{"no time service", func(m *facts.Machine, _ *facts.Cluster) { m.Clock.Synchronized = false }, activity.Warning, clockFree, "does not know"},
	{"a clock that is off", func(m *facts.Machine, _ *facts.Cluster) { m.Clock.Error = 150 * time.Millisecond }, activity.Warning, clockOff, "150ms"},
	{"a slow clock", func(m *facts.Machine, _ *facts.Cluster) { m.Clock.Source = "acpi_pm" }, activity.Notice, clockSlow, "acpi_pm"},
	{"a port that another process has", func(m *facts.Machine, _ *facts.Cluster) { m.Ports[0].Holder, m.Ports[0].Program = 9, "nginx" }, activity.Critical, portTaken, "is taken by nginx, process 9"},
	{"a jeton with another data folder", func(m *facts.Machine, _ *facts.Cluster) {
		m.Folder = facts.Folder{Path: "/data", Made: "/"}
		m.Ports[0].Program = "jeton"
	}, activity.Critical, otherOptions, "is taken by jeton, process 7, which does not have this data folder open"},
	{"a port that is taken before the first start", func(m *facts.Machine, _ *facts.Cluster) {
		m.Folder = facts.Folder{Path: "/data", Made: "/"}
		m.Ports[0].Holder, m.Ports[0].Speaks = 0, "HTTP"
	}, activity.Critical, portTaken, ":7700 (--listen-grpc, tcp) is taken, and speaks HTTP"},
	{"an address of another machine", func(m *facts.Machine, _ *facts.Cluster) {
		m.Ports[0].Taken, m.Ports[0].Wrong = false, "cannot assign"
	}, activity.Critical, portWrong, "cannot assign"},
	{"a node with other options", func(m *facts.Machine, _ *facts.Cluster) { m.Ports[0].Taken = false }, activity.Warning, otherOptions, "nothing listens at :7700"},
	{"a host of --join without an address", func(m *facts.Machine, _ *facts.Cluster) {
		m.Join = []facts.Joined{{Address: "10.0.0.1:7701"}, {Address: "node-2:7701", Wrong: "no such host"}}
	}, activity.Warning, joinUnresolved, "the host of node-2:7701 (--join) has no address: no such host"},
	{"a key that others may read", func(m *facts.Machine, _ *facts.Cluster) { m.Named[0].Wrong = "has mode 0644" }, activity.Critical, fileWrong, "--tls-cert: has mode 0644"},
	{"a key that the node may not read", func(m *facts.Machine, _ *facts.Cluster) { m.Named[0].Closed = "jeton" }, activity.Critical, fileClosed, "user jeton, who owns the data folder, may not read tls.crt"},
	{"a file with a certificate that ends", func(m *facts.Machine, _ *facts.Cluster) { m.Named[0].Ends = in(72 * time.Hour) }, activity.Warning, certificateEnds, "tls.crt (--tls-cert) ends in 72h, at 2026-03-04T12:00:00Z"},
}

// ofCluster are things that are wrong with a cluster.
var ofCluster = []wrong{
	{"a certificate that ends tomorrow", func(_ *facts.Machine, c *facts.Cluster) { c.Reached[1].Ends = in(30 * time.Hour) }, activity.Critical, certificateEnds, "node b ends in 30h"},
	{"a certificate that has ended", func(_ *facts.Machine, c *facts.Cluster) {
		c.Gateways = []facts.Reached{{Address: "edge:443", Ends: in(-time.Hour)}}
	}, activity.Critical, certificateEnds, "the certificate of edge:443 has ended at 2026-03-01T11:00:00Z"},
	{"a node that is not reached", func(_ *facts.Machine, c *facts.Cluster) { c.Reached[2].Error = "refused" }, activity.Notice, notReached, "node c cannot be reached from here at c:7702 (http): refused"},
	{"a gateway that is not reached", func(_ *facts.Machine, c *facts.Cluster) {
		c.Gateways = []facts.Reached{{Address: "edge:443", Error: "refused"}}
	}, activity.Warning, gatewayClosed, "edge:443, which --gateway names, cannot be reached from here: refused"},
	{"a path that is closed", func(_ *facts.Machine, c *facts.Cluster) {
		c.Probes[0].Paths[0].Error, c.Probes[0].Paths[1].Error = "no answer in time", "no answer in time"
	}, activity.Warning, pathBroken, "node a does not reach node b: gossip over UDP at b:7701: no answer in time; raft at b:7703: no answer in time"},
	{"an older node", func(_ *facts.Machine, c *facts.Cluster) {
		c.Probes[1] = status.Probed{Name: "b", Error: status.NotProbing}
	}, activity.Notice, pathUntold, "node b does not say which other nodes it reaches: it is of an older release"},
	{"a limit that is never used", func(_ *facts.Machine, c *facts.Cluster) { c.Limits = append(c.Limits, "old") }, activity.Notice, limitUnused, "no check has used old since the nodes started, 3h ago"},
	{"a limit that denies everything", func(_ *facts.Machine, c *facts.Cluster) {
		for i := range c.Nodes {
			c.Nodes[i].Started = c.Nodes[i].Started.Add(time.Duration(i) * time.Hour)
			c.Nodes[i].Limits["login"] = activity.Counts{Denied: 40}
		}
	}, activity.Warning, limitDenies, "limit login has denied all of its 120 checks since the nodes started, 1h to 3h ago"},
	{"one zone", func(_ *facts.Machine, c *facts.Cluster) { inZones(c, "z", "z", "z") }, activity.Warning, oneZone, "all nodes are in zone z"},
	{"two zones", func(_ *facts.Machine, c *facts.Cluster) { inZones(c, "y", "z", "z") }, activity.Notice, oneZone, "two zones, y and z"},
	{"a node without a zone", func(_ *facts.Machine, c *facts.Cluster) { inZones(c, "y", "", "z") }, activity.Warning, someZones, "b without a zone"},
	{"one replica", func(_ *facts.Machine, c *facts.Cluster) { c.View.Cluster.Replicas = 1 }, activity.Notice, fewReplicas, "kept on one node"},
	{"two voters", func(_ *facts.Machine, c *facts.Cluster) { c.View.Cluster.Nodes[1].Role = "non-voter" }, activity.Warning, fewVoters, "only 2 of 3 nodes vote"},
	{"a level below what all know", func(_ *facts.Machine, c *facts.Cluster) { c.View.Cluster.Level, c.View.Cluster.Raise = 1, 2 }, activity.Notice, levelBehind, "every node knows 2"},
	{"a node that is drained", func(_ *facts.Machine, c *facts.Cluster) {
		n := &c.View.Cluster.Nodes[1]
		n.Draining, n.Owner, n.Replica = true, 0, 0
	}, activity.Notice, draining, "node b is drained"},
	{"a node that drains", func(_ *facts.Machine, c *facts.Cluster) { c.View.Cluster.Nodes[1].Draining = true }, activity.Notice, draining, "keeps 100 partitions yet"},
	{"a node that keeps decisions in memory", func(_ *facts.Machine, c *facts.Cluster) { c.Nodes[2].Durability = "memory" }, activity.Warning, memoryOnly, "c with --durability memory"},
	{"an override that ends", func(_ *facts.Machine, c *facts.Cluster) { c.Overrides[0].Until = now.Add(90 * time.Minute) }, activity.Notice, overrideEnds, `api "x" in 1h30m`},
	{"an override of long ago", func(_ *facts.Machine, c *facts.Cluster) {
		c.Overrides[0] = cluster.OverrideStatus{Limit: "api", Key: "x", At: now.AddDate(-1, 0, 0), Who: "ann"}
	}, activity.Notice, overrideStands, `api "x", set by ann at 2025-03-01`},
	{"an override in vain", func(_ *facts.Machine, c *facts.Cluster) { c.Overrides[1].NoEffect = "the limit has no capacity" }, activity.Notice, overrideVain, `api "y" (the limit has no capacity)`},
	{"a gateway that has failed open", func(_ *facts.Machine, c *facts.Cluster) {
		c.Nodes[0].Gateways[0].FailedOpen = map[string]float64{"api": 8, "login": 0}
	}, activity.Notice, passedOpen, "gateway edge has let 8 checks pass without a decision since it started, 1h ago: of api"},
}

func inZones(c *facts.Cluster, zones ...string) {
	for i, z := range zones {
		c.View.Cluster.Nodes[i].Zone = z
	}
}

// TestFindings makes one thing wrong after another, and expects that to be said, and nothing else. Every heading is met.
func TestFindings(t *testing.T) {
	if r := Judge(well()); len(r.Findings) > 0 {
		t.Fatalf("nothing is wrong, and it is said %+v", r.Findings)
	}
	met := map[heading]bool{}
	for _, w := range slices.Concat(ofMachine, ofCluster) {
		f := well()
		w.make(f.Machine, f.Cluster)
		r := Judge(f)
		if len(r.Findings) != 1 {
			t.Errorf("%s: it is said %+v", w.what, r.Findings)
			continue
		}
		got := r.Findings[0]
		if got.Severity != w.severity || got.More != w.heading.anchor() || !strings.Contains(got.What, w.says) {
			t.Errorf("%s: %s: %s, %s; want %s, %q, %s", w.what, got.Severity, got.What, got.More, w.severity, w.says, w.heading.anchor())
		}
		if !strings.HasSuffix(got.Do, ".") && !strings.HasSuffix(got.Do, ").") {
			t.Errorf("%s: it is not said what to do: %q", w.what, got.Do)
		}
		met[w.heading] = true
	}
	for _, h := range headings() {
		if !met[h] {
			t.Errorf("no case finds that %q", h)
		}
	}
}

// TestNotTold says what cannot be told, and finds nothing in it.
func TestNotTold(t *testing.T) {
	for _, w := range []struct {
		what string
		make func(m *facts.Machine, c *facts.Cluster)
		says string
	}{
		{"a rotating disk", func(m *facts.Machine, _ *facts.Cluster) { m.Disk.Drive.Rotating = true }, "sooner than a disk turns"},
		{"a mount", func(m *facts.Machine, _ *facts.Cluster) { m.Disk.Mount = facts.Mount{Unknown: "no such file"} }, "what /data is on: no such file"},
		{"room", func(m *facts.Machine, _ *facts.Cluster) { m.Disk.Room.Unknown = "not permitted" }, "how much is free: not permitted"},
		{"who has the folder", func(m *facts.Machine, _ *facts.Cluster) {
			m.Folder.Holder, m.Folder.LockUnknown = 0, "permission denied"
		}, "whether a node has it open: permission denied"},
		{"open files", func(m *facts.Machine, _ *facts.Cluster) { m.Files = facts.Files{Unknown: "not permitted"} }, "how many there may be: not permitted"},
		{"memory", func(m *facts.Machine, _ *facts.Cluster) { m.Memory.There = 0 }, "how much there is"},
		{"the clock", func(m *facts.Machine, _ *facts.Cluster) { m.Clock = facts.Clock{Unknown: "adjtimex: not permitted"} }, "adjtimex: not permitted"},
		{"paths", func(_ *facts.Machine, c *facts.Cluster) { c.ProbesUnknown = "unknown method Probe" }, "whether nodes reach one another: unknown method Probe"},
		{"limits", func(_ *facts.Machine, c *facts.Cluster) { c.LimitsUnknown = "late" }, "which there are: late"},
		{"limits of a young node", func(_ *facts.Machine, c *facts.Cluster) {
			c.Limits, c.Nodes[0].Started = append(c.Limits, "old"), now.Add(-time.Minute)
		}, "whether checks use old"},
		{"overrides", func(_ *facts.Machine, c *facts.Cluster) { c.OverridesUnknown = "late" }, "which there are: late"},
		{"zones", func(_ *facts.Machine, c *facts.Cluster) { inZones(c, "", "", "") }, "no node has a --zone"},
		{"a gateway", func(_ *facts.Machine, c *facts.Cluster) { c.Gateways = []facts.Reached{{Address: "edge:80"}} }, "of edge:80: it shows none"},
		{"gateways", func(_ *facts.Machine, c *facts.Cluster) { c.Nodes[0].Gateways = nil }, "whether gateways decide: none tells"},
	} {
		f := well()
		w.make(f.Machine, f.Cluster)
		r := Judge(f)
		said := ""
		for _, u := range r.Unknown {
			said += u.Says + "\n"
		}
		if len(r.Findings) > 0 || !strings.Contains(said, w.says) {
			t.Errorf("%s: %q, and found %+v; want %q", w.what, said, r.Findings, w.says)
		}
	}
}

// TestSilentNode is told of once, by the problem of the node, and not again for each path to it.
func TestSilentNode(t *testing.T) {
	f := well()
	c := f.Cluster
	c.View.Nodes[1].Error = status.NotReached
	c.View.Problems = []activity.Problem{{Severity: activity.Warning, What: "node b does not tell", Do: "Start it.", More: "when-it-fails.md#a-node-is-killed"}}
	c.Probes[1] = status.Probed{Name: "b", Error: status.NoAnswer}
	c.Probes[0].Paths[0].Error = status.Refused
	if r := Judge(f); len(r.Findings) != 1 || r.Findings[0].What != "node b does not tell" {
		t.Errorf("got %+v", r.Findings)
	}
}

// TestAlone judges a node that no other ever joins.
func TestAlone(t *testing.T) {
	f := well()
	f.Machine = nil
	c := f.Cluster
	c.View.Cluster, c.Probes, c.Reached, c.Overrides = nil, nil, nil, nil
	c.Nodes, c.View.Nodes = c.Nodes[:1], c.View.Nodes[:1]
	if r := Judge(f); len(r.Findings) > 0 {
		t.Errorf("got %+v", r.Findings)
	}
}

// TestReport has the worst first, counts, leaves out what is less bad than was asked for, and is one object in JSON.
func TestReport(t *testing.T) {
	f := well()
	f.Machine.Clock.Source, f.Machine.Disk.Free, f.Machine.InMemory = "hpet", 0, true
	r := Judge(f)
	var b bytes.Buffer
	if err := r.Write(&b); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	at := func(s string) int { return strings.Index(text, s) }
	parts := []int{at("looked at:"), at("cannot be told"), at("critical: "), at("warning: "), at("notice: ")}
	if parts[0] != 0 || !slices.IsSorted(parts) || !strings.HasSuffix(text, "found: 1 critical, 1 warning, 1 notice\n") || at("    https://github.com/jeton-dev/jeton/blob/main/docs/doctor.md#the-disk-is-nearly-full\n") < 0 {
		t.Errorf("got\n%s", text)
	}
	written, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var back Report
	if err := json.Unmarshal(written, &back); err != nil || len(back.Findings) != 3 || len(back.Seen) == 0 {
		t.Errorf("%s: %v", written, err)
	}
	r.Least(activity.Warning)
	if len(r.Findings) != 2 {
		t.Errorf("got %+v", r.Findings)
	}
	r.Findings = append(r.Findings, r.Findings...)
	if r.count() != "found: 2 critical, 2 warnings" {
		t.Errorf("got %s", r.count())
	}
	r.Findings = r.Findings[:2]
	r.Least(activity.Critical)
	if r.count() != "found: 1 critical" {
		t.Errorf("got %s", r.count())
	}
	r.Findings = nil
	if r.count() != "nothing found" {
		t.Errorf("got %s", r.count())
	}
}

// TestPage has a section of docs/doctor.md for each heading, in the same order, and no others.
func TestPage(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "doctor.md"))
	if err != nil {
		t.Fatal(err)
	}
	var page []heading
	for line := range strings.Lines(string(text)) {
		if title, is := strings.CutPrefix(line, "### "); is {
			page = append(page, heading(strings.TrimSpace(title)))
		}
	}
	if !slices.Equal(page, headings()) {
		t.Errorf("the page has\n%q\nwant\n%q", page, headings())
	}
}
