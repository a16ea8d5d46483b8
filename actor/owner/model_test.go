package owner

import (
	"fmt"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jeton-dev/jeton/actor/limit"
)

// The model check: every order in which a few checks, messages, answers and faults can happen to two or three owners
// and three replicas, of which production's own steps are taken. In every state that can be reached
//
//   - no line is spent twice in one generation, by whichever owner, in whichever of its lives;
//   - line is spent in two generations only up to the position of the reset between them;
//   - in every window the net of what was admitted is at most C + r·w + 2·r·ε;
//   - a receipt proves its cost, of fresh line and of line that was returned and is spent again once.
//
// Messages arrive at any replica, any number of times, whenever the replica might still accept them, or never; answers
// likewise. A message whose answers no owner counts any more, because its sender has died or given it up, arrives
// all the same.
var settings = []sized{
	{setting: setting{
		name: "messages that are late without end", capacity: 2,
		ticks: 1, checks: [owners][]int64{{1, 1}, {2}}, epsMax: 9, restarts: 1,
	}, large: true},
	{setting: setting{
		name: "owners that restart", capacity: 2,
		ticks: 1, checks: [owners][]int64{{1}, {1}}, epsMax: 9, restarts: 2,
	}, large: true},
	{setting: setting{
		name: "a restart and a longer time", capacity: 2,
		ticks: 2, checks: [owners][]int64{{2}, {2}}, epsMax: 1, restarts: 1,
	}, large: true},
	{setting: setting{
		name: "checks that do not wait", capacity: 2,
		ticks: 2, checks: [owners][]int64{{1}, {2}}, epsMax: 1, patience: 1,
	}, large: true},
	{setting: setting{
		name: "clocks that differ", capacity: 2,
		ticks: 2, checks: [owners][]int64{{1}, {1}}, epsMax: 1, clock: [owners]int64{0, 1},
	}, large: true},
	{setting: setting{
		name: "clocks that differ, and a reset", capacity: 2,
		checks: [owners][]int64{{2}, {2}}, epsMax: 1, clock: [owners]int64{0, 1}, resets: 1,
	}},
	{setting: setting{
		name: "reserving ahead", capacity: 2,
		ticks: 1, checks: [owners][]int64{{1, 1, 1}, {1}}, epsMax: 1, busy: true,
	}, large: true},
	{setting: setting{
		name: "reserving ahead for a longer time", capacity: 2,
		ticks: 2, checks: [owners][]int64{{1, 1, 1, 1}, {}}, epsMax: 1, busy: true,
	}},
	{setting: setting{
		name: "reserving ahead, and a reset", capacity: 2,
		checks: [owners][]int64{{1, 1}, {2}}, epsMax: 1, busy: true, resets: 1,
	}, large: true},
	{setting: setting{
		name: "a next segment", capacity: 6, opening: nextUnderWay,
		ticks: 1, checks: [owners][]int64{{1, 1}, {1}}, epsMax: 1, busy: true,
	}, large: true},
	{setting: setting{
		name: "a next segment, and receipts", capacity: 6, opening: nextUnderWay,
		ticks: 1, checks: [owners][]int64{{2}, {1}}, epsMax: 1, busy: true, returns: 1,
	}, large: true},
	{setting: setting{
		name: "a reset", capacity: 2,
		ticks: 1, checks: [owners][]int64{{2}, {2}}, epsMax: 1, resets: 1,
	}, large: true},
	{setting: setting{
		name: "two resets", capacity: 2,
		ticks: 1, checks: [owners][]int64{{}, {2}}, epsMax: 1, resets: 2, pause: tick,
	}, large: true},
	{setting: setting{
		name: "a reset, done or failed long ago", capacity: 2,
		ticks: 2, checks: [owners][]int64{{2}, {2}}, resets: 1, patience: 1, calendar: resetFirst,
	}, large: true},
	{setting: setting{
		name: "a reset long ago, and a sweep", capacity: 2,
		ticks: 2, checks: [owners][]int64{{2}, {1}}, resets: 1, sweeps: 1, patience: 1, calendar: resetFirst,
	}, large: true},
	{setting: setting{
		name: "a lost disk", capacity: 2,
		ticks: 2, checks: [owners][]int64{{2}, {2}}, epsMax: 1, losses: 1,
	}, large: true},
	{setting: setting{
		name: "a lost disk, soon", capacity: 2,
		ticks: 1, checks: [owners][]int64{{2}, {2}}, epsMax: 1, losses: 1,
	}},
	{setting: setting{
		name: "a lost disk and a reset", capacity: 2,
		checks: [owners][]int64{{2}, {2}}, epsMax: 1, losses: 1, resets: 1,
	}, large: true},
	{setting: setting{
		name: "sweeps", capacity: 2,
		ticks: 1, checks: [owners][]int64{{2}, {1}}, epsMax: 1, sweeps: 2,
	}, large: true},
	{setting: setting{
		name: "a message that arrives after the sweep", capacity: 2, opening: oneSpentOneUnderWay,
		ticks: 2, epsMax: 2, sweeps: 2, calendar: sweepsLast,
	}},
	{setting: setting{
		name: "receipts", capacity: 2,
		ticks: 1, checks: [owners][]int64{{2, 2}, {1}}, epsMax: 1, returns: 2,
	}, large: true},
	{setting: setting{
		name: "receipts, and a reset", capacity: 2,
		checks: [owners][]int64{{2, 2, 2}, {}}, epsMax: 1, returns: 2, resets: 1,
	}},
	{setting: setting{
		name: "receipts, and a check that waits", capacity: 3,
		ticks: 1, checks: [owners][]int64{{2, 1}, {1}}, epsMax: 1, returns: 1,
		calendar: checksFirst,
	}, large: true},
	{setting: setting{
		name: "three owners", capacity: 2,
		checks: [owners][]int64{{1}, {1}, {1}}, epsMax: 1,
	}, large: true},
	{setting: setting{
		name: "three owners and a tick", capacity: 2,
		ticks: 1, checks: [owners][]int64{{2}, {2}, {2}}, epsMax: 1,
	}, large: true},
	{setting: setting{
		name: "three owners, and a reset", capacity: 2,
		checks: [owners][]int64{{2}, {2}, {2}}, epsMax: 1, resets: 1,
	}, large: true},
	{setting: setting{
		name: "three owners, and a lost disk", capacity: 2,
		checks: [owners][]int64{{2}, {2}, {2}}, epsMax: 1, losses: 1,
	}},
	{setting: setting{
		name: "three owners, and three clocks", capacity: 2,
		checks: [owners][]int64{{2}, {2}, {2}}, epsMax: 1, clock: [owners]int64{0, 1, 2},
	}, large: true},
}

