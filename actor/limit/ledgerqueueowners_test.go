package limit_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

// late is by how much clocks of owners may differ.
const late = int64(500 * time.Millisecond)

// owners are two owners of one bucket. The clock of the second one is ahead.
type owners struct {
	*testing.T

	rule    *limit.Rule
	ledgers [2]*limit.Ledger
	ahead   [2]int64
	now     int64 // true time
	taken   []taking
	open    []int // of taken, holds that are not settled
}

// A taking is what was admitted: of a hold what it takes in the end.
type taking struct{ at, amount int64 }

// newOwners are owners of a bucket that refills so. One that is counted takes more than ten minutes to fill.
func newOwners(t *testing.T, refill limit.Refill, ahead int64) *owners {
	t.Helper()
	w := &owners{T: t, ahead: [2]int64{0, ahead}, now: 1e18, rule: ruleOf(t, limit.Limit{
		Name: "l", Capacity: 700 * refill.Tokens, Refill: refill, Holds: limit.Holds{Longest: time.Minute},
	})}
	for i := range w.ledgers {
		w.ledgers[i] = w.rule.NewLedger(late)
	}
	return w
}

func (w *owners) clock(one int) int64 { return w.now + w.ahead[one] }

func (w *owners) check(one int, amount int64) {
	w.ledgers[one].Enter(w.clock(one), amount, 0)
	w.took(one, amount)
}

func (w *owners) hold(one int, amount int64) {
	w.ledgers[one].Hold(w.clock(one), amount, uint64(len(w.taken))+1, w.clock(one)+int64(time.Minute), false)
	w.open = append(w.open, len(w.taken))
	w.took(one, amount)
}

func (w *owners) took(one int, amount int64) {
	w.taken = append(w.taken, taking{w.now, amount})
	w.store(one)
}

// settle settles the i-th open hold.
func (w *owners) settle(one, i int, used int64) {
	hold := w.open[i]
	w.open = slices.Delete(w.open, i, i+1)
	if _, listed := w.ledgers[one].Settle(w.clock(one), limit.HoldChange{ID: uint64(hold) + 1, Used: used}, 0); listed {
		w.taken[hold].amount = used
	}
	w.store(one)
}

// store has the other owner read what one has.
func (w *owners) store(one int) {
	w.Helper()
	if err := w.ledgers[1-one].Read(w.ledgers[one].Append(nil, limit.OwnerID{byte(one + 1)}), limit.OwnerID{byte(2 - one)}); err != nil {
		w.Fatal(err)
	}
}

// judge asserts that either owner has to refill, but for what refills in the difference, what one bucket has that was always there.
func (w *owners) judge() {
	w.Helper()
	n, per := w.rule.Refill.Tokens, int64(w.rule.Refill.Per)
	level, before := int64(0), w.now
	for i, e := range w.taken {
		if i > 0 {
			level = max(0, level-n*(e.at-before))
		}
		level, before = level+e.amount*per, e.at
	}
	level = max(0, level-n*(w.now-before))
	for i, l := range w.ledgers {
		if used := l.Used(w.clock(i)); used*per+n*late < level {
			w.Fatalf("of %s, by clocks that differ by %v: after %d admissions %d tokens have to come back, and an owner knows of %d",
				w.rule.Refill, time.Duration(w.ahead[1]), len(w.taken), level/per, used)
		}
	}
}

// Owners whose clocks differ decide about a bucket in turn. To the one whose clock is ahead it is full again and again: the refill of that time
// is given, and the other must not give it again.
func TestRefillIsNotGivenByTwoOwners(t *testing.T) {
	for name, turn := range map[string]func(w *owners){
		"as time passes": func(w *owners) {
			w.hold(0, 4)
			w.settle(1, 0, 4)
		},
		"as a hold comes back": func(w *owners) {
			w.check(0, 4)
			w.hold(0, 100)
			w.settle(1, 0, 0)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newOwners(t, limit.Refill{Tokens: 97, Per: 10 * time.Second}, late)
			for range 100 {
				turn(w)
				w.judge()
				w.now += int64(20 * time.Millisecond)
			}
		})
	}
}

// When a bucket was full is kept until every clock is past it. To whose clock is behind it lacks what refills until then.
func TestFullSinceIsKeptForOthers(t *testing.T) {
	w := newOwners(t, limit.Refill{Tokens: 97, Per: 10 * time.Second}, late)
	w.hold(1, 100)
	w.settle(1, 0, 0)
	at := w.clock(1)
	for _, now := range []int64{w.now, at - 1, at, at + 1, at + late - 1, at + late} {
		l := w.rule.NewLedger(late)
		if err := l.Read(w.ledgers[1].Append(nil, limit.OwnerID{2}), limit.OwnerID{3}); err != nil {
			t.Fatal(err)
		}
		want := w.rule.Capacity - w.rule.TokensFor(limit.At(at-now))
		if free, end := l.Free(now), l.End(now); free != want || end != max(now, at) || len(l.Entries()) > 0 != (now < at) {
			t.Errorf("%d of %d are free, want %d, and all %v later; what counts is %v", free, w.rule.Capacity, want, time.Duration(end-now), l.Entries())
		}
		l.Enter(now, 1, 0)
		back := max(now, at) + int64(10*time.Second)/97 + 1
		if got := l.FreeAt(now, w.rule.Capacity); got != back {
			t.Errorf("what is entered at %v comes back at %v, want %v", time.Duration(now-at), time.Duration(got-at), time.Duration(back-at))
		}
	}
}

// The same as [TestRefillIsNotGivenByTwoOwners], drawn.
func TestQueueOfTwoOwners(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for range 100 {
		tokens := 20 + r.Int64N(300)
		w := newOwners(t, limit.Refill{Tokens: tokens, Per: time.Second}, late-r.Int64N(late/4))
		var most [2]int64
		for i := range most { // of one or both, as much comes back in the difference
			most[i] = 1 + r.Int64N(tokens/2)*r.Int64N(2)
		}
		for range 400 {
			one := r.IntN(2)
			amount := 1 + r.Int64N(most[one])
			switch {
			case len(w.open) > 0 && r.IntN(4) > 0:
				i := r.IntN(len(w.open))
				w.settle(one, i, r.Int64N(w.taken[w.open[i]].amount+1)*r.Int64N(2))
			case w.ledgers[one].Free(w.clock(one)) < amount:
			case r.IntN(2) == 0:
				w.hold(one, amount)
			default:
				w.check(one, amount)
			}
			w.judge()
			w.now += r.Int64N(int64(50 * time.Millisecond))
		}
	}
}
