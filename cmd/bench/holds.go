package bench

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/rpc/client"
	"github.com/jeton-dev/jeton/rpc/pb"
	"github.com/jeton-dev/jeton/storage"
)

// The limits that take holds. A bucket of short is neither full nor empty while it is measured: what a hold gives back of a full one
// costs nothing. Those of the others are kept in ledgers.
const (
	shortHolds  = "holds-short"
	windowHolds = "holds-month"
	slowHolds   = "holds-slow"

	holdLimitsText = `  holds-short: {capacity: 6000000000, refill: 10000000/s, hold: 1m}
  holds-month: {algorithm: fixed-window, limit: 900000000000000, per: month, hold: 1m}
  holds-slow: {capacity: 900000000000000, refill: 900000000000000/8760h, hold: 1m}
`
)

// holdCallers is how many callers take and settle holds at once.
const holdCallers = 200

// A holding is one load of holds.
type holding struct {
	what  string
	limit string
	cost  int64
	apart bool // each caller has a key of its own
	load  Load
}

// shortHoldings are the loads that have a target: a hold and its settlement cost at most so many checks.
func shortHoldings() []holding {
	return []holding{
		{what: "one key per caller", limit: shortHolds, cost: 50_000, apart: true, load: Load{Keys: One, Callers: holdCallers}},
		{what: "a hot key", limit: shortHolds, cost: 400, load: Load{Keys: One, Callers: holdCallers}},
		{what: "one caller", limit: shortHolds, cost: 5000, load: Load{Keys: One, Callers: 1}},
	}
}

// durableHoldings are those of limits that keep holds in ledgers.
func durableHoldings() []holding {
	var all []holding
	for _, of := range []struct{ limit, what string }{{windowHolds, "a month"}, {slowHolds, "a slow bucket"}} {
		all = append(all,
			holding{what: of.what + ", one key", limit: of.limit, cost: 100, load: Load{Keys: One, Callers: holdCallers}},
			holding{what: of.what + ", 10,000 keys", limit: of.limit, cost: 100, load: Load{Keys: Uniform, KeyCount: 10_000, Callers: holdCallers}},
		)
	}
	return all
}

// holdTurns is how often checks and holds take turns in a round: this machine's speed changes from second to second.
const holdTurns = 5

// holdTarget is how many checks a hold and its settlement may cost together.
const holdTarget = 2.2

// holdModes are the goals of some loads of holds, with an fsync before every answer: how many checks a hold and its settlement cost, by
// their rate and by processor time, and how many there are in a second. Loads of many callers have a target, if there is one.
func holdModes(holdings []holding, target float64) []mode {
	var goals []goal
	for _, h := range holdings {
		cost := goal{unit: "×", what: h.what}
		if target > 0 && h.load.Callers > 1 {
			cost.bound, cost.value = atMost, target
		}
		goals = append(goals, cost, goal{unit: "×", what: h.what + ", by processor time"}, goal{unit: "/s", what: h.what + ", holds and settlements"})
	}
	return []mode{{storage.Fsync, goals}}
}

// holdCosts compares holds that are settled with checks of the same buckets, on so many nodes.
func holdCosts(nodes int, holdings []holding) func(context.Context, *Tabling, storage.Durability) ([]Spread[float64], error) {
	return func(ctx context.Context, t *Tabling, d storage.Durability) (spreads []Spread[float64], err error) {
		folder, remove, err := t.folder()
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, remove()) }()
		started, err := t.startNodes(ctx, folder, nodes, d)
		if err != nil {
			return nil, err
		}
		run := started.children()
		defer run.stop()
		c, err := client.New(client.Config{Servers: started.servers(), Timeout: patience})
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, c.Close()) }()
		for _, h := range holdings {
			h.load.Duration, h.load.Warmup = t.duration()/(2*holdTurns), t.duration()/(8*holdTurns)
			h.load.Limit = limit.Named(h.limit)
			if err := h.load.check(); err != nil {
				return nil, err
			}
			costs, err := t.holdCost(ctx, h, c, run)
			if err != nil {
				return nil, err
			}
			spreads = append(spreads, costs...)
		}
		return spreads, nil
	}
}