// Owners may be dormant whenever they can: see [Rest].
var dormantSettings = []sized{
	{setting: setting{
		name: "reserving ahead", capacity: 2, dormant: true,
		ticks: 1, checks: [owners][]int64{{1, 1, 1}, {1}}, epsMax: 1, busy: true,
	}, large: true},
	{setting: setting{
		name: "reserving ahead, and a reset", capacity: 2, dormant: true,
		checks: [owners][]int64{{1, 1}, {2}}, epsMax: 1, busy: true, resets: 1,
	}, large: true},
	{setting: setting{
		name: "a next segment", capacity: 6, opening: nextUnderWay, dormant: true,
		ticks: 1, checks: [owners][]int64{{1, 1}, {1}}, epsMax: 1, busy: true,
	}, large: true},
	{setting: setting{
		name: "checks that do not wait", capacity: 2, dormant: true,
		ticks: 2, checks: [owners][]int64{{1, 1}, {2}}, epsMax: 1, patience: 1,
	}},
	{setting: setting{
		name: "a lost disk", capacity: 2, dormant: true,
		ticks: 1, checks: [owners][]int64{{1, 1}, {1}}, epsMax: 1, losses: 1, busy: true,
	}, large: true},
	{setting: setting{
		name: "sweeps", capacity: 2, dormant: true,
		ticks: 1, checks: [owners][]int64{{1, 1}, {1}}, epsMax: 1, sweeps: 1, busy: true,
	}, large: true},
	{setting: setting{
		name: "clocks that differ", capacity: 2, dormant: true,
		ticks: 1, checks: [owners][]int64{{1, 1}, {1}}, epsMax: 1, clock: [owners]int64{0, 1}, busy: true,
	}, large: true},
}

func TestModelOfDormantKeys(t *testing.T) { keepsItsPromises(t, dormantSettings) }

