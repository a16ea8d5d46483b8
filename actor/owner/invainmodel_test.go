package owner_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/actor/owner"
	"github.com/jeton-dev/jeton/storage/register"
)

// A vainWalk is a random walk of one owner of a limit that counts entries, whose checks go by several plans, and some beside another limit that denies
// them. They are admitted, held, settled and returned. In the end, what is stored is what was admitted, and nothing else: nothing that was written in vain,
// and nothing that came back. In every other walk, messages are lost and overtake one another, and some callers do not wait long enough: then more may count, of
// writes that the owner has not heard of, but never less.
//
// Hardly anything comes back by itself while a walk lasts, so what counts can be added up.
type vainWalk struct {
	*troupe
	*rand.Rand
	s        *stage
	rules    []*limit.Rule // the plans; those of others cost more or less of the first one
	denying  []*limit.Rule
	worth    []int64 // of a token by each rule, in tokens of the first one
	rough    bool    // messages are lost and overtake one another, and some callers do not wait long enough
	inTokens bool    // ledgers are: so replicas keep whole ones, and each settlement may cost a part of one
	doubt    int64   // how many these may be
	asked    map[int]vainCheck
	had      []*vainCheck
	settles  map[int]func() error
	parcels  []vainParcel
	sent     int
	seen     int
	story    []string
}

// A vainParcel is a message to a replica.
type vainParcel struct {
	register.Reservation
	to int
}

// A vainCheck is what a check has asked for, and then what it has: worth tokens of the first rule's.
type vainCheck struct {
	rule    int
	cost    int64
	holds   bool
	denied  bool // it goes by a limit that has nothing left
	late    bool // it may end without a decision
	receipt limit.Receipt
	hold    *limit.Hold
	over    bool // it was returned or settled
	counts  int64
}

func (w *vainWalk) say(format string, args ...any) {
	w.story = append(w.story, fmt.Sprintf("%12v ", time.Duration(w.now-start))+fmt.Sprintf(format, args...))
}

// used is what counts, in tokens of the first rule.
func (w *vainWalk) used() (sum int64) {
	for _, c := range w.had {
		sum += c.counts
	}
	return sum
}

// ask asks for tokens by one of the rules.
func (w *vainWalk) ask() {
	c := vainCheck{rule: w.IntN(len(w.rules)), cost: w.Int64N(5), denied: w.IntN(3) == 0, late: w.rough && w.IntN(4) == 0}
	rules, patience := []*limit.Rule{w.rules[c.rule]}, 1000*hour
	if c.denied {
		c.cost = max(c.cost, 1)
		rules = append(rules, w.denying[w.IntN(len(w.denying))])
		if w.IntN(2) == 0 {
			slices.Reverse(rules)
		}
	}
	if c.late {
		patience = 5 * ms
	}
	tag := w.tag()
	check := owner.Check{Tag: tag, At: w.s.clock(), Deadline: w.s.clock() + patience, Rules: rules, Cost: c.cost, Receipts: true}
	if c.holds = w.rules[0].Holds.Longest > 0 && c.cost > 0 && w.IntN(2) == 0; c.holds {
		check.Hold, check.Receipts = 20*hour, false
	}
	w.asked[tag] = c
	w.say("check %d: %d of %d, holds %v, denied %v, late %v", tag, c.cost, w.rules[c.rule].Capacity, c.holds, c.denied, c.late)
	w.s.owner.Check(check, &w.s.out)
	w.s.after()
}

// end settles what a check holds, or returns what it was given.
func (w *vainWalk) end() {
	if len(w.had) == 0 {
		return
	}
	c := w.had[w.IntN(len(w.had))]
	switch {
	case c.over:
	case c.holds:
		c.over = true
		used := w.Int64N(c.cost + 1)
		tag, all := w.tag(), []owner.Settle{{Rule: w.rules[c.rule], Held: c.hold.Limits[0], Granted: c.cost, Used: used}}
		w.say("settlement %d: %d of %d", tag, used, c.cost)
		if w.inTokens {
			w.doubt++
		}
		c.counts = used * w.worth[c.rule] // for others, that may have an effect before it is answered
		w.settles[tag] = func() error {
			if got := all[0].Settled; got.State != limit.HoldSettled || got.Charged != used {
				return fmt.Errorf("settlement %d: %+v", tag, got)
			}
			return nil
		}
		w.s.owner.Settle(tag, all, w.s.clock(), w.s.clock()+1000*hour, &w.s.out)
		w.s.after()
	case w.rules[0].TakesReceipts():
		if w.s.owner.Return(c.receipt, w.s.clock(), &w.s.out) {
			w.say("%d come back", c.cost)
			c.over, c.counts = true, 0
		}
		w.s.after()
	}
}