// holdCost measures one load, round by round: checks, and holds that are settled. They take turns.
func (t *Tabling) holdCost(ctx context.Context, h holding, c *client.Client, run children) ([]Spread[float64], error) {
	sideOf := func(name string, settles bool) *side {
		return &side{name: name, service: service{cpu: run.cpu, caller: func(n int) caller { return newHoldCaller(c, h, n, settles) }}}
	}
	sides := [2]*side{sideOf("checks", false), sideOf("holds", true)}
	var costs, byCPU, rates []float64
	for round := range 2*t.rounds() + 1 {
		var sums [2]turns
		for turn := range 2 * holdTurns {
			which := (turn + turn/2 + round) % 2 // one after the other, then the other way round
			r, err := sides[which].measure(ctx, h.load)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", h.what, err)
			}
			sums[which].add(&r)
		}
		check, hold := &sums[0], &sums[1]
		cost, cpu := check.rate()/hold.rate(), hold.cpuEach()/check.cpuEach()
		t.say("%s: %s checks/s, %s holds and settlements/s, %.2f ×, by processor time %.2f ×", h.what, count(check.rate()), count(hold.rate()), cost, cpu)
		if round > 0 { // the first one was the warm-up
			costs, byCPU, rates = append(costs, cost), append(byCPU, cpu), append(rates, hold.rate())
		}
	}
	return []Spread[float64]{spreadOf(costs), spreadOf(byCPU), spreadOf(rates)}, nil
}

// turns are what a side did in its turns of a round.
type turns struct {
	checks       int64
	elapsed, cpu time.Duration
}

func (s *turns) add(r *Report) {
	s.checks += r.Checks
	s.elapsed += r.Elapsed
	s.cpu += r.GeneratorCPU + r.ServiceCPU
}

// rate is how many checks there were in a second.
func (s *turns) rate() float64 { return float64(s.checks) / s.elapsed.Seconds() }

// cpuEach is the processor time of each, in seconds.
func (s *turns) cpuEach() float64 { return s.cpu.Seconds() / float64(s.checks) }

// A holdCaller makes one check after another, or takes one hold after another and settles each.
type holdCaller struct {
	limiter limit.Limiter
	request limit.Request
	key     string // its own; empty for those that it is given
	turn    int
}

func newHoldCaller(c limit.Limiter, h holding, number int, settles bool) caller {
	caller := &holdCaller{limiter: c, request: limit.Request{Limits: []limit.Ref{h.load.Limit}, Cost: h.cost}}
	if settles {
		caller.request.Hold = time.Minute
	}
	if h.apart {
		caller.key = "caller-" + strconv.Itoa(number)
	}
	return caller
}

func (c *holdCaller) call(ctx context.Context, keys []string, t *tally) bool {
	if c.request.Key = c.key; c.key == "" {
		c.request.Key = keys[0]
	}
	d, err := c.limiter.Check(ctx, c.request)
	if err == nil && d.Hold != nil {
		err = c.settle(ctx, d.Hold)
	}
	if err != nil {
		return t.failedCall(ctx, pb.EncodeError(err).Err(), 1)
	}
	t.decided(d.Allowed)
	return true
}

// settle says that half as much was used as the hold has taken, and at the next one half as much more. That is what it is charged, unless the
// owner was so slow that another one has settled it, which knows nothing of the hold.
func (c *holdCaller) settle(ctx context.Context, h *limit.Hold) error {
	used := h.Granted / 2
	if c.turn++; c.turn%2 == 0 {
		used += h.Granted
	}
	s, err := c.limiter.Settle(ctx, limit.Settlement{Hold: *h, Used: used})
	if err == nil && s.Charged != used && s.Limits[0].State != limit.HoldLost {
		err = fmt.Errorf("a settlement charged %d where %d were used: %+v", s.Charged, used, s.Limits[0])
	}
	return err
}
