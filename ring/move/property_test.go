package move

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/jeton-dev/jeton/ring"
)

// A keeper is a node of the world, as far as it matters to one partition: what it knows stands for its registers.
type keeper struct {
	down      bool
	epoch     uint64 // that it answers for, or answered until it was sealed
	sealed    bool
	installed uint64 // the highest epoch that its registers were completed for
	floored   bool
	knows     map[int]bool
}

// A world is a partition, all nodes, raft, a driver, and what the driver's calls do. Reservations are numbers; one that
// W members of an epoch have accepted must never be forgotten.
type world struct {
	nodes    map[ring.NodeID]*keeper
	place    ring.Place // the truth
	accepted map[int]uint64
	count    int

	m    *Move
	now  int64
	open []Action // asked, not answered
	lost []Action // of drivers that are gone: they may still happen
	past []Answer // for repetitions
	told bool     // the driver knows the place
	seal map[uint64]map[ring.NodeID]*heard
	fail func(format string, args ...any)
}

// What a driver has heard of one node's seals in an epoch.
type heard struct{ sealed, floored, failed bool }

// heardOf is that.
func (w *world) heardOf(epoch uint64, id ring.NodeID) *heard {
	if w.seal[epoch] == nil {
		w.seal[epoch] = map[ring.NodeID]*heard{}
	}
	if w.seal[epoch][id] == nil {
		w.seal[epoch][id] = &heard{}
	}
	return w.seal[epoch][id]
}

func newWorld(fail func(string, ...any), replicas string) *world {
	w := &world{
		nodes: map[ring.NodeID]*keeper{}, accepted: map[int]uint64{}, fail: fail,
		place: ring.Place{Epoch: ring.FirstEpoch, Replicas: set(replicas)},
	}
	for _, id := range set("abcdefg") {
		w.nodes[id] = &keeper{knows: map[int]bool{}}
	}
	for _, id := range w.place.Replicas {
		w.nodes[id].epoch, w.nodes[id].installed = ring.FirstEpoch, ring.FirstEpoch
	}
	w.newDriver(false)
	return w
}

// newDriver begins anew from what raft knows. What the last driver asked of nodes may happen at any time; what it asked
// of raft happens now or never, for raft is asked by its leader only.
func (w *world) newDriver(happens bool) {
	for _, a := range w.open {
		if !toRaft(a) {
			w.lost = append(w.lost, a)
		} else if happens {
			w.do(a)
		}
	}
	w.open, w.past, w.seal = nil, nil, map[uint64]map[ring.NodeID]*heard{}
	w.m, w.told = New(w.place), true
	w.step(Tick{})
}

func (w *world) step(e Event) {
	for _, a := range w.m.Step(e, w.now) {
		w.judge(a)
		w.open = append(w.open, a)
	}
	if u := w.m.Until(); u != 0 && u <= w.now {
		w.fail("at %d it wants to be called at %d", w.now, u)
	}
}

// judge holds an action against the rules, by what this driver has heard.
func (w *world) judge(a Action) {
	p := w.m.Place()
	switch a := a.(type) {
	case Install:
		sealed, exact, unheard := 0, 0, 0
		for _, id := range p.Replicas {
			switch h := w.heardOf(p.Epoch, id); {
			case h.sealed && slices.Contains(a.Sources, id):
				sealed++
				if !h.floored {
					exact++
				}
			case !h.failed:
				unheard++
			}
		}
		if a.Epoch != p.Epoch+1 || a.Enough != ring.Enough(len(p.Replicas)) || sealed < a.Enough {
			w.fail("%s, and %d are sealed", words(a), sealed)
		}
		if exact < a.Enough && exact+unheard >= a.Enough {
			w.fail("%s with a floor: %d of the sources have none, and %d members have not said yet whether they are sealed", words(a), exact, unheard)
		}
	case Commit:
		if !slices.Equal(a.Next, p.Next) || a.Epoch != p.Epoch {
			w.fail("%s at %v", words(a), p)
		}
	case Seal:
		if len(p.Next) == 0 || a.Epoch != p.Epoch {
			w.fail("%s at %v", words(a), p)
		}
	}
}

// reserve has an owner ask some replicas for line.
func (w *world) reserve(asked func(ring.NodeID) bool) {
	w.count++
	accepts := 0
	for _, id := range w.place.Replicas {
		if k := w.nodes[id]; asked(id) && !k.down && k.epoch == w.place.Epoch && !k.sealed {
			k.knows[w.count] = true
			accepts++
		}
	}
	if accepts >= ring.Majority(len(w.place.Replicas)) {
		w.accepted[w.count] = w.place.Epoch
	}
}

