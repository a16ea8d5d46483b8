package nemesis

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// An Entry of a schedule is a fault and its time.
type Entry struct {
	Fault

	Kind *Kind
	// Lane is the row of faults in which it stands: those of one lane follow each other.
	Lane int
	// At is when it begins, counted from the beginning of the run, and For how long it lasts.
	At, For time.Duration
}

// String is a line for people to read.
func (e Entry) String() string {
	if e.For == 0 {
		return fmt.Sprintf("at %7.1f s: %s", e.At.Seconds(), e.Fault)
	}
	return fmt.Sprintf("at %7.1f s: %s for %.1f s", e.At.Seconds(), e.Fault, e.For.Seconds())
}

// Check says what of a setting cannot be.
func (s Setting) Check() error {
	names := kindNames()
	for _, name := range s.Only {
		if !slices.Contains(names, name) {
			return fmt.Errorf("there is no fault called %q; there are %s", name, strings.Join(names, ", "))
		}
	}
	switch {
	case s.Nodes != 3 && s.Nodes != 5:
		return fmt.Errorf("nodes: 3 or 5 found a cluster, not %d", s.Nodes)
	case s.Replicas != 3 && s.Replicas != 5 || s.Replicas > s.Nodes:
		return fmt.Errorf("replicas: 3, or 5 of 5 nodes, keep each register, not %d of %d", s.Replicas, s.Nodes)
	}
	return nil
}

// kinds are those that can be played in a setting, and the others with the reason.
func (s Setting) kinds() (can []Kind, cannot map[string]string, err error) {
	if err := s.Check(); err != nil {
		return nil, nil, err
	}
	cannot = map[string]string{}
	for _, k := range Kinds() {
		if len(s.Only) > 0 && !slices.Contains(s.Only, k.Name) {
			continue
		}
		if k.Needs != nil {
			if why := k.Needs(s); why != "" {
				cannot[k.Name] = why
				continue
			}
		}
		can = append(can, k)
	}
	return can, cannot, nil
}

func kindNames() []string {
	var all []string
	for _, k := range Kinds() {
		all = append(all, k.Name)
	}
	return all
}

// Draw draws a schedule. The same setting gives the same one. Faults that take nodes away stand in as many lanes as
// nodes may be away, each with candidates of its own; what operators and callers do, and what happens to gateways, stands in a lane each
// besides.
func Draw(s Setting) ([]Entry, error) {
	kinds, _, err := s.kinds()
	if err != nil {
		return nil, err
	}
	var takers, operators, gateways []Kind
	for _, k := range kinds {
		switch {
		case k.Operators:
			operators = append(operators, k)
		case k.Gateways:
			gateways = append(gateways, k)
		default:
			takers = append(takers, k)
		}
	}
	var all []Entry
	lanes := max(1, s.minority())
	for lane := range lanes {
		var candidates []int
		for n := lane; n < s.Nodes; n += lanes {
			candidates = append(candidates, n)
		}
		all = append(all, s.lane(lane, takers, candidates)...)
	}
	all = append(all, s.lane(lanes, operators, nil)...)
	all = append(all, s.lane(lanes+1, gateways, nil)...)
	slices.SortStableFunc(all, func(a, b Entry) int { return int(a.At - b.At) })
	return all, nil
}

// Between two faults of a lane the cluster has this long.
const (
	leastPause = 500 * time.Millisecond
	mostPause  = 6 * time.Second
)

// lane draws one lane. The kinds are dealt from a deck that holds each as often as its weight says, so that a long run
// plays all of them.
func (s Setting) lane(lane int, kinds []Kind, candidates []int) (entries []Entry) {
	d := &Drawing{
		Rand: rand.New(rand.NewPCG(s.Seed, uint64(lane))), Setting: s, Candidates: candidates, copied: map[int]time.Duration{},
	}
	var deck []int
	fruitless := 0
	for d.At = s.scale(2 * time.Second); d.At < s.Time && fruitless < 1000; {
		if len(deck) == 0 {
			for i, k := range kinds {
				deck = append(deck, slices.Repeat([]int{i}, k.Weight)...)
			}
			if len(deck) == 0 {
				return nil
			}
			d.Shuffle(len(deck), func(i, j int) { deck[i], deck[j] = deck[j], deck[i] })
		}
		k := &kinds[deck[0]]
		deck = deck[1:]
		length := d.between(s.scale(k.Shortest), s.scale(k.Longest))
		d.At = s.calmUntil(d.At)
		if end := d.At + length + k.Recovery; s.calmUntil(end) > end {
			d.At = s.calmUntil(end)
		}
		fault := k.Draw(d)
		if fault == nil {
			fruitless++
			continue
		}
		entries = append(entries, Entry{Fault: fault, Kind: k, Lane: lane, At: d.At.Round(10 * time.Millisecond), For: length})
		d.At += length + k.Recovery + d.between(s.scale(leastPause), s.scale(mostPause))
	}
	return entries
}
