package nemesis

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/cluster-tests/history"
)

func playedAt(k Kind, f Fault, began, healing, ended time.Duration) *Played {
	return &Played{Entry: Entry{Kind: &k, Fault: f}, Began: began, Healing: healing, Ended: ended}
}

// What no node may say is found, and only what a fault of the run explains is excused.
func TestLogsAreRead(t *testing.T) {
	wiped := []*Played{playedAt(kindWiped, wiped{0}, 1, 2, 3)}
	for _, tt := range []struct {
		log    string
		played []*Played
		found  int
	}{
		{"level=INFO msg=serving\nlevel=WARN msg=\"panic: is only a word here\"", nil, 0},
		{"panic: runtime error: index out of range\n\ngoroutine 1 [running]:", nil, 1},
		{"fatal error: all goroutines are asleep - deadlock!", nil, 1},
		{"WARNING: DATA RACE", wiped, 1},
		{`level=ERROR msg="an actor panicked" key=k`, wiped, 1},
		{`level=ERROR msg="something else"`, wiped, 1},
		{`level=ERROR msg="two addresses claim to be the same node: it has just moved"`, nil, 1},
		{`level=ERROR msg="two addresses claim to be the same node: it has just moved"`, wiped, 0},
		{strings.Repeat("panic: again\n", 12), nil, mostFindings + 1},
	} {
		folder := t.TempDir()
		if err := os.WriteFile(filepath.Join(folder, "node-1.log"), []byte(tt.log), 0o600); err != nil {
			t.Fatal(err)
		}
		found, err := readLogs(folder, tt.played)
		if err != nil || len(found) != tt.found {
			t.Errorf("%q: found %q, %v, want %d", tt.log, found, err, tt.found)
		}
	}
}

// A failed check is put down to the fault that began last before it, and to none long after.
func TestFailuresArePutDownToFaults(t *testing.T) {
	began := time.Now()
	s := time.Second
	r := &Report{
		Played: []*Played{
			playedAt(kindKilled, killed{0}, 10*s, 12*s, 13*s),
			playedAt(kindAllKilled, manyKilled{victims{all: true}}, 20*s, 22*s, 25*s),
		},
		ledger: newLedger(history.NewWriter(os.Stderr)),
	}
	for _, at := range []time.Duration{5 * s, 9800 * time.Millisecond, 11 * s, 15 * s, 21 * s, 26 * s, 60 * s} {
		r.ledger.failures = append(r.ledger.failures, failure{at: began.Add(at), reason: "deadline"})
	}
	r.outages = r.attribute(began)
	if o := r.outages[0]; o.failed != 3 || o.until != 5*s {
		t.Errorf("the first fault: %d failed, until %v; want 3, 5 s after it began", o.failed, o.until)
	}
	if o := r.outages[1]; o.failed != 2 || o.until != 4*s {
		t.Errorf("the second fault: %d failed, until %v; want 2, 4 s after it was undone", o.failed, o.until)
	}
	if n := r.unexplained(); n != 2 {
		t.Errorf("%d failures are put down to no fault, want 2", n)
	}
}

// What fails elsewhere is not put down to a fault of gateways.
func TestGatewayFaultsExplainWhatFailsThroughGateways(t *testing.T) {
	began := time.Now()
	s := time.Second
	all := gatewayKinds()
	r := &Report{
		Played: []*Played{
			playedAt(kindKilled, killed{0}, 10*s, 12*s, 13*s),
			playedAt(all[0], manyKilled{victims{gateways: true, numbers: []int{0}}}, 11*s, 12*s, 13*s),
		},
		ledger: newLedger(history.NewWriter(os.Stderr)),
	}
	for _, through := range []string{"client", throughGateway, "http"} {
		r.ledger.failures = append(r.ledger.failures, failure{at: began.Add(12 * s), reason: "connection", through: through})
	}
	r.outages = r.attribute(began)
	if r.outages[0].failed != 2 || r.outages[1].failed != 1 {
		t.Errorf("%d failures are put down to the node and %d to the gateway, want 2 and 1", r.outages[0].failed, r.outages[1].failed)
	}
}

// Everything that can be wrong makes a run fail, and stands in its report.
func TestReportTellsWhatIsWrong(t *testing.T) {
	good := func() *Report {
		r := &Report{Config: Config{Setting: Setting{Nodes: 3, Replicas: 3, Seed: 42}, Again: "make nemesis SEED=42", Folder: "/kept"}, Asked: 7}
		r.Verdicts = []history.Result{{Checker: "disjoint", Checked: 5, Things: "spans"}}
		r.ledger = newLedger(history.NewWriter(os.Stderr))
		r.total = tally{Admitted: 3, Denied: 2}
		return r
	}
	if r := good(); r.Err() != nil || !strings.Contains(r.Markdown(), "Seed 42: held") || strings.Contains(r.Markdown(), "/kept") {
		t.Errorf("a good run: %v\n%s", r.Err(), r.Markdown())
	}
	for want, breaks := range map[string]func(*Report){
		"disjoint: 1 violations":         func(r *Report) { r.Verdicts[0].Found = 1 },
		"1 of 7 keys are stuck":          func(r *Report) { r.Stuck = []string{"small.1: deadline"} },
		"1 times of 9 something is held": func(r *Report) { r.Looked, r.Held = 9, []string{"held of held:1 at node-2: 5 tokens by 1 holds"} },
		"node-2 has ended":               func(r *Report) { r.Problems = []string{"node-2 has ended by itself"} },
		"no check was admitted":          func(r *Report) { r.total.Admitted = 0 },
		"was decided at a gateway":       func(r *Report) { r.Gateways, r.edgeWork = 2, &edgeWork{} },
	} {
		r := good()
		breaks(r)
		text := r.Markdown()
		if r.Err() == nil || !strings.Contains(r.Err().Error(), want) || !strings.Contains(text, want) ||
			!strings.Contains(text, "Seed 42: FAILED") || !strings.Contains(text, "/kept") {
			t.Errorf("%q: %v\n%s", want, r.Err(), text)
		}
	}
}
