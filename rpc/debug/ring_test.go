package debug

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/ring/cluster"
	"github.com/jeton-dev/jeton/ring/cluster/health"
	"github.com/jeton-dev/jeton/ring/cluster/message"
	"github.com/jeton-dev/jeton/ring/cluster/status"
	"github.com/jeton-dev/jeton/ring/level"
)

// told is a cluster that says what it was made to say.
type told struct{ status cluster.Status }

func (s told) Status(context.Context) cluster.Status { return s.status }

func someStatus() cluster.Status {
	ahead := 1.25
	return cluster.Status{
		Cluster: "c1", Node: "a", Version: 7, Leader: "b", Partitions: 271, Replicas: 3, Wanted: 5,
		LowestEpoch: 1, HighestEpoch: 4, Floored: 2, LimitsVersion: 3, Level: 2,
		Deciding: ring.Deciding{Verdict: ring.DecidesAll, Partitions: 271},
		Moves:    cluster.Progress{Left: 12, UnderWay: 4, Phases: map[string]int{"copying": 8, "installing": 4}},
		Nodes: []cluster.NodeStatus{
			{ID: ring.NodeID{1}, Name: "a", Zone: "z1", GRPC: "a:7700", Alive: true, Answering: health.Answers, Role: "voter", Owner: 90, Replica: 271},
			{ID: ring.NodeID{2}, Name: "b", GRPC: "b:7700", Alive: true, Answering: health.Answers, Role: "leader", Draining: true, Replica: 3, ClockAheadMS: &ahead},
			{ID: ring.NodeID{3}, Name: "c", GRPC: "c:7700", DeadSeconds: 80, Answering: health.Unreachable, SilentSeconds: 90, Role: "voter"},
		},
	}
}

// TestKeysOfTheStatus shows a cluster in the middle of a rotation of its key.
func TestKeysOfTheStatus(t *testing.T) {
	s, ago := someStatus(), 90.0
	s.Nodes[0].Keys = []message.KeyUse{{Name: "3fa2", Connections: 4}, {Name: "90bc", UsedSeconds: &ago}}
	s.Nodes[1].Keys = []message.KeyUse{{Name: "90bc"}}
	page := new(strings.Builder)
	if err := WriteStatus(page, &s); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"key 3fa2  shown by a; refused by b; in use: 4 open connections\n",
		"key 90bc  shown by b; only accepted by a; used last 1m30s ago\n",
		"keys of   c: not known\n",
	} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("the page does not say %q:\n%s", want, page)
		}
	}
}

// TestKeptOutOfTheStatus shows a node that is a cluster of its own.
func TestKeptOutOfTheStatus(t *testing.T) {
	s, page := someStatus(), new(strings.Builder)
	s.KeptOut = []status.KeptOut{{Name: "d", Gossip: "d:7701", Cluster: "c2", Why: "it belongs to cluster c2, this node to c1"}}
	if err := WriteStatus(page, &s); err != nil {
		t.Fatal(err)
	}
	if want := "kept out  d at d:7701: it belongs to cluster c2, this node to c1\n"; !strings.Contains(page.String(), want) {
		t.Errorf("the page does not say %q:\n%s", want, page)
	}
}

// TestLevelOfTheStatus shows a cluster in the middle of an upgrade.
func TestLevelOfTheStatus(t *testing.T) {
	of := func(oldest, newest int) *level.Range { return &level.Range{Oldest: oldest, Newest: newest} }
	for want, change := range map[string]func(*cluster.Status){
		"level 2\n": func(*cluster.Status) {},
		"level 1\n": func(s *cluster.Status) { s.Level = 0 }, // as a release before levels tells it
		"level 2; every node knows 3: jeton cluster upgrade raises it\n": func(s *cluster.Status) { s.Raise = 3 },
		"level 2; some nodes know 3, but not b, c\n": func(s *cluster.Status) {
			s.Nodes[0].Levels, s.Nodes[1].Levels, s.Nodes[2].Levels = of(2, 3), of(1, 2), of(1, 2)
		},
		"level 2; some nodes know 3; not heard: c\n": func(s *cluster.Status) { s.Nodes[0].Levels, s.Nodes[1].Levels = of(2, 3), of(2, 3) },
	} {
		s, page := someStatus(), new(strings.Builder)
		change(&s)
		if err := WriteStatus(page, &s); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(strings.Join(strings.Fields(page.String()), " "), strings.TrimSpace(want)+" node zone") {
			t.Errorf("the page does not say %q:\n%s", want, page)
		}
	}
}

