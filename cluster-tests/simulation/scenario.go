package simulation

import (
	"fmt"
	"slices"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/actor/limit/limittest"
	"github.com/jeton-dev/jeton/ring"
)

// Lengths of time, in nanoseconds.
const (
	us     = int64(time.Microsecond)
	ms     = int64(time.Millisecond)
	second = int64(time.Second)
	minute = int64(time.Minute)
	hour   = int64(time.Hour)
)

// origin is the true time at which worlds begin: 2026, in nanoseconds since the Unix epoch.
const origin = int64(1767225600) * second

// maxWait is how long an owner may take for an answer.
const maxWait = 30 * second

// tolerance is εmax: how far a clock may be from the others'.
const tolerance = 250 * ms

// holderName is how the names of limits that take holds begin.
const holderName = "held-"

// What dice are thrown for.
const (
	forScenario uint64 = iota + 1
	forLetter
	forCall
	forFsync
	forJitter
	forProposal
	forNews
	forElection
	forStart
	forClocks
	forFault
	forVariant
	forHealing
	forMix
	forFlood
	forReceipt
	forRuin
	forCounting
	forWaiting
	forPlans
	forHolding
	forDefined
	forLeasing
)

// A scenario is everything that is drawn before a world begins: what it is like, what is asked of it, and what goes wrong.
// Parts of it can be taken away, and the rest still makes a world.
type scenario struct {
	seed       uint64
	duration   int64
	founders   int
	wanted     int // replicas: 3 or 5
	partitions int
	memory     []bool  // by slot: it keeps registers in memory
	homes      []int64 // by slot: how far its clock is ahead
	grain      int64   // of all clocks
	epsilon    int64   // no clock is farther off, but for faults
	rates      rates
	keys       []key // the last ones are invented
	invented   int   // how many are: only a flood asks for them
	room       int   // how many keys may be awake at a node; 0 for any number
	limits     []limits
	documents  []*limit.Document     // by version; none where no limit has plans or overrides
	leads      map[*limit.Rule]int64 // of those, the longest reach of all rules of the limit in the same version
	counting   int                   // how many of them count entries: those before the last ones
	holding    int                   // how many of them take holds: the last ones
	defined    []bool                // by limit: requests define it
	leased     []bool                // by limit: edges lease it
	edges      []int64               // by edge: how far its clock is ahead
	shelf      int                   // how many registers of those a node keeps; 0 for any number
	plain      []bool                // of those: checks of them are admitted too
	theme      theme
	stale      int64 // how many in a hundred callers go by an old table
	exact      bool  // nothing goes wrong, and callers go by the table: decisions are exact
	items      []item
	short      bool // it ends before faults do
}

// A key is one that is limited.
type key struct {
	name      string
	partition ring.Partition
	bare      bool // its callers want no receipts
}

// A limits is one limit in all its versions.
type limits struct {
	name   string
	rules  []*limit.Rule // by version of the document
	others []*limit.Rule // of plans and overrides, in any version
}

// all are the rules by which any check of the limit is decided.
func (l *limits) all() []*limit.Rule { return slices.Concat(l.rules, l.others) }

// ahead is how far ahead of now the limit may reach in any version.
func (l *limits) ahead() (most int64) {
	for _, r := range l.all() {
		most = max(most, r.Reach())
	}
	return most
}

// A kind says what an item is.
type kind uint8

const (
	asksFor      kind = iota // a call
	crashes                  // a process, for a while; value: how far its clock is off in the next life
	crashesMany              // the processes of mask at once
	flaps                    // a process: it crashes as soon as it decides, again and again for a while
	stops                    // a process, cleanly, for a while
	freezes                  // a process for a while
	suspends                 // a machine: its clock stands still too
	splits                   // the nodes of mask from the others; value 1: callers reach the others only
	splitsOneWay             // nothing comes from a node to those of mask
	isolates                 // a node from all others, but not from callers
	strands                  // isolates a node, and it hears nothing of what is agreed for as long again
	hides                    // a node from callers
	deafens                  // the nodes of mask: they hear nothing of what is agreed
	silences                 // what is agreed, for all
	jumps                    // a clock, by value, until the process starts again
	drifts                   // a clock, by value millionths
	loses                    // a disk
	copies                   // a disk, for later
	restores                 // a disk, from the copy that was made
	slows                    // a disk
	joins                    // the members change to those of mask
	rules                    // the limits are replaced by version value
	drives                   // a second driver of moves begins at a node
	floods                   // callers ask for every invented key
	fills                    // a disk is full for a while
	ruins                    // all members but those of mask, which are too few to agree, are lost permanently
	kinds
)

