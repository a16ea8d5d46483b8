package bench

import (
	"bytes"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/rpc/pb"
)

// TestFloodMessage reads what a flood sends, as a node does: a full batch of valid checks, with names that never come again
// where the flood invents them.
func TestFloodMessage(t *testing.T) {
	for _, kind := range Floods() {
		t.Run(kind, func(t *testing.T) {
			var names atomic.Uint64
			m, err := newFloodMessage(kind, &names)
			if err != nil {
				t.Fatal(err)
			}
			seen, n := map[string]bool{}, 0
			for range 3 {
				m.invent()
				var in pb.BatchIn
				if err := in.UnmarshalWire(m.data); err != nil {
					t.Fatal(err)
				}
				for _, r := range in.Requests {
					if err := r.Validate(); err != nil {
						t.Fatal(err)
					}
					n++
					seen[r.Key+" "+r.Limits[0].Name] = true
				}
			}
			want := 3000
			if kind == FloodOneKey {
				want = 1
			}
			if n != 3000 || len(seen) != want {
				t.Errorf("%d checks of %d buckets, want 3000 of %d", n, len(seen), want)
			}
		})
	}
}

// TestFloodClient floods the no-op until there were enough checks.
func TestFloodClient(t *testing.T) {
	var log bytes.Buffer
	f := FloodClient{Server: serveNoop(t, onceLimit, false), Kind: FloodReceipts, Connections: 2, Calls: 3, Checks: 10_000, Log: &log}
	if err := f.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	if !flooding.MatchString(lines[len(lines)-1]) {
		t.Errorf("the flood says %q", lines)
	}
	f.Kind = "some"
	if err := f.Run(t.Context()); err == nil || !strings.Contains(err.Error(), `--kind: "some" is not known`) {
		t.Errorf("an unknown flood: %v", err)
	}
}

// What is wrong with a flooding is said by the name of the flag.
func TestFloodingCheck(t *testing.T) {
	for _, tt := range []struct {
		f    Flooding
		want string
	}{
		{Flooding{Nodes: 2}, "--nodes: "},
		{Flooding{Rate: -1}, "--rate: "},
		{Flooding{Connections: -1}, "--connections: "},
		{Flooding{Calls: 10_000}, "--calls: "},
		{Flooding{Duration: -1}, "--duration: "},
		{Flooding{Only: []string{"some"}}, `--only: "some" is not known`},
		{Flooding{Setup: Setup{Temp: "/nonexistent"}}, "--temp: "},
	} {
		if _, err := Flood(t.Context(), tt.f); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: %v, want %s", tt.f, err, tt.want)
		}
	}
}

// Each flood is shown beside what the honest caller had on the same nodes alone: the ratio is that of the two.
func TestFloodReport(t *testing.T) {
	with := func(p99 time.Duration) Report {
		var r Report
		r.Latency.P99 = p99
		return r
	}
	r := FloodReport{Nodes: 1, Floods: []Beside{
		{Flood: FloodKeys, Alone: with(20 * time.Millisecond), Honest: with(10 * time.Millisecond), Ratio: 0.5},
		{Flood: FloodOneKey, Alone: with(2 * time.Millisecond), Honest: with(10 * time.Millisecond), Ratio: 5},
	}}
	var out bytes.Buffer
	if err := r.Write(&out); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(out.String(), "\n")
	for i, want := range [][]string{{"p99 alone"}, {"keys", "20ms", "10ms", "0.5"}, {"one-key", "2ms", "10ms", "5.0"}} {
		for _, w := range want {
			if !strings.Contains(lines[i+1], w) {
				t.Errorf("line %q does not say %q", lines[i+1], w)
			}
		}
	}
}