// A sized setting may be too large for the race detector.
type sized struct {
	setting
	large bool
}

func TestModel(t *testing.T) { keepsItsPromises(t, settings) }

// Every algorithm keeps the promises in some small worlds.
func TestModelOfEveryAlgorithm(t *testing.T) {
	for _, algorithm := range limit.Spending() {
		t.Run(algorithm, func(t *testing.T) {
			small := []sized{
				{setting: setting{name: "two owners", capacity: 2, ticks: 1, checks: [owners][]int64{{2}, {1}}}},
				{setting: setting{name: "receipts", capacity: 2, checks: [owners][]int64{{2}, {1}}, returns: 1}},
				{setting: setting{name: "a reset", capacity: 2, checks: [owners][]int64{{1}, {2}}, resets: 1}},
				{setting: setting{name: "a lost disk", capacity: 2, checks: [owners][]int64{{1}, {2}}, losses: 1}},
			}
			for i := range small {
				small[i].algorithm = algorithm
			}
			keepsItsPromises(t, small)
		})
	}
}

// keepsItsPromises explores all settings.
func keepsItsPromises(t *testing.T, settings []sized) {
	t.Helper()
	defer debug.SetGCPercent(debug.SetGCPercent(800)) // little is alive, and much is short-lived
	var states atomic.Int64
	t.Run("settings", func(t *testing.T) {
		for _, s := range settings {
			if s.large && !largeSettings {
				t.Logf("left out, too large for the race detector: %s", s.name)
				continue
			}
			t.Run(s.name, func(t *testing.T) {
				t.Parallel()
				x, broken := explore(&s.setting)
				if broken != "" {
					story, shorter, _ := shortest(&s.setting, 2_000_000)
					if story == "" {
						story, shorter = tell(&s.setting, x.way), broken
					}
					t.Fatalf("%s\n%s", shorter, story)
				}
				states.Add(int64(len(x.seen)))
				t.Logf("%d states, %d steps: %s", len(x.seen), x.steps, &s.setting)
			})
		}
	})
	t.Logf("%d states in all", states.Load())
}

// checksFirst is a calendar: checks at the beginning, everything else at any time.
func checksFirst(_ *world, e event, elapsed int64) bool { return e.kind != asks || elapsed == 0 }

// nextUnderWay is an opening: A has spent all that it holds but for a tick, B has taken the line behind that, and A has
// just asked for a segment further on.
func nextUnderWay(w *world) {
	for _, who := range []int{0, 0, 1, 0} {
		w.ask(who, 1)
		for w.fair(nodes, false) {
			w.tidy()
		}
	}
	w.ask(0, 1)
}

// oneSpentOneUnderWay is an opening: A has spent the first of the line, and B asks for the same.
func oneSpentOneUnderWay(w *world) {
	w.ask(0, 1)
	for w.fair(nodes, false) {
		w.tidy()
	}
	w.ask(1, 1)
}

// sweepsLast is a calendar: sweeps when two ticks have passed.
func sweepsLast(_ *world, e event, elapsed int64) bool { return e.kind != sweeps || elapsed == 2 }

// String is the bounds of a setting.
func (s *setting) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "capacity %d, %d ticks, A is asked for %d, B for %d, messages are good for %d ticks", s.capacity, s.ticks,
		s.checks[0], s.checks[1], s.epsMax)
	if len(s.checks[2]) > 0 {
		fmt.Fprintf(&b, ", C is asked for %d", s.checks[2])
	}
	if s.busy {
		b.WriteString(", a busy key")
	}
	if s.change.to != 0 {
		fmt.Fprintf(&b, ", the replicas %s become %s", s.change.from, s.change.to)
	}
	for _, more := range []struct {
		n    int64
		what string
	}{
		{int64(s.restarts), "restarts"},
		{int64(s.resets), "resets"},
		{int64(s.losses), "lost disks"},
		{int64(s.sweeps), "sweeps"},
		{int64(s.returns), "returns"},
		{s.patience, "ticks of patience"},
		{s.clock[1], "ticks between the clocks"},
		{int64(s.change.drivers), "more drivers"},
		{int64(s.change.failures), "answers that drivers do not get"},
	} {
		if more.n > 0 {
			fmt.Fprintf(&b, ", %d %s", more.n, more.what)
		}
	}
	return b.String()
}