// learn lets a node hear from raft where the partition is: it enters the epoch if it has installed it.
func (w *world) learn(id ring.NodeID) {
	k := w.nodes[id]
	if k.down {
		return
	}
	if !w.place.Has(id) && !slices.Contains(w.place.Next, id) && k.epoch < w.place.Epoch {
		k.knows, k.sealed, k.installed = map[int]bool{}, true, 0 // it drops what it has
		return
	}
	if w.place.Has(id) && k.installed == w.place.Epoch && k.epoch < w.place.Epoch {
		k.epoch, k.sealed = w.place.Epoch, false
	}
}

// do performs an action as nodes and raft do, and says whether it was done.
func (w *world) do(a Action) bool {
	switch a := a.(type) {
	case Copy:
		k := w.nodes[a.Node]
		if k.down {
			return false
		}
		got := false
		for _, s := range a.Sources {
			if from := w.nodes[s]; !from.down && from.installed > 0 {
				maps.Copy(k.knows, from.knows)
				got = true
			}
		}
		return got
	case Seal:
		k := w.nodes[a.Node]
		if k.down || k.epoch != a.Epoch || k.installed < a.Epoch {
			return false
		}
		k.sealed = true
		return true
	case Install:
		return w.install(a.Node, a.Epoch, a.Enough, a.Sources)
	case Complete:
		return w.install(a.Node, a.Epoch, len(a.Sources)+1, a.Sources)
	case Agree:
		if a.Epoch != w.place.Epoch {
			return false
		}
		w.place.Next, w.told = a.Next, false
		return true
	case Commit:
		if a.Epoch != w.place.Epoch || !slices.Equal(a.Next, w.place.Next) {
			return false
		}
		installed := 0
		for _, n := range a.Next {
			if w.nodes[n].installed > a.Epoch {
				installed++
			}
		}
		if installed < ring.Majority(len(a.Next)) {
			w.fail("%s is proposed, but only %d of next have installed", words(a), installed)
		}
		w.place = ring.Place{Epoch: a.Epoch + 1, Replicas: a.Next, Target: w.place.Target}
		if slices.Equal(w.place.Target, w.place.Replicas) {
			w.place.Target = nil
		}
		w.told = false
		return true
	}
	return false
}

func (w *world) install(node ring.NodeID, epoch uint64, enough int, sources []ring.NodeID) bool {
	k := w.nodes[node]
	switch {
	case k.down:
		return false
	case k.installed >= epoch:
		return true
	}
	sealed, has := 0, false
	knows := maps.Clone(k.knows)
	for _, s := range sources {
		from := w.nodes[s]
		if from.down {
			continue
		}
		isSealed := from.epoch == epoch-1 && from.installed >= epoch-1 && from.sealed
		if isSealed {
			sealed++
		}
		has = has || from.installed == epoch
		if isSealed || from.installed == epoch {
			maps.Copy(knows, from.knows)
		}
	}
	if sealed < enough && !has {
		return false
	}
	k.knows, k.installed = knows, epoch
	for n, e := range w.accepted {
		if e < epoch && !knows[n] {
			w.fail("%c installs epoch %d without reservation %d, which a majority of epoch %d accepted", node[0], epoch, n, e)
		}
	}
	return true
}

// answer ends an open action: it is done, or fails, or is done and its answer is lost.
func (w *world) answer(i int, done, lost bool) {
	a := w.open[i]
	w.open = slices.Delete(w.open, i, i+1)
	ok := done && w.do(a) && !lost
	said := Answer{To: a, OK: ok}
	if s, is := a.(Seal); is {
		h := w.heardOf(s.Epoch, s.Node)
		h.sealed, h.failed = h.sealed || ok, h.failed || !ok
		if said.Floored = ok && w.nodes[s.Node].floored; ok {
			h.floored = said.Floored
		}
	}
	w.past = append(w.past, said)
	w.step(said)
}

func toRaft(a Action) bool {
	switch a.(type) {
	case Agree, Commit:
		return true
	}
	return false
}

// replaceNext has raft give the move other nodes, after all that it was asked before.
func (w *world) replaceNext(next []ring.NodeID) {
	if slices.Equal(w.place.Next, next) {
		return
	}
	for {
		i := slices.IndexFunc(w.open, toRaft)
		if i < 0 {
			break
		}
		w.open = slices.Delete(w.open, i, i+1)
	}
	w.place.Next = next
	w.tell()
}

func (w *world) tell() {
	w.told = true
	w.step(Placed{Place: w.place})
}