func (k kind) String() string {
	return [...]string{
		"call", "crash", "crash of many", "flapping", "clean stop", "freeze", "suspension", "split", "one-way split", "isolation", "stranding", "hiding", "deafness",
		"outage of agreement", "clock jump", "clock drift", "lost disk", "copy of a disk", "restored disk", "slow disk", "change of members",
		"change of limits", "second driver", "flood of invented keys", "full disk",
		"loss of a majority",
	}[k]
}

// An item is one thing that happens by plan.
type item struct {
	id    uint64 // never changes, whatever else is taken away
	at    int64  // after the beginning
	kind  kind
	slot  int
	last  int64 // for how long
	value int64
	mask  uint
	owner int  // instead of slot: the first replica of the key with this number, from 1 on
	wait  bool // a crash waits until something is on its way to the disk
	call  *wanted
}

// A wanted is a call as it is planned.
type wanted struct {
	what    wish
	order   order
	key     int
	limits  []int
	cost    int64
	wait    int64 // until its caller gives up
	delay   int64 // how much later than it comes it may begin
	plan    string
	silent  int64
	version int    // by which it defines the limits that requests define
	edge    int    // that is asked
	off     int64  // how far its clock is ahead from then on
	of      uint64 // the item whose receipts are given back, or whose hold is settled
	hold    int64  // for how long it holds its cost; of a settlement how long the hold is to last from then on; 0 for neither
	least   int64  // that it may hold; 0 for the cost
	open    bool   // the settlement does not end the hold
	share   int64  // how much it says was used, in hundredths of what was granted
}

// A rates is how often things fail by themselves, in millionths.
type rates struct {
	loss      int64 // of messages
	twice     int64 // messages that arrive twice
	slow      int64 // messages that take long
	late      int64 // messages that are late by a little, by lateBy
	told      int64 // messages that their sender takes for lost, and that were not
	agreement int64 // proposals
	fsync     int64 // fsyncs that take long
}

// What a caller asks for.
type wish uint8

const (
	checks wish = iota
	resets
	gives   // back, what a check was admitted for
	extends // the permit of a check
	settles // the hold of a check
	spends  // a check that an edge decides
	leases  // line, for an edge
	kills   // no node: an edge ends
	shifts  // the clock of an edge
)

// An order says which of a key's replicas a caller asks first.
type order uint8

const (
	byTable order = iota // as the table says
	byChance
	byRival  // callers are split by hand: half of them ask the second one
	byRivals // and here a third of them the second one, and a third the third one
)

// honest is how many keys are not invented.
func (s *scenario) honest() int { return len(s.keys) - s.invented }

// lines is how many of the limits spend a line, besides those that take holds.
func (s *scenario) lines() int { return len(s.limits) - s.counting - s.holding }

// bucket numbers the buckets.
func (s *scenario) bucket(key, limit int) int { return key*len(s.limits) + limit }

// bucketsOf are those of a partition.
func (s *scenario) bucketsOf(p ring.Partition) func(yield func(int) bool) {
	return func(yield func(int) bool) {
		for k := range s.keys {
			if s.keys[k].partition != p {
				continue
			}
			for l := range s.limits {
				if !yield(s.bucket(k, l)) {
					return
				}
			}
		}
	}
}

// limitOf is the limit whose buckets have registers of that name.
func (s *scenario) limitOf(register string) int {
	return slices.IndexFunc(s.limits, func(l limits) bool { return l.rules[0].Register() == register })
}

func (s *scenario) bucketName(key, limit int) string {
	if len(s.limits) == 1 {
		return s.keys[key].name
	}
	return s.keys[key].name + "/" + s.limits[limit].name
}

// newRule is a rule by one of all algorithms: the same one for all versions of a limit.
func newRule(name string, capacity, tokens, per int64) *limit.Rule {
	algorithms, sum := limit.Spending(), 0
	for _, c := range []byte(name) {
		sum += int(c)
	}
	return mustRule(limittest.Of(algorithms[sum%len(algorithms)], name, capacity, limit.Refill{Tokens: tokens, Per: time.Duration(per)}))
}

func mustRule(l limit.Limit) *limit.Rule {
	r, err := l.Rule()
	if err != nil {
		panic(fmt.Sprintf("simulation: a rule that cannot be: %v", err))
	}
	return r
}

// has says whether anything of that kind is planned.
func (s *scenario) has(kinds ...kind) bool {
	return slices.ContainsFunc(s.items, func(i item) bool {
		return slices.Contains(kinds, i.kind) || i.kind == crashes && i.value != 0 && slices.Contains(kinds, jumps)
	})
}
