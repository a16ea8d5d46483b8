package owner

import "testing"

// patient is how many ticks without further faults a check may take to be decided, in any state. It is the time in which
// a floor fades, and a few ticks for messages to be sent again.
const patient = 12

// From every state, whatever has gone wrong before, checks are decided once nothing more goes wrong: those that wait and
// a new one of each owner. A majority suffices; which replica is dead, or whether one is, makes no difference.
func TestModelDecidesInTheEnd(t *testing.T) {
	for _, s := range []setting{
		{name: "checks", capacity: 2, ticks: 1, checks: [2][]int64{{2}, {2}}, epsMax: 1},
		{name: "checks of one", capacity: 2, checks: [2][]int64{{1}, {1}}, epsMax: 9},
		{name: "a restart", capacity: 2, checks: [2][]int64{{2}, {1}}, epsMax: 1, restarts: 1},
		{name: "clocks that differ", capacity: 2, ticks: 1, checks: [2][]int64{{2}, {1}}, epsMax: 1, clock: [2]int64{0, 1}},
		{name: "reserving ahead", capacity: 2, checks: [2][]int64{{1, 1}, {1}}, epsMax: 1, busy: true},
		{name: "a reset", capacity: 2, checks: [2][]int64{{2}, {}}, epsMax: 1, resets: 1},
		{name: "a reset that fails", capacity: 2, ticks: 1, checks: [2][]int64{{2}, {}}, resets: 1, patience: 1},
		{name: "a lost disk", capacity: 2, ticks: 1, checks: [2][]int64{{2}, {2}}, epsMax: 1, losses: 1},
		{name: "a sweep", capacity: 2, ticks: 1, checks: [2][]int64{{2}, {1}}, epsMax: 1, sweeps: 1},
	} {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			var enc encoder
			end := &world{}
			x := &exploration{digest: enc.digest}
			states := 0
			x.visit = func(w *world, way []event) {
				if states++; t.Failed() || !largeSettings && states%50 != 0 {
					return
				}
				for dead := range nodes + 1 { // the last number is nobody's
					w.copyTo(end)
					if !end.settles(dead) {
						t.Fatalf("with replica %d dead, %d and %d checks are still waiting after\n%s", dead+1,
							end.players[0].Waiting(), end.players[1].Waiting(), tell(&s, way))
					}
				}
			}
			if broken := x.from(newWorld(&s)); broken != "" {
				t.Fatal(broken)
			}
			t.Logf("%d states", states)
		})
	}
}

// settles asks each owner for one more check and lets everything happen that is due, in a fair order and without faults
// but for one dead replica. It says whether all checks were decided.
func (w *world) settles(dead int) bool {
	for who := range w.players {
		w.ask(who, 1)
	}
	for range patient {
		for w.fair(dead) {
			w.tidy()
		}
		if w.players[0].Waiting()+w.players[1].Waiting() == 0 {
			return true
		}
		w.now += tick
	}
	return false
}

// fair makes one thing happen that has to happen now: a message or an answer arrives, or an owner wakes. It says whether
// there was one.
func (w *world) fair(dead int) bool {
	for i := range w.post {
		m := &w.post[i]
		for n := range w.nodes {
			switch {
			case n == dead || w.heard(m, n):
			case m.said[n]:
				w.accepted(*m, n)
				return true
			default:
				w.deliver(m, n)
				return true
			}
		}
	}
	for who := range w.players {
		if w.players[who].Due() <= w.clock(who) {
			w.step(who, func(o *Owner, now int64, out *Out) { o.Wake(now, out) })
			return true
		}
	}
	return false
}