// heal ends all failures. The move must come to its end, whatever has been before.
func (w *world) heal() {
	for _, k := range w.nodes {
		k.down = false
	}
	for range 2000 {
		for id := range w.nodes {
			w.learn(id)
		}
		switch {
		case !w.told:
			w.tell()
		case len(w.open) > 0:
			w.answer(0, true, false)
		case w.m.Phase() == Settled:
			w.settled()
			return
		case w.m.Until() == 0:
			w.fail("%v at %+v, and it waits for nothing", w.m.Phase(), w.place)
			return
		default:
			w.now = w.m.Until()
			w.step(Tick{})
		}
	}
	w.fail("%v at %+v after 2000 steps without a failure", w.m.Phase(), w.place)
}

func (w *world) settled() {
	if w.place.Moving() {
		w.fail("settled at %+v", w.place)
	}
	for _, id := range w.place.Replicas {
		if k := w.nodes[id]; k.epoch != w.place.Epoch || k.sealed {
			w.fail("settled, but %c is in epoch %d of %d", id[0], k.epoch, w.place.Epoch)
		}
	}
}

// members draws 1, 3 or 5 nodes.
func members(t *rapid.T, label string) []ring.NodeID {
	all := rapid.Permutation(set("abcdefg")).Draw(t, label)
	return all[:rapid.SampledFrom([]int{1, 3, 3, 5}).Draw(t, label+" size")]
}

// act lets one thing happen that can.
func (w *world) act(t *rapid.T) {
	someone := func() ring.NodeID { return rapid.SampledFrom(set("abcdefg")).Draw(t, "node") }
	switch rapid.IntRange(0, 11).Draw(t, "event") {
	case 0, 1, 2, 3:
		if len(w.open) > 0 {
			i := rapid.IntRange(0, len(w.open)-1).Draw(t, "open")
			how := rapid.SampledFrom([]string{"done", "done", "done", "failed", "done, answer lost"}).Draw(t, "how")
			w.answer(i, how != "failed", how == "done, answer lost")
		}
	case 4:
		if len(w.past) > 0 {
			w.step(rapid.SampledFrom(w.past).Draw(t, "repeated"))
		}
	case 5:
		if len(w.lost) > 0 {
			w.do(rapid.SampledFrom(w.lost).Draw(t, "of a driver that is gone"))
		}
	case 6:
		if rapid.IntRange(0, 3).Draw(t, "restart") == 0 {
			w.newDriver(rapid.Bool().Draw(t, "happens"))
		}
	case 7:
		id := someone()
		w.nodes[id].floored = w.nodes[id].down && rapid.Bool().Draw(t, "floored")
		if w.nodes[id].down = !w.nodes[id].down; !w.nodes[id].down && rapid.Bool().Draw(t, "noticed") {
			w.step(Back{Node: id})
		}
	case 8:
		w.learn(someone())
	case 9:
		if next := members(t, "members"); len(w.place.Next) > 0 && rapid.IntRange(0, 3).Draw(t, "replace next") == 0 {
			w.replaceNext(next)
		} else if !slices.Equal(next, w.place.Replicas) {
			w.place.Target, w.told = next, false
		}
	case 10:
		w.now += rapid.Int64Range(1, 3*second).Draw(t, "time")
		w.step(Tick{})
	case 11:
		if !w.told {
			w.tell()
		}
	}
	asked := rapid.Uint64().Draw(t, "asked")
	w.reserve(func(id ring.NodeID) bool { return asked>>(id[0]-'a')&1 == 1 })
}

// Whatever fails, is repeated or lost, and however often the driver or next changes: nobody installs an epoch without
// all that majorities of earlier ones have accepted, installs are asked only of enough sealed members, a commit only
// after W installs; and once failures end, the move ends.
func TestMovesForgetNothingAndEnd(t *testing.T) {
	moved, late := 0, 0
	world := func(t *rapid.T) {
		first := rapid.SampledFrom([]string{"a", "abc", "abcde"}).Draw(t, "founders")
		w := newWorld(func(format string, args ...any) {
			t.Helper()
			t.Fatalf("%s", fmt.Sprintf(format, args...))
		}, first)
		for range rapid.IntRange(20, 150).Draw(t, "events") {
			w.act(t)
		}
		if w.place.Epoch > ring.FirstEpoch {
			moved++
		}
		if w.m.Phase() == Completing {
			late++
		}
		w.heal()
	}
	for range 100 { // of the worlds of one turn, it can be that none moves
		if rapid.Check(t, world); moved > 0 && late > 0 {
			return
		}
	}
	t.Errorf("%d worlds moved under failures, %d had a late member: they try nothing", moved, late)
}