const statusPage = `
every key can be decided, as a sees it

cluster  c1
leader   b
table    version 7, 271 partitions in epochs 1 to 4, 3 replicas of each (5 once there are as many nodes); 2 began with a floor after a forced recovery
moves    12 partitions to move, 4 under way: 8 copying, 4 installing
limits   version 3
level    2

node  zone  is                 raft    owner of  replica of  clock   gRPC    id
a     z1    up                 voter   90        271         0       a:7700  01000000000000000000000000000000
b     -     draining           leader  0         3           +1.2ms  b:7700  02000000000000000000000000000000
c     -     gone for 1m30s     voter   0         0           -       c:7700  03000000000000000000000000000000
`

// TestStatusPage compares the page with what people are to see; how wide columns are does not matter.
func TestStatusPage(t *testing.T) {
	s := someStatus()
	var page strings.Builder
	if err := WriteStatus(&page, &s); err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Fields(page.String()), strings.Fields(statusPage); strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("the page is\n%s\nwant\n%s", page.String(), statusPage)
	}
	page.Reset()
	if err := WriteStatus(&page, &cluster.Status{Node: "a"}); err != nil || page.String() != "a belongs to no cluster yet\n" {
		t.Errorf("before it has joined: %q, %v", page.String(), err)
	}
	page.Reset()
	s.Leader = ""
	if err := WriteStatus(&page, &s); err != nil || !strings.Contains(page.String(), "none: neither table nor limits can change") {
		t.Errorf("without a leader: %q, %v", page.String(), err)
	}
}

func TestRingOverHTTP(t *testing.T) {
	cfg, _ := newConfig(t)
	get := serve(t, cfg)
	if code, _, _ := get("GET", "/debug/ring"); code != http.StatusNotFound {
		t.Errorf("a node without a cluster answers %d", code)
	}
	cfg.Ring = told{someStatus()}
	get = serve(t, cfg)
	if code, _, body := get("GET", "/debug/ring"); code != http.StatusOK || !strings.Contains(body, "as a sees it") {
		t.Errorf("GET /debug/ring: %d %s", code, body)
	}
	if code, header, body := get("GET", "/debug/ring?format=json"); code != http.StatusOK ||
		header.Get("Content-Type") != "application/json" || !strings.Contains(body, `"leader": "b"`) {
		t.Errorf("GET /debug/ring?format=json: %d %s", code, body)
	}
}

// TestStateOfNodes: in the order of what matters most.
func TestStateOfNodes(t *testing.T) {
	for want, n := range map[string]cluster.NodeStatus{
		"up":                   {Alive: true, Answering: health.Answers},
		"up, decides nothing":  {Alive: true, Answering: health.Answers, Refuses: "it has not joined its cluster yet"},
		"up, no gossip for 7s": {Answering: health.Answers, DeadSeconds: 7.2},
		"suspect for 1s":       {Alive: true, Answering: health.Suspect, SilentSeconds: 0.9},
		"unreachable for 3s":   {Alive: true, Answering: health.Unreachable, SilentSeconds: 3.1},
		"gone for 1m":          {Answering: health.Unreachable, SilentSeconds: 60, DeadSeconds: 50, Leaving: true},
		"leaving":              {Alive: true, Answering: health.Answers, Leaving: true, Draining: true},
		"draining":             {Alive: true, Answering: health.Answers, Draining: true, Replica: 1},
		"drained":              {Alive: true, Answering: health.Answers, Draining: true},
	} {
		if got := state(&n); got != want {
			t.Errorf("%+v is %q, want %q", n, got, want)
		}
	}
}
