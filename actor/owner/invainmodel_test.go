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

// A vainWalk is a random walk of an owner, or of two, of a limit that counts entries, whose checks go by several plans, and some beside another limit that
// denies them. They are admitted, held, settled and returned, and holds expire. In the end, what is stored is what was admitted, and nothing else: nothing that was
// written in vain, and nothing that came back. In every other walk, messages are lost and overtake one another, and some callers do not wait long enough: then more
// may count, of writes that the owner has not heard of, but never less. Nor does less where there are two owners.
//
// Hardly anything comes back by itself while a walk lasts, so what counts can be added up.
type vainWalk struct {
	*troupe
	*rand.Rand
	owners   []*stage
	rules    []*limit.Rule // the plans; those of others cost more or less of the first one
	denying  []*limit.Rule
	worth    []int64 // of a token by each rule, in tokens of the first one
	frees    bool    // holds that expire come back
	rough    bool    // messages are lost and overtake one another, and some callers do not wait long enough
	inTokens bool    // ledgers are: so replicas keep whole ones, and each settlement, and each hold that comes back, may cost a part of one
	doubt    int64   // how many these may be
	asked    map[int]vainCheck
	had      []*vainCheck
	settles  map[int]func(owner.Reply) error
	parcels  []vainParcel
	sent     []int // by owner
	seen     []int
	story    []string
}

// A vainParcel is a message to a replica.
type vainParcel struct {
	register.Reservation
	by *stage
	to int
}

// A vainCheck is what a check has asked for, and then what it has: worth tokens of the first rule's.
type vainCheck struct {
	at      *stage
	rule    int
	cost    int64
	holds   bool
	denied  bool // it goes by a limit that has nothing left
	late    bool // it may end without a decision
	receipt limit.Receipt
	hold    *limit.Hold
	until   int64 // when the hold expires
	over    bool  // it was returned or settled
	counts  int64
}

func (w *vainWalk) say(format string, args ...any) {
	w.story = append(w.story, fmt.Sprintf("%12v ", time.Duration(w.now-start))+fmt.Sprintf(format, args...))
}

// used is what counts, in tokens of the first rule.
func (w *vainWalk) used() (sum int64) {
	for _, c := range w.had {
		if expired := w.frees && c.holds && !c.over && w.now >= c.until; !expired {
			sum += c.counts
		}
	}
	return sum
}

// exact says whether nothing may count that no check was given.
func (w *vainWalk) exact() bool { return !w.rough && len(w.owners) == 1 }

func (w *vainWalk) anOwner() *stage { return w.owners[w.IntN(len(w.owners))] }

// ask asks for tokens by one of the rules.
func (w *vainWalk) ask() {
	s := w.anOwner()
	c := vainCheck{at: s, rule: w.IntN(len(w.rules)), cost: w.Int64N(5), denied: w.IntN(3) == 0, late: w.rough && w.IntN(4) == 0}
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
	check := owner.Check{Tag: tag, At: s.clock(), Deadline: s.clock() + patience, Rules: rules, Cost: c.cost, Receipts: true}
	if c.holds = w.rules[0].Holds.Longest > 0 && c.cost > 0 && w.IntN(2) == 0; c.holds {
		check.Hold, check.Receipts = 20*hour, false
		if w.frees {
			check.Hold, c.late = []int64{second, 3 * second, 20 * hour}[w.IntN(3)], true // nothing is held for no time
		}
		c.until = w.now + check.Hold
	}
	w.asked[tag] = c
	w.say("check %d: %d of %d, holds %v, denied %v, late %v", tag, c.cost, w.rules[c.rule].Capacity, c.holds, c.denied, c.late)
	s.owner.Check(check, &s.out)
	s.after()
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
		s, used := w.anOwner(), w.Int64N(c.cost+1)
		tag, all := w.tag(), []owner.Settle{{Rule: w.rules[c.rule], Held: c.hold.Limits[0], Granted: c.cost, Used: used}}
		w.say("settlement %d: %d of %d", tag, used, c.cost)
		if w.inTokens {
			w.doubt++
		}
		if c.counts = used * w.worth[c.rule]; w.frees { // for others, that may have an effect before it is answered
			c.counts = 0
		}
		w.settles[tag] = func(r owner.Reply) error {
			got := all[0].Settled
			switch {
			case r.Err != nil && !w.exact():
				return nil
			case r.Err != nil:
				return r.Err
			case got.State != limit.HoldSettled, !w.frees && got.Charged != used:
				return fmt.Errorf("%+v", got)
			}
			c.counts = got.Charged * w.worth[c.rule]
			return nil
		}
		s.owner.Settle(tag, all, s.clock(), s.clock()+1000*hour, &s.out)
		s.after()
	case w.rules[0].TakesReceipts():
		if c.at.owner.Return(c.receipt, c.at.clock(), &c.at.out) {
			w.say("%d come back", c.cost)
			c.over, c.counts = true, 0
		}
		c.at.after()
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
		p.by.bring(p.Reservation, p.to)
	case w.IntN(2) == 0: // its answer is lost
		p.Now = p.by.clock()
		w.replicas[p.to].reserve(p.Reservation, w.now, w.bounds)
	}
}