// bring brings a message, mostly the oldest, or loses it.
func (w *vainWalk) bring() {
	if len(w.parcels) == 0 {
		return
	}
	i := 0
	if w.rough && w.IntN(3) == 0 {
		i = w.IntN(len(w.parcels))
	}
	p := w.parcels[i]
	w.parcels = slices.Delete(w.parcels, i, i+1)
	switch {
	case !w.rough || w.IntN(20) > 1:
		w.s.bring(p.Reservation, p.to)
	case w.IntN(2) == 0: // its answer is lost
		p.Now = w.s.clock()
		w.replicas[p.to].reserve(p.Reservation, w.now, w.bounds)
	}
}

func (w *vainWalk) wake() {
	if w.s.owner.Due() <= w.s.clock() {
		w.s.owner.Wake(w.s.clock(), &w.s.out)
		w.s.after()
	}
}

// collect takes up what the owner has sent and answered.
func (w *vainWalk) collect() error {
	for ; w.sent < len(w.s.post); w.sent++ {
		for i := range w.replicas {
			w.parcels = append(w.parcels, vainParcel{w.s.post[w.sent], i})
		}
	}
	for ; w.seen < len(w.s.answers); w.seen++ {
		r := w.s.answers[w.seen]
		tag, _ := r.Tag.(int)
		if settled := w.settles[tag]; settled != nil {
			if r.Err != nil {
				return fmt.Errorf("settlement %d: %w", tag, r.Err)
			}
			if err := settled(); err != nil {
				return err
			}
			continue
		}
		if err := w.answered(tag, r); err != nil {
			return fmt.Errorf("check %d: %w", tag, err)
		}
	}
	return nil
}

// answered judges the answer to a check.
func (w *vainWalk) answered(tag int, r owner.Reply) error {
	c, known := w.asked[tag]
	switch {
	case !known:
		return nil
	case r.Err != nil && c.late:
		return nil
	case r.Err != nil:
		return r.Err
	}
	if got := &r.Decision.Limits[0]; got.Remaining > got.Limit {
		return fmt.Errorf("%d remain of %d", got.Remaining, got.Limit)
	}
	w.say("check %d: allowed %v", tag, r.Decision.Allowed)
	switch {
	case !r.Decision.Allowed || c.cost == 0:
		return nil
	case c.denied:
		return fmt.Errorf("it was admitted beside a limit that has nothing left")
	case c.holds:
		c.hold = r.Decision.Hold
	default:
		c.receipt = r.Decision.Receipts[0]
	}
	c.counts = c.cost * w.worth[c.rule]
	w.had = append(w.had, &c)
	if most := w.rules[c.rule].Capacity * w.worth[c.rule]; w.used() > most {
		return fmt.Errorf("%d are admitted of %d", w.used(), most)
	}
	return nil
}

// run walks, and then brings all to its end.
func (w *vainWalk) run() error {
	for range 120 {
		switch n := w.IntN(100); {
		case n < 50:
			w.bring()
		case n < 70:
			w.ask()
		case n < 80:
			w.end()
		case n < 92:
			w.now += []int64{ms, ms, 2 * ms, 20 * ms, 300 * ms, 2 * second, 50 * second}[w.IntN(7)]
		default:
			w.wake()
		}
		if err := w.collect(); err != nil {
			return err
		}
	}
	for idle, rounds := false, 0; !idle || len(w.parcels) > 0; rounds++ {
		if rounds == 20_000 {
			return fmt.Errorf("the owner never comes to an end: %+v", w.s.view(w.rules[0].Name))
		}
		for len(w.parcels) > 0 {
			p := w.parcels[0]
			w.parcels = w.parcels[1:]
			w.s.bring(p.Reservation, p.to)
		}
		if err := w.collect(); err != nil {
			return err
		}
		w.now += 10 * ms
		w.wake()
		if err := w.collect(); err != nil {
			return err
		}
		idle, _ = w.s.owner.Idle(w.s.clock())
		idle = idle || w.s.owner.Due() > w.s.clock()+hour // receipts keep it awake
	}
	widest := slices.MaxFunc(w.rules, func(a, b *limit.Rule) int { return cmp.Compare(a.Capacity, b.Capacity) }) // its tokens are worth one
	if got, most := w.left(widest), widest.Capacity-w.used(); got > most || !w.rough && got < max(most-w.doubt, 0) {
		return fmt.Errorf("%d of %d are left to another owner, and %d were admitted", got, widest.Capacity, w.used())
	}
	return nil
}

