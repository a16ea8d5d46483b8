package nemesis

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func drawSetting(t *rapid.T) Setting {
	s := Setting{
		Nodes:    rapid.SampledFrom([]int{3, 5}).Draw(t, "nodes"),
		Gateways: rapid.IntRange(0, 3).Draw(t, "gateways"),
		Time:     time.Duration(rapid.IntRange(5, 1800).Draw(t, "seconds")) * time.Second,
		Seed:     rapid.Uint64().Draw(t, "seed"),
		Network:  rapid.Bool().Draw(t, "network"), Mounts: rapid.Bool().Draw(t, "mounts"), Late: rapid.Bool().Draw(t, "late"),
	}
	s.Replicas = rapid.SampledFrom([]int{3, s.Nodes}).Draw(t, "replicas")
	return s
}

func lines(entries []Entry) (all []string) {
	for _, e := range entries {
		all = append(all, e.String())
	}
	return all
}

// A seed that fails must give the same faults again.
func TestDrawIsTheSameForTheSameSeed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSetting(t)
		one, err := Draw(s)
		if err != nil {
			t.Fatal(err)
		}
		two, err := Draw(s)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(lines(one), lines(two)) {
			t.Fatalf("one seed, two schedules:\n%q\n%q", lines(one), lines(two))
		}
		s.Seed++
		if other, _ := Draw(s); len(one) > 3 && slices.Equal(lines(one), lines(other)) {
			t.Fatalf("two seeds, one schedule:\n%q", lines(one))
		}
	})
}

// Within the time, one after the other in each lane, and on nodes that there are, each in the lane that may take it.
func TestDrawKeepsToItsRules(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSetting(t)
		entries, err := Draw(s)
		if err != nil {
			t.Fatal(err)
		}
		free := map[int]time.Duration{}
		copies := map[int]time.Duration{}
		for _, e := range entries {
			if e.At < free[e.Lane] || e.At >= s.Time+period {
				t.Fatalf("%v: its lane is busy until %v, and the run ends at %v", e, free[e.Lane], s.Time)
			}
			free[e.Lane] = e.At + e.For
			if at := s.calmUntil(e.At); at != e.At {
				t.Fatalf("%v: it is calm then, until %v", e, at)
			}
			if e.Kind.Needs != nil && e.Kind.Needs(s) != "" {
				t.Fatalf("%v: %s", e, e.Kind.Needs(s))
			}
			if e.Kind.Operators != (e.Lane == s.minority()) {
				t.Fatalf("%v stands in lane %d", e, e.Lane)
			}
			if e.Kind.Gateways != (e.Lane == s.minority()+1) {
				t.Fatalf("%v stands in lane %d", e, e.Lane)
			}
			switch f := e.Fault.(type) {
			case manyKilled:
				if f.gateways && slices.ContainsFunc(f.numbers, func(n int) bool { return n >= s.Gateways }) {
					t.Fatalf("%v: there are %d gateways", e, s.Gateways)
				}
			case killed:
				if f.node >= s.Nodes || f.node%s.minority() != e.Lane {
					t.Fatalf("%v: it is another lane's node", e)
				}
			case copied:
				copies[f.node] = e.At
			case restored:
				if at, ok := copies[f.node]; !f.lastLife && (!ok || e.At-at < oldEnough) {
					t.Fatalf("%v: copied at %v: %v", e, at, ok)
				}
			}
		}
	})
}

// A run of 30 minutes plays every kind that can be played.
func TestDrawPlaysAllKinds(t *testing.T) {
	for seed := range uint64(20) {
		s := Setting{Nodes: 3, Replicas: 3, Time: 30 * time.Minute, Seed: seed, Gateways: 2, Network: true, Mounts: true, Late: true}
		entries, err := Draw(s)
		if err != nil {
			t.Fatal(err)
		}
		counts := map[string]int{}
		for _, e := range entries {
			counts[e.Kind.Name]++
		}
		for _, k := range Kinds() {
			if counts[k.Name] == 0 {
				t.Errorf("seed %d: %s is not among %d faults", seed, k.Name, len(entries))
			}
		}
		if seed == 0 {
			t.Logf("%d faults: %v", len(entries), counts)
		}
	}
}

// What cannot be is refused before anything is started.
func TestDrawRefuses(t *testing.T) {
	for want, s := range map[string]Setting{
		`there is no fault called "kiled"; there are killed, `:     {Nodes: 3, Replicas: 3, Only: []string{"kiled"}},
		"nodes: 3 or 5 found a cluster, not 4":                     {Nodes: 4, Replicas: 3},
		"replicas: 3, or 5 of 5 nodes, keep each register, not 1 ": {Nodes: 3, Replicas: 1},
		"not 5 of 3": {Nodes: 3, Replicas: 5},
	} {
		if _, err := Draw(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Draw(%+v) = %v, want %s", s, err, want)
		}
	}
	for _, name := range kindNames() {
		if strings.Contains(name, ",") {
			t.Errorf("%q cannot be one of a list with commas", name)
		}
	}
	one, err := Draw(Setting{Nodes: 3, Replicas: 3, Time: time.Minute, Only: []string{"killed"}})
	if err != nil || len(one) == 0 || one[0].Kind.Name != "killed" {
		t.Errorf("Draw = %v, %v", lines(one), err)
	}
}
