package register_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/storage/register"
)

func TestJoinOfRegisters(t *testing.T) {
	type stored = register.Register
	mine := stored{Generation: 50, H: 100, Writer: register.Writer{1}, Seq: 7, Epoch: 3, From: 90, Expire: 4, Ledger: []byte("mine")}
	for name, tt := range map[string]struct {
		other stored
		want  stored // but for what is mine
		mine  bool   // the reservation that mine holds can still be repeated
	}{
		"nothing":           {stored{}, stored{Generation: 50, H: 100, Expire: 4}, true},
		"not so far":        {stored{Generation: 50, H: 99, Epoch: 3}, stored{Generation: 50, H: 100, Expire: 4}, true},
		"the same":          {stored{Generation: 50, H: 100, Epoch: 3, Seq: 9}, stored{Generation: 50, H: 100, Expire: 4}, true},
		"further":           {stored{Generation: 50, H: 101, Epoch: 3, Expire: 3}, stored{Generation: 50, H: 101, Expire: 4}, false},
		"before the reset":  {stored{Generation: 49, H: 50, Expire: 5}, stored{Generation: 50, H: 100, Expire: 5}, true},
		"beyond the reset":  {stored{Generation: 49, H: 101}, stored{Generation: 50, H: 101, Expire: 4}, false},
		"a reset that knew": {stored{Generation: 100, H: 60}, stored{Generation: 100, H: 60, Expire: 4}, false},
		"one that did not":  {stored{Generation: 99, H: 60}, stored{Generation: 99, H: 100, Expire: 4}, false},
	} {
		t.Run(name, func(t *testing.T) {
			got := mine.Join(tt.other)
			if got.Generation != tt.want.Generation || got.H != tt.want.H || got.Expire != tt.want.Expire {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
			if repeatable := got.Epoch == 3; repeatable != tt.mine {
				t.Errorf("it passes for accepted here in epoch %d", got.Epoch)
			}
		})
	}
	if got := (stored{}).Join(mine); string(got.Ledger) != "mine" || got.Seq != mine.Seq || got.Epoch != 0 {
		t.Errorf("taken over as %+v, want all of %+v but the epoch", got, mine)
	}
}

// What is taken in one of two registers is taken in their join, and the order does not matter.
func TestJoinCoversBoth(t *testing.T) {
	some := func(t *rapid.T, name string) register.Register {
		return register.Register{
			Generation: rapid.Int64Range(0, 6).Draw(t, name+"'s generation"), H: rapid.Int64Range(0, 8).Draw(t, name),
			Expire: rapid.Int64Range(0, 3).Draw(t, name+"'s expiry"),
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := some(t, "a"), some(t, "b")
		ab, ba := a.Join(b), b.Join(a)
		if ab.Generation != ba.Generation || ab.H != ba.H || ab.Expire != ba.Expire {
			t.Fatalf("%+v one way, %+v the other", ab, ba)
		}
		var p register.Partition
		for generation := ab.Generation; generation < 10; generation++ {
			free := max(p.Free(a, generation, 0, bounds), p.Free(b, generation, 0, bounds))
			if got := p.Free(ab, generation, 0, bounds); got != free {
				t.Fatalf("in generation %d the line is free from %d on, want %d", generation, got, free)
			}
		}
		if horizon := rapid.Int64Range(0, 10).Draw(t, "horizon"); ab.Swept(horizon) && (!a.Swept(horizon) || !b.Swept(horizon)) {
			t.Fatal("it is swept before the two are")
		}
	})
}

func TestJoin(t *testing.T) {
	type part = register.Partition
	var (
		sealed    = part{Epoch: 4, Sealed: true, Horizon: 7}
		floored   = part{Epoch: 4, Sealed: true, Floored: true, Floor: 50, Horizon: 9}
		floored60 = part{Epoch: 4, Sealed: true, Floored: true, Floor: 60}
		installed = part{Epoch: 4, Sealed: true, Installed: 5, Horizon: 3}
		entered   = part{Epoch: 5, Horizon: 4}
		forced    = part{Epoch: 5, Floored: true, Floor: 70}
	)
	for _, tt := range []struct {
		name   string
		states []part
		enough int
		want   part
		few    bool
	}{
		{"enough sealed", []part{sealed, sealed}, 2, part{Horizon: 7}, false},
		{"one of one", []part{sealed}, 1, part{Horizon: 7}, false},
		{"nobody", nil, 1, part{}, true},
		{"too few sealed", []part{sealed}, 2, part{}, true},
		{"not sealed", []part{sealed, {Epoch: 4}}, 2, part{}, true},
		{"sealed in an older epoch", []part{sealed, {Epoch: 3, Sealed: true}}, 2, part{}, true},
		{"dropped", []part{sealed, {Epoch: 4, Sealed: true, Incomplete: true}}, 2, part{}, true},
		{"in a later epoch", []part{sealed, {Epoch: 6}}, 2, part{}, true},
		{"installed for another epoch", []part{sealed, {Epoch: 4, Sealed: true, Installed: 6}}, 2, part{}, true},
		{"no registers yet", []part{{Sealed: true}, {Sealed: true}}, 2, part{}, true},
		{"one has a floor, the rest is enough", []part{sealed, floored, sealed}, 2, part{Horizon: 9}, false},
		{"one has a floor, the rest is not", []part{sealed, floored}, 2, part{Floored: true, Floor: 50, Horizon: 9}, false},
		{"all have a floor", []part{floored, floored60, floored}, 2, part{Floored: true, Floor: 60, Horizon: 9}, false},
		{"a floor in the past", []part{{Epoch: 4, Sealed: true, Floored: true, Floor: -5}}, 1, part{Floored: true, Floor: -5}, false},
		{"one is installed", []part{installed}, 2, part{Horizon: 3}, false},
		{"one has entered", []part{entered}, 3, part{Horizon: 4}, false},
		{"one has entered and is sealed", []part{{Epoch: 5, Sealed: true}}, 2, part{}, false},
		{"one was dropped after it had entered", []part{{Epoch: 5, Sealed: true, Incomplete: true}}, 2, part{}, true},
		{"installed counts before sealed with a floor", []part{floored, floored, installed}, 2, part{Horizon: 9}, false},
		{"installed with a floor, sealed without", []part{forced, sealed, sealed}, 2, part{Horizon: 7}, false},
		{"installed with a floor alone", []part{forced, sealed}, 2, part{Floored: true, Floor: 70, Horizon: 7}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := register.Join(tt.states, tt.enough, 5)
			if errors.Is(err, register.ErrTooFew) != tt.few || err != nil && !tt.few || got != tt.want {
				t.Errorf("got %+v, %v, want %+v", got, err, tt.want)
			}
		})
	}
	if _, err := register.Join([]part{{Sealed: true}, {}}, 1, 0); !errors.Is(err, register.ErrTooFew) {
		t.Errorf("complete for epoch 0: %v", err)
	}
}

