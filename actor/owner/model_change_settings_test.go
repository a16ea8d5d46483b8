package owner

import (
	"fmt"
	"maps"
	"slices"
	"testing"
)

// Replica sets that change. Few things happen when every step is taken by itself, more when the change is taken at once.
var changing = []sized{
	{setting: setting{
		name: "step by step", capacity: 2, calendar: apart,
		checks: [owners][]int64{{2}, {2}}, epsMax: 1, change: change{from: 0b0111, to: 0b1011},
	}, large: true},
	{setting: setting{
		name: "step by step, with copies", capacity: 2, opening: spentByTwo, calendar: apart,
		checks: [owners][]int64{{}, {2}}, epsMax: 1, change: change{from: 0b0111, to: 0b1011, planned: true},
	}},
	{setting: setting{
		name: "two drivers", capacity: 2, opening: twoDrivers, calendar: apart,
		checks: [owners][]int64{{}, {2}}, epsMax: 1, change: change{from: 0b0111, to: 0b1011},
	}, large: true},
	{setting: setting{
		name: "a driver that does not hear", capacity: 2, opening: spentByTwo, calendar: apart,
		checks: [owners][]int64{{}, {2}}, epsMax: 1, change: change{from: 0b0111, to: 0b1011, failures: 1},
	}, large: true},
	{setting: setting{
		name: "another next, and a driver that does not hear", capacity: 2, opening: spentByTwo, calendar: apart,
		checks: [owners][]int64{{}, {2}}, epsMax: 1, change: change{from: 0b0111, to: 0b1011, instead: 0b1101, failures: 1},
	}, large: true},
	{setting: setting{
		name: "a lost disk, step by step", capacity: 2, opening: spentByTwo, calendar: apart,
		checks: [owners][]int64{{}, {2}}, epsMax: 1, losses: 1, change: change{from: 0b0111, to: 0b1011},
	}, large: true},
	{setting: setting{
		name: "another next", capacity: 2, opening: spentByTwo, calendar: apart,
		checks: [owners][]int64{{}, {2}}, epsMax: 1, change: change{from: 0b0111, to: 0b1011, instead: 0b1101},
	}, large: true},
	{setting: setting{
		name: "one becomes three, step by step", capacity: 2,
		checks: [owners][]int64{{2}, {2}}, epsMax: 1, change: change{from: 0b0001, to: 0b0111, drivers: 1},
	}, large: true},
	{setting: setting{
		name: "one becomes three", capacity: 2,
		ticks: 1, checks: [owners][]int64{{2}, {2}}, epsMax: 1, change: change{from: 0b0001, to: 0b0111, atOnce: true},
	}},
	{setting: setting{
		name: "three become one", capacity: 2,
		ticks: 1, checks: [owners][]int64{{2}, {1}}, epsMax: 1, change: change{from: 0b0111, to: 0b0001, atOnce: true},
	}},
	{setting: setting{
		name: "another replica", capacity: 2,
		checks: [owners][]int64{{2}, {2}}, epsMax: 1, change: change{from: 0b0111, to: 0b1011, atOnce: true},
	}},
	{setting: setting{
		name: "another replica, and a longer time", capacity: 2, calendar: apart,
		ticks: 1, checks: [owners][]int64{{2}, {2}}, epsMax: 1, change: change{from: 0b0111, to: 0b1011, atOnce: true},
	}, large: true},
	{setting: setting{
		name: "replicas that say that they are elsewhere", capacity: 2, calendar: apart,
		checks: [owners][]int64{{2}, {2}}, epsMax: 1, change: change{from: 0b0111, to: 0b1011, atOnce: true, elsewhere: true},
	}, large: true},
	{setting: setting{
		name: "a restart", capacity: 2,
		checks: [owners][]int64{{2}, {2}}, epsMax: 1, restarts: 1, change: change{from: 0b0111, to: 0b1011, atOnce: true},
	}, large: true},
	{setting: setting{
		name: "a reset", capacity: 2, calendar: resetByB,
		checks: [owners][]int64{{2}, {}}, epsMax: 1, resets: 1, change: change{from: 0b0111, to: 0b1011, atOnce: true},
	}, large: true},
	{setting: setting{
		name: "a lost disk", capacity: 2, calendar: apart,
		checks: [owners][]int64{{2}, {2}}, epsMax: 1, losses: 1, change: change{from: 0b0111, to: 0b1011, atOnce: true},
	}, large: true},
	{setting: setting{
		name: "a sweep", capacity: 2,
		ticks: 1, checks: [owners][]int64{{2}, {}}, epsMax: 1, sweeps: 1, change: change{from: 0b0111, to: 0b1011, atOnce: true},
	}, large: true},
}

// The promises hold too while the replica set changes, and who answers in the next epoch knows what a majority accepted in
// the one before.
func TestModelOfAChange(t *testing.T) { keepsItsPromises(t, changing) }

// apart is a calendar: A stays in the first epoch, and B is asked in the next one.
func apart(w *world, e event, _ int64) bool {
	switch e.kind {
	case follows:
		return e.a == 1
	case asks:
		return e.a == 0 || w.players[1].epoch > 1
	default:
		return true
	}
}

// spentByTwo is an opening: A has spent all that there is, with the word of two replicas. The third does not know it.
func spentByTwo(w *world) {
	w.ask(0, 2)
	for _, n := range []int{1, 2} {
		w.deliver(&w.post[0], n)
		w.accepted(w.post[0], n)
	}
}

// twoDrivers is the same opening, and two drivers begin.
func twoDrivers(w *world) {
	spentByTwo(w)
	w.drive(1, told{tidings: toBegin, place: w.place})
}

// resetByB is a calendar: B resets the bucket, A does not, and stays in the first epoch.
func resetByB(_ *world, e event, _ int64) bool {
	switch e.kind {
	case follows, resets:
		return e.a == 1
	default:
		return true
	}
}

// What happens to a replica set at once leads to all that happens step by step.
func TestModelOfAChangeAtOnceLosesNothing(t *testing.T) {
	if !largeSettings {
		t.Log("left out, too large for the race detector")
		return
	}
	histories := func(c change) map[string]bool {
		s := setting{capacity: 2, calendar: apart, checks: [owners][]int64{{2}, {2}}, epsMax: 1, change: c}
		reached := map[string]bool{}
		var enc encoder
		x := &exploration{digest: enc.digest}
		x.visit = func(w *world, _ []event) {
			var e encoder
			e.history(&w.history)
			reached[fmt.Sprint(w.place.epoch, w.left.asked, e.buf)] = true
		}
		if broken := x.from(newWorld(&s)); broken != "" {
			t.Fatal(broken)
		}
		t.Logf("%d histories in %d states", len(reached), len(x.seen))
		return reached
	}
	steps, atOnce := histories(change{from: 0b0111, to: 0b1011}), histories(change{from: 0b0111, to: 0b1011, atOnce: true})
	if !maps.Equal(steps, atOnce) {
		t.Errorf("step by step\n%v\nand at once\n%v", slices.Sorted(maps.Keys(steps)), slices.Sorted(maps.Keys(atOnce)))
	}
}
