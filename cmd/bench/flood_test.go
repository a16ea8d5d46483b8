package bench

import (
	"bytes"
	"strings"
	"sync/atomic"
	"testing"

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
