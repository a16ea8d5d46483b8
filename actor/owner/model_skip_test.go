package owner

import (
	"fmt"
	"slices"
	"testing"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/storage/register"
)

// skipped writes down a reservation that begins further on than a majority of the replicas would have accepted, those that
// are lost left aside: line that no owner can spend any more. A check may skip little; what takes no line, is made ahead, or
// resets the bucket, skips nothing and leaves no replica aside.
func (w *world) skipped(m *message) {
	p := &w.players[m.who]
	if w.variant.replica != nil || w.counters || w.losses > 0 || w.sweeps > 0 || w.change.to != 0 {
		return // registers do not only grow, or say something else
	}
	gone, may := w.gone, p.bucket().maxSkip(p.cfg)
	if reset := p.bucket().pending() != nil && p.bucket().pending().reset; reset || m.Background || m.To == m.From {
		gone, may = 0, 0
	}
	set := w.set(m.Epoch)
	if (set &^ gone).size() < p.cfg.majority() {
		gone = 0
	}
	var positions []int64
	for n := range (set &^ gone).all() {
		if w.nodes[n].Generation > m.Generation {
			return // it will be refused
		}
		positions = append(positions, w.nodes[n].partition.Free(w.nodes[n].Register, m.Generation, w.rules[0].Reach(), w.bounds()))
	}
	slices.Sort(positions)
	free := positions[p.cfg.majority()-1]
	if least := max(w.rules[0].Begin(w.clock(int(m.who))), p.bucket().held.to, free); m.From > least+may && w.broken == "" {
		w.broken = fmt.Sprintf("%s sends %s, though a majority would have said yes from %d", w.name(int(m.who)), m, free/tick)
	}
}

// miss tells the sender of a message that a replica is lost.
func (w *world) miss(m *message, replica int) {
	w.say("%s hears that replica %d is lost", w.name(int(m.who)), replica+1)
	w.hear(*m, Answer{Replica: w.set(m.Epoch).index(replica), Verdict: Lost})
}

// knownLost says whether the sender of m has been told that the replica is lost, or counts no answers any more.
func (w *world) knownLost(m *message, replica int) bool {
	p := &w.players[m.who]
	if p.life != m.life {
		return true
	}
	awaited := p.awaits(m.Seq)
	return awaited == nil || awaited.replies[w.set(m.Epoch).index(replica)] != 0
}

// farAhead is an opening: the first replica's line is reserved far ahead, for an owner that was cut off with it.
func farAhead(w *world) {
	w.nodes[0].Register = register.Register{H: w.now + 4*tick, Writer: register.Writer{9}, Seq: 1, Epoch: 1}
}

// floored is an opening: the first replica has a floor.
func floored(w *world) {
	w.nodes[0].partition.Floored, w.nodes[0].partition.Floor = true, w.now
}

// One replica whose line is reserved far ahead, and answers that are late, or a replica that is lost: whatever the order,
// hardly any line is skipped. Nothing is reserved ahead: what a rival may have reserved so may be skipped, and is half of so small a bucket.
func TestModelSkipsNothing(t *testing.T) {
	keepsItsPromises(t, []sized{
		{setting: setting{
			name: "checks", capacity: 6, reserve: limit.ReserveExact, opening: farAhead,
			ticks: 2, checks: [owners][]int64{{1, 1}, {}}, epsMax: 1,
		}},
		{setting: setting{
			name: "peeks", capacity: 6, reserve: limit.ReserveExact, opening: farAhead,
			ticks: 2, checks: [owners][]int64{{0, 1}, {}}, epsMax: 1,
		}},
		{setting: setting{
			name: "a peek, and a replica that is lost", capacity: 6, reserve: limit.ReserveExact, opening: farAhead, gone: 0b100,
			ticks: 2, checks: [owners][]int64{{0, 0}, {}}, epsMax: 1,
		}},
		{setting: setting{
			name: "a replica that is lost", capacity: 6, reserve: limit.ReserveExact, opening: farAhead, gone: 0b100,
			ticks: 2, checks: [owners][]int64{{1, 1}, {}}, epsMax: 1,
		}},
		{setting: setting{
			name: "reserving ahead, and a replica that is lost", capacity: 6, reserve: limit.ReserveExact, opening: farAhead, gone: 0b100,
			ticks: 1, checks: [owners][]int64{{1, 1}, {}}, epsMax: 1, busy: true,
		}},
		{setting: setting{
			name: "a reset, and a floor", capacity: 2, opening: floored,
			ticks: 2, checks: [owners][]int64{{}, {2}}, epsMax: 1, resets: 1, pause: tick,
		}},
		{setting: setting{
			name: "a reset, a floor, and a replica that is lost", capacity: 2, opening: floored, gone: 0b100,
			ticks: 2, checks: [owners][]int64{{}, {}}, epsMax: 1, resets: 1, pause: tick,
		}},
	})
}
