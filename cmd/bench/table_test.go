package bench

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/storage"
)

// Every case can be named, has something to measure, and names the unit of each of its goals.
func TestCases(t *testing.T) {
	names := slices.Concat(Cases(false), Cases(true))
	if sorted := slices.Compact(slices.Sorted(slices.Values(names))); len(sorted) != len(names) {
		t.Errorf("two cases have the same name: %v", names)
	}
	for _, k := range cases() {
		if k.name == "" || k.title == "" || k.measure == nil || len(k.modes) == 0 || strings.Contains(k.title, "|") {
			t.Errorf("case %+v is not whole", k)
		}
		for _, m := range k.modes {
			for _, g := range m.goals {
				if g.unit == "" || len(m.goals) > 1 && g.what == "" {
					t.Errorf("%s: goal %+v is not whole", k.name, g)
				}
			}
		}
	}
}

func TestChosen(t *testing.T) {
	names := func(tab Tabling) (names []string) {
		chosen, err := tab.chosen()
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range chosen {
			names = append(names, k.name)
		}
		return names
	}
	if got := names(Tabling{Full: true}); !slices.Equal(got, Cases(false)) {
		t.Errorf("--full chooses %v", got)
	}
	if got := names(Tabling{Cluster: true}); len(got) == 0 || !slices.Equal(got, Cases(true)) {
		t.Errorf("--cluster chooses %v", got)
	}
	if got := names(Tabling{}); slices.Contains(got, "idle-keys") || !slices.Contains(got, "unary") {
		t.Errorf("without flags, %v", got)
	}
	for _, cluster := range []bool{false, true} {
		if got := names(Tabling{Cluster: cluster, Only: []string{"cluster-one", "cluster-new"}}); !slices.Equal(got, []string{"cluster-new", "cluster-one"}) {
			t.Errorf("--only cluster-one,cluster-new chooses %v", got)
		}
	}
	if got := names(Tabling{Only: []string{"one-shot", "zipf"}}); !slices.Equal(got, []string{"zipf", "one-shot"}) {
		t.Errorf("--only one-shot,zipf chooses %v", got)
	}
	for want, refused := range map[string]Tabling{
		`--only: "zip"`:  {Only: []string{"zip"}},
		`--only: "zipf"`: {Only: []string{"zipf"}, Cluster: true},
		"--full: ":       {Full: true, Cluster: true},
	} {
		if _, err := Table(t.Context(), refused); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%+v: %v, want %s", refused, err, want)
		}
	}
}

func TestGoals(t *testing.T) {
	for _, tt := range []struct {
		goal  goal
		value float64
		met   bool
		text  string
	}{
		{goal{atLeast, 0.7, "×", ""}, 0.7, true, "≥ 0.70"},
		{goal{atLeast, 0.7, "×", ""}, 0.69, false, "≥ 0.70"},
		{goal{atMost, 250, "B", ""}, 250, true, "≤ 250 B"},
		{goal{atMost, 250, "B", ""}, 251, false, "≤ 250 B"},
		{goal{atMost, 10, "%", ""}, 43, false, "≤ 10.0%"},
		{goal{atMost, 0, "allocations", ""}, 0, true, "≤ 0 allocations"},
		{goal{open, 0, "MiB", ""}, 1e9, true, "report"},
	} {
		if got := tt.goal.met(tt.value); got != tt.met || tt.goal.target() != tt.text {
			t.Errorf("%g, %+v: %t, %q", tt.value, tt.goal, got, tt.goal.target())
		}
	}
}

func TestTableText(t *testing.T) {
	k := kase{title: "some case"}
	rows := slices.Concat(
		k.rows(ratios(0.9, 0)[0], []Spread[float64]{{0.85, 0.8, 1.1}}, nil),
		k.rows(mode{goals: []goal{{atMost, 15, "ns", "time"}, {open, 0, "B", "size"}}}, []Spread[float64]{{5, 5, 5}, {1234, 1234, 1234}}, nil),
		k.rows(mode{goals: []goal{{atMost, 15, "/s", ""}}}, nil, errors.New("the node | has\nended")),
	)
	var text strings.Builder
	if err := rows.Write(&text); err != nil {
		t.Fatal(err)
	}
	want := `| case            | durability | target    | measured: median (min–max) | met |
|-----------------|------------|-----------|----------------------------|-----|
| some case       | memory     | ≥ 0.90    | 0.85 (0.80–1.10)           | no  |
| some case: time |            | ≤ 15.0 ns | 5.00 ns                    | yes |
| some case: size |            | report    | 1,234 B                    | –   |
| some case       |            | ≤ 15.0/s  | failed                     | no  |

some case : the node | has
ended
`
	if text.String() != want {
		t.Errorf("got\n%s\nwant\n%s", text.String(), want)
	}
	out, err := json.Marshal(rows[:1])
	wantJSON := `[{"case":"","title":"some case","durability":"memory","target":"≥ 0.90","unit":"×",` +
		`"value":{"median":0.85,"min":0.8,"max":1.1},"met":false}]`
	if err != nil || string(out) != wantJSON {
		t.Errorf("%s, %v, want\n%s", out, err, wantJSON)
	}
}

// A table that is interrupted ends.
func TestTableInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	rows, err := Table(ctx, Tabling{Only: []string{"decision"}})
	if !errors.Is(err, errInterrupted) || len(rows) != 0 {
		t.Errorf("%v, %v", rows, err)
	}
}

func TestMeters(t *testing.T) {
	if cpu, own := processCPU(os.Getpid()), ownCPU(); cpu < 0 || (own-cpu).Abs() > time.Minute {
		t.Errorf("this process has used %v, or %v", cpu, own)
	}
	if cpu := processCPU(-1); cpu != 0 {
		t.Errorf("no process has used %v", cpu)
	}
	if took, err := fsyncTime(t.TempDir()); err != nil || took <= 0 {
		t.Errorf("an fsync takes %v, %v", took, err)
	}
	if _, err := fsyncTime("/nonexistent"); err == nil {
		t.Error("an fsync in no folder")
	}
}

// What is written for the cases on disk is accepted, and what is refused is noticed.
func TestRegistersOnDisk(t *testing.T) {
	now, keys := time.Now().UnixNano(), makeKeys(2500)
	store, err := storage.Open(storage.Config{Dir: t.TempDir(), Now: func() int64 { return now }})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close() //nolint:errcheck // its data goes with the test
	if err := store.Found(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := reserve(t.Context(), store, keys, now, int64(time.Hour)); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{keys[0], keys[999], keys[1000], keys[2499]} {
		l, err := store.Look(t.Context(), partitionOf(key), key, onceLimit)
		if err != nil || l.Register.H != now+int64(time.Hour) {
			t.Errorf("%s: %+v, %v", key, l, err)
		}
	}
	if err := reserve(t.Context(), store, keys[:10], now, int64(time.Minute)); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("line that is reserved was reserved again: %v", err)
	}
}