// vainSettings are limits by which walks go, and what a token of each of their plans is worth.
var vainSettings = map[string]struct {
	limit    limit.Limit
	plans    string
	worth    []int64
	inTokens bool
	busy     bool
}{
	"bucket": {
		limit: limit.Limit{Capacity: 100, Refill: limit.Refill{Tokens: 1, Per: 100 * time.Hour}, Holds: limit.Holds{Longest: 24 * time.Hour}},
		plans: "{a: {capacity: 5, refill: 1/1000h}, b: {capacity: 7}}", worth: []int64{1, 10, 1},
	},
	"bucket, in tokens": {
		limit: limit.Limit{Capacity: 100, Refill: limit.Refill{Tokens: 1, Per: 1000 * time.Hour}, Holds: limit.Holds{Longest: 24 * time.Hour}},
		plans: "{a: {capacity: 40, refill: 1/2000h}, b: {capacity: 7}}", worth: []int64{1, 1, 1}, inTokens: true,
	},
	"log": {
		limit: limit.Limit{Algorithm: limit.SlidingLog, Capacity: 20, Window: 48 * time.Hour},
		plans: "{a: {limit: 28}, b: {limit: 6}}", worth: []int64{1, 1, 1},
	},
	"log with holds": {
		limit: limit.Limit{Algorithm: limit.SlidingLog, Capacity: 20, Window: 48 * time.Hour, Holds: limit.Holds{Longest: 24 * time.Hour}},
		plans: "{a: {limit: 28}, b: {limit: 6}}", worth: []int64{1, 1, 1},
	},
	"fixed window": {
		limit: limit.Limit{Algorithm: limit.FixedWindow, Capacity: 20, Window: 240 * time.Hour, Holds: limit.Holds{Longest: 24 * time.Hour}},
		plans: "{a: {limit: 28}, b: {limit: 6}}", worth: []int64{1, 1, 1},
	},
	"sliding window": {
		limit: limit.Limit{Algorithm: limit.SlidingWindow, Capacity: 20, Window: 240 * time.Hour, Holds: limit.Holds{Longest: 24 * time.Hour}},
		plans: "{a: {limit: 28}, b: {limit: 6}}", worth: []int64{1, 1, 1},
	},
	"busy sliding window": {
		limit: limit.Limit{Algorithm: limit.SlidingWindow, Capacity: 200, Window: 10 * time.Minute}, // longer ones take nothing ahead
		plans: "{a: {limit: 140}, b: {limit: 60}}", worth: []int64{1, 1, 1}, busy: true,
	},
}

// TestModelOfVain holds that nothing is spent in vain.
func TestModelOfVain(t *testing.T) {
	n := *ledgerWalks / 5
	if testing.Short() || withRaceDetector {
		n /= 10
	}
	for name, set := range vainSettings {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			set.limit.Name = "l"
			rules := planned(t, set.limit, set.plans)
			had := 0
			for range n {
				seed := rand.Uint64()
				w := &vainWalk{
					troupe: newTroupe(t, 3), Rand: rand.New(rand.NewPCG(seed, 0)), rules: rules, worth: set.worth, rough: seed%2 == 0,
					asked: map[int]vainCheck{}, settles: map[int]func() error{},
				}
				z := w.enter('Z')
				z.quickAll()
				for i := range 6 {
					full := ruleFor(t, limit.Limit{Name: fmt.Sprint("full", i), Algorithm: limit.SlidingLog, Capacity: 10, Window: 1000 * time.Hour, Holds: limit.Holds{Longest: 24 * time.Hour}})
					z.admitted(z.check(10, full))
					w.denying = append(w.denying, full)
				}
				w.s = w.enter('A')
				w.inTokens = set.inTokens
				w.s.cfg.LedgersInTokens = func() bool { return w.inTokens }
				if set.busy {
					w.s.cfg.Busy = 1
				}
				if err := w.run(); err != nil {
					t.Fatalf("seed %d: %v\n%s", seed, err, strings.Join(w.story, "\n"))
				}
				had += len(w.had)
			}
			if had < n {
				t.Errorf("in %d walks %d checks were admitted: they show nothing", n, had)
			}
		})
	}
}