func (w *vainWalk) wake(s *stage) {
	if s.owner.Due() <= s.clock() {
		s.owner.Wake(s.clock(), &s.out)
		s.after()
	}
}

// collect takes up what the owners have sent and answered.
func (w *vainWalk) collect() error {
	for o, s := range w.owners {
		for ; w.sent[o] < len(s.post); w.sent[o]++ {
			for i := range w.replicas {
				w.parcels = append(w.parcels, vainParcel{s.post[w.sent[o]], s, i})
			}
		}
		for ; w.seen[o] < len(s.answers); w.seen[o]++ {
			r := s.answers[w.seen[o]]
			tag, _ := r.Tag.(int)
			answered := w.settles[tag]
			if answered == nil {
				answered = func(r owner.Reply) error { return w.answered(tag, r) }
			}
			if err := answered(r); err != nil {
				return fmt.Errorf("number %d: %w", tag, err)
			}
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
		if c.hold = r.Decision.Hold; w.inTokens && w.frees {
			w.doubt++
		}
	default:
		c.receipt = r.Decision.Receipts[0]
	}
	c.counts = c.cost * w.worth[c.rule]
	w.had = append(w.had, &c)
	most := w.rules[c.rule].Capacity * w.worth[c.rule]
	if len(w.owners) > 1 { // the other one may have given more meanwhile by another plan
		most = w.widest().Capacity
	}
	if w.used() > most {
		return fmt.Errorf("%d are admitted of %d", w.used(), most)
	}
	return nil
}

// widest is the largest plan. Its tokens are worth one.
func (w *vainWalk) widest() *limit.Rule {
	return slices.MaxFunc(w.rules, func(a, b *limit.Rule) int { return cmp.Compare(a.Capacity, b.Capacity) })
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
			w.wake(w.anOwner())
		}
		if err := w.collect(); err != nil {
			return err
		}
	}
	for quiet, rounds := false, 0; !quiet || len(w.parcels) > 0; rounds++ {
		if rounds == 20_000 {
			return fmt.Errorf("the owners never come to an end: %+v", w.owners[0].view(w.rules[0].Name))
		}
		for len(w.parcels) > 0 {
			p := w.parcels[0]
			w.parcels = w.parcels[1:]
			p.by.bring(p.Reservation, p.to)
			if err := w.collect(); err != nil {
				return err
			}
		}
		w.now += 10 * ms
		quiet = true
		for _, s := range w.owners {
			w.wake(s)
			idle, _ := s.owner.Idle(s.clock())
			quiet = quiet && (idle || s.owner.Waiting() == 0 && s.owner.Due() > s.clock()+hour) // receipts keep it awake
		}
		if err := w.collect(); err != nil {
			return err
		}
	}
	w.now += 4 * second                          // holds that others have taken have expired
	most := max(w.widest().Capacity-w.used(), 0) // what a settlement charges of a hold that has come back may be debt
	if got := w.left(w.widest()); got > most || w.exact() && got < max(most-w.doubt, 0) {
		return fmt.Errorf("%d of %d are left to another owner, and %d were admitted", got, w.widest().Capacity, w.used())
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
	n := *ledgerWalks / 10
	if testing.Short() || withRaceDetector {
		n /= 10
	}
	for name, set := range vainSettings {
		for _, frees := range []bool{false, true} {
			if frees && set.limit.Holds.Longest == 0 {
				continue
			}
			t.Run(fmt.Sprintf("%s, holds come back %v", name, frees), func(t *testing.T) {
				t.Parallel()
				l := set.limit
				if l.Name = "l"; frees {
					l.Holds.OnExpiry = limit.Free
				}
				rules, had := planned(t, l, set.plans), 0
				for range n {
					seed := rand.Uint64()
					w := newVainWalk(t, seed, rules)
					w.worth, w.frees, w.inTokens = set.worth, frees, set.inTokens
					for _, s := range w.owners {
						s.cfg.LedgersInTokens = func() bool { return set.inTokens }
						if set.busy {
							s.cfg.Busy = 1
						}
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
}

// newVainWalk is one that is drawn from the seed, before its first step.
func newVainWalk(t *testing.T, seed uint64, rules []*limit.Rule) *vainWalk {
	t.Helper()
	w := &vainWalk{
		troupe: newTroupe(t, 3), Rand: rand.New(rand.NewPCG(seed, 0)), rules: rules, rough: seed%2 == 0,
		asked: map[int]vainCheck{}, settles: map[int]func(owner.Reply) error{}, sent: make([]int, 2), seen: make([]int, 2),
	}
	z := w.enter('Z')
	z.quickAll()
	for i := range 6 {
		full := ruleFor(t, limit.Limit{Name: fmt.Sprint("full", i), Algorithm: limit.SlidingLog, Capacity: 10, Window: 1000 * time.Hour, Holds: limit.Holds{Longest: 24 * time.Hour}})
		z.admitted(z.check(10, full))
		w.denying = append(w.denying, full)
	}
	for i := range 1 + seed/2%2 {
		w.owners = append(w.owners, w.enter('A'+byte(i)))
	}
	return w
}