// A member of a replica set, with the one bucket that there is.
type member struct {
	partition register.Partition
	register  register.Register
}

// An epochWorld lets owners reserve at a replica set, resets and lost registers among it, and knows what a majority has
// accepted.
type epochWorld struct {
	members  []member
	clock    int64
	accepted map[[3]int64]int // who accepted it, a bit each, by generation, from and to
}

const before, after = uint64(4), uint64(5) // the two epochs

func newEpochWorld(size int) *epochWorld {
	w := &epochWorld{members: make([]member, size), clock: 1_000, accepted: map[[3]int64]int{}}
	for i := range w.members {
		w.members[i].partition = register.Partition{Epoch: before}
	}
	return w
}

func (w *epochWorld) reserve(i int, m register.Reservation) {
	n := &w.members[i]
	m.Now = w.clock
	r, a, write := n.partition.Reserve(n.register, m, w.clock, bounds)
	if n.register = r; a.Verdict == register.Accepted && write {
		w.accepted[[3]int64{m.Generation, m.From, m.To}] |= 1 << i
	}
}

// live lets some things happen, pick choosing each of them below a bound.
func (w *epochWorld) live(pick func(n int) int) {
	for range pick(40) {
		w.clock += int64(pick(60))
		i := pick(len(w.members))
		n := &w.members[i]
		seen := w.members[pick(len(w.members))].register // what an owner has heard of
		m := register.Reservation{
			Writer: register.Writer{byte(pick(3))}, Seq: uint64(pick(9)), Epoch: before, Reach: 100, Generation: seen.Generation,
		}
		switch pick(8) {
		case 0:
			n.partition.Sealed = true
			continue
		case 1: // its registers are lost
			*n = member{partition: register.Partition{
				Epoch: before, Sealed: n.partition.Sealed, Floored: true, Floor: max(w.clock+bounds.EpsMax, n.partition.Floor),
			}}
			continue
		case 2:
			if horizon := w.clock - 500; n.register.Swept(horizon) {
				n.register, n.partition.Horizon = register.Register{}, max(horizon, n.partition.Horizon)
			}
			continue
		case 3: // a reset by an owner that has heard of little
			m.Generation = max(w.clock+m.Reach+bounds.Slack(), seen.H, seen.Generation+1)
			m.From = w.clock
			m.To = m.From
		default:
			m.From = max(w.clock, n.partition.Free(n.register, m.Generation, m.Reach, bounds))
			m.To = m.From + int64(pick(100))
		}
		for j := range w.members {
			if j == i || pick(2) == 0 {
				w.reserve(j, m)
			}
		}
	}
}

// uncovered joins the members whose bits are set and returns what a majority had accepted and the join leaves free.
func (w *epochWorld) uncovered(sources int, join func(a, b register.Register) register.Register) error {
	var (
		joined register.Register
		states []register.Partition
		enough = ring.Enough(len(w.members))
		exact  int
	)
	for i, n := range w.members {
		if sources&(1<<i) != 0 {
			joined = join(joined, n.register)
			states = append(states, n.partition)
			if !n.partition.Floored {
				exact++
			}
		}
	}
	p, err := register.Join(states, enough, after)
	if err != nil {
		return fmt.Errorf("%d sealed members are too few: %w", len(states), err)
	}
	if p.Floored != (exact < enough) {
		return fmt.Errorf("a floor: %v, where %d of %d are without one", p.Floored, exact, len(states))
	}
	for _, s := range states {
		if p.Horizon < s.Horizon {
			return fmt.Errorf("a horizon of %d, where one has %d", p.Horizon, s.Horizon)
		}
	}
	for s, who := range w.accepted {
		votes := 0
		for i := range w.members {
			votes += who >> i & 1
		}
		if votes < ring.Majority(len(w.members)) || s[1] == s[2] {
			continue
		}
		generation := max(joined.Generation, s[0])
		if joined.Generation > s[0] && s[2] <= joined.Generation {
			continue // the reset knew of it
		}
		if free := p.Free(joined, generation, 100, bounds); free < s[2] {
			return fmt.Errorf("(%d, %d] of generation %d, which %b accepted, is free from %d on: %+v %+v", s[1], s[2], s[0], who, free, joined, p)
		}
	}
	return nil
}

// check seals the members whose bits are set, and those alone that must be, and looks at their join.
func (w *epochWorld) check(sources int, join func(a, b register.Register) register.Register) error {
	for i := range w.members {
		if sources&(1<<i) != 0 {
			w.members[i].partition.Sealed = true
		}
	}
	return w.uncovered(sources, join)
}

// someSources are at least enough members, a bit each.
func someSources(size int, pick func(n int) int) (sources int) {
	for n := 0; n < ring.Enough(size); {
		if i := pick(size); sources&(1<<i) == 0 {
			sources |= 1 << i
			n++
		}
	}
	return sources | pick(1<<size)
}

// Whatever a majority of an epoch has accepted, every join of enough of its sealed members has.
func TestWhateverAMajorityAcceptedIsInEveryJoin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pick := func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "pick") }
		size := []int{1, 3, 5}[pick(3)]
		w := newEpochWorld(size)
		w.live(pick)
		if err := w.check(someSources(size, pick), register.Register.Join); err != nil {
			t.Fatal(err)
		}
	})
}

// The test above must find what is wrong with other joins.
func TestWrongJoinsAreFound(t *testing.T) {
	for name, join := range map[string]func(a, b register.Register) register.Register{
		"the later generation, then the further": func(a, b register.Register) register.Register {
			if b.Generation > a.Generation || b.Generation == a.Generation && b.H > a.H {
				return b
			}
			return a
		},
		"the last": func(_, b register.Register) register.Register { return b },
	} {
		t.Run(name, func(t *testing.T) {
			const most = 200_000
			random := rand.New(rand.NewPCG(1, 2))
			for trial := range most {
				w := newEpochWorld(3)
				w.live(random.IntN)
				if err := w.check(someSources(3, random.IntN), join); err != nil {
					t.Logf("found in trial %d: %v", trial+1, err)
					return
				}
			}
			t.Errorf("not found in %d trials", most)
		})
	}
}
