package nemesis

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cluster-tests/history"
	"github.com/jeton-dev/jeton/rpc/client"
)

// deadline is how long a caller waits for the decision of a check.
const deadline = 500 * time.Millisecond

// usualResets is how many buckets are reset per second while no fault changes that.
const usualResets = 2

// traffic asks for checks at a steady rate, whether or not the earlier ones have been answered, gives some of what was
// admitted back, and resets buckets.
type traffic struct {
	perSecond, keys int
	callers         []caller
	operator        *client.Client // resets
	ledger          *ledger
	random          *rand.Rand // of the goroutine that runs
	resets          atomic.Int64

	began time.Time
	stop  context.CancelFunc
	done  chan struct{}
	calls sync.WaitGroup
	turns []int // how many checks each stream has had

	stalls       int             // how often the load itself was held up for longer than stalled
	longestStall time.Duration   // by the machine
	faults       []history.Fault // where that was a fault that nobody has drawn; all of these may be read once it has ended
}

// stalled is how late the load may be before it counts as held up: it looks at the clock every millisecond.
const stalled = 100 * time.Millisecond

// stoodStill is how late it must be for what nodes take for a fault: callers and nodes give a node up that is silent for so long.
const stoodStill = 500 * time.Millisecond

// all are the streams with those of the limits that are changed.
func all() []stream { return slices.Concat(streams, changing) }

// start begins to ask.
func (tr *traffic) start() {
	ctx, cancel := context.WithCancel(context.Background())
	tr.stop, tr.done, tr.began = cancel, make(chan struct{}), time.Now()
	tr.resets.Store(usualResets)
	go tr.run(ctx)
}

// end stops asking, and waits for what is under way.
func (tr *traffic) end() {
	tr.stop()
	<-tr.done
	tr.calls.Wait()
}

func (tr *traffic) run(ctx context.Context) {
	defer close(tr.done)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	deck := all()
	tr.turns = make([]int, len(deck))
	last, resets := time.Duration(0), 0.0
	for n := 0; ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		elapsed := time.Since(tr.began)
		for due := int(elapsed.Seconds() * float64(tr.perSecond)); n < due; n++ {
			tr.next(deck, elapsed)
		}
		if late := elapsed - last; late > stalled {
			tr.stalls++
			tr.longestStall = max(tr.longestStall, late)
			if late > stoodStill {
				tr.faults = append(tr.faults, history.Fault{Start: tr.began.Add(last).UnixNano(), End: time.Now().UnixNano(), What: "the machine stands still"})
			}
		}
		resets += (elapsed - last).Seconds() * float64(tr.resets.Load())
		last = elapsed
		for ; resets >= 1; resets-- {
			tr.reset(deck)
		}
	}
}

// next makes one check of one stream.
func (tr *traffic) next(deck []stream, elapsed time.Duration) {
	at := tr.random.Float64()
	i := 0
	for ; i < len(deck)-1 && at >= deck[i].share; i++ {
		at -= deck[i].share
	}
	s := &deck[i]
	n := tr.turns[i]
	tr.turns[i]++
	key := s.key(tr.random, n, tr.keys, elapsed)
	cost := 1 + tr.random.Int64N(s.cost)
	returned := tr.random.Float64() < s.returns
	after := time.Duration(tr.random.Int64N(int64(300 * time.Millisecond)))
	extensions := 0
	if s.wait > 0 {
		after *= 10 // some leave before they could begin
	}
	if s.permits {
		after, extensions = time.Duration(tr.random.Int64N(int64(longestStay))), max(0, tr.random.IntN(4)-1)
	}
	c := &tr.callers[tr.random.IntN(len(tr.callers))]
	for !s.askedBy(c, returned) {
		c = &tr.callers[tr.random.IntN(len(tr.callers))]
	}
	if s.holds > 0 {
		u := tr.use(s)
		tr.calls.Go(func() { tr.holdOne(c, s, key, cost, u) })
		return
	}
	tr.calls.Go(func() {
		receipts := tr.check(c, s, key, cost, deadline)
		for inside := len(receipts) > 0; inside && extensions > 0; extensions-- {
			pause(context.Background(), after) //nolint:errcheck // it cannot be interrupted
			receipts, inside = tr.extend(c, key, receipts[0])
		}
		if returned && len(receipts) > 0 {
			pause(context.Background(), after) //nolint:errcheck // it cannot be interrupted
			tr.giveBack(c, key, receipts)
		}
	})
}

// check makes a check, and tells the ledger what came of it.
func (tr *traffic) check(c *caller, s *stream, key string, cost int64, within time.Duration) []limit.Receipt {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	r := limit.Request{Key: key, Cost: cost, Look: cost == 0, Receipt: !c.plain, Plan: s.plan}
	if cost > 0 {
		r.Wait = s.wait
	}
	for _, l := range s.rules {
		r.Limits = append(r.Limits, limit.Named(l.name))
	}
	began := time.Now()
	d, err := c.Check(ctx, r)
	tr.ledger.check(c, &r, began, time.Since(began), d, err)
	return d.Receipts
}

// longestStay is how long a caller stays inside at most before it extends its permit, or leaves. It is more than half a lease, so that
// some come too late where a call fails.
const longestStay = 2 * time.Second

// extend makes a permit last its lease from now on. A caller who hears nothing takes it for what it was.
func (tr *traffic) extend(c *caller, key string, permit limit.Receipt) (receipts []limit.Receipt, inside bool) {
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	began := time.Now()
	d, err := c.Check(ctx, limit.Request{Key: key, Limits: []limit.Ref{limit.Named(permit.Limit)}, Extend: permit.Serial, Receipt: true})
	tr.ledger.extended(c, key, permit, began, time.Since(began), d, err)
	switch {
	case err != nil:
		return []limit.Receipt{permit}, true
	case !d.Allowed:
		return nil, false
	}
	return d.Receipts, true
}

// A held is an admission that can be given back.
type held struct {
	caller   *caller
	key      string
	receipts []limit.Receipt
}

// hold makes n checks of a stream, one for each of its keys in turn, and keeps the receipts of those that are admitted.
func (tr *traffic) hold(s *stream, n int) (all []held) {
	c := tr.prober(s)
	for i := range n {
		key := s.name(i % s.keyCount(tr.keys, 0))
		if receipts := tr.check(c, s, key, 1, deadline); len(receipts) > 0 {
			all = append(all, held{c, key, receipts})
		}
	}
	return all
}

// giveBack returns what was admitted.
func (tr *traffic) giveBack(c *caller, key string, receipts []limit.Receipt) {
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	began := time.Now()
	taken, err := c.rpc.Return(ctx, key, receipts)
	tr.ledger.returned(c, key, receipts, began, time.Since(began), taken, err)
}

// settleTries is how often a caller tells what it used, before it gives up.
const settleTries = 6

// A use is what a caller makes of a hold that it may get.
type use struct {
	stays time.Duration // until it settles, and half as long until it says what it has used so far
	used  float64       // of what it was granted
	parts bool          // it says so
	dies  bool          // it never settles
}

// use draws one. Some settle when their hold has expired.
func (tr *traffic) use(s *stream) use {
	return use{
		stays: time.Duration(tr.random.Int64N(int64(s.holds * 5 / 4))), used: 0.5 + tr.random.Float64(),
		parts: tr.random.IntN(3) == 0, dies: tr.random.IntN(8) == 0,
	}
}

// holdOne takes a hold of a stream, and settles what it uses of it.
func (tr *traffic) holdOne(c *caller, s *stream, key string, estimate int64, u use) {
	r := limit.Request{Key: key, Cost: estimate, Hold: s.holds, Least: (estimate + 1) / 2}
	for _, l := range s.rules {
		r.Limits = append(r.Limits, limit.Named(l.name))
	}
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	began := time.Now()
	d, err := c.rpc.Check(ctx, r)
	cancel()
	tr.ledger.held(c, &r, began, time.Since(began), d, err)
	if err != nil || !d.Allowed {
		return
	}
	h := *d.Hold
	tr.ledger.holds.took(&h)
	defer tr.ledger.holds.over(&h)
	if u.dies {
		pause(context.Background(), s.holds) //nolint:errcheck // it cannot be interrupted
		tr.ledger.holds.count("never settled")
		return
	}
	used := int64(u.used * float64(h.Granted))
	if u.parts {
		pause(context.Background(), u.stays/2) //nolint:errcheck // it cannot be interrupted
		tr.settle(c, limit.Settlement{Hold: h, Used: used / 2, Open: true, For: s.holds})
	}
	pause(context.Background(), u.stays) //nolint:errcheck // it cannot be interrupted
	for range settleTries {
		if tr.settle(c, limit.Settlement{Hold: h, Used: used}) {
			return
		}
		pause(context.Background(), deadline) //nolint:errcheck // it cannot be interrupted
	}
	tr.ledger.holds.count("given up")
}

// settle tells what was used of a hold, and says whether that was answered.
func (tr *traffic) settle(c *caller, one limit.Settlement) bool {
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	began := time.Now()
	settled, err := c.rpc.Settle(ctx, one)
	tr.ledger.settled(c, &one, began, time.Since(began), settled, err)
	return err == nil || errors.Is(err, limit.ErrUnknownHold)
}

// reset fills up one of the buckets that are reset.
func (tr *traffic) reset(deck []stream) {
	var chosen []*stream
	for i := range deck {
		if deck[i].resets {
			chosen = append(chosen, &deck[i])
		}
	}
	s := chosen[tr.random.IntN(len(chosen))]
	key := s.name(tr.random.IntN(s.keyCount(tr.keys, 0)))
	tr.calls.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), deadline)
		defer cancel()
		began := time.Now()
		err := tr.operator.Reset(ctx, key, limit.Named(s.rules[0].name))
		tr.ledger.reset(s.rules[0].name, key, began, time.Since(began), err)
	})
}

// prober is a caller whose checks of a stream are as good as any.
func (tr *traffic) prober(s *stream) *caller {
	for i := range tr.callers {
		if c := &tr.callers[i]; s.askedBy(c, true) {
			return c
		}
	}
	return nil
}

// killing says that a node is about to be killed: how long the checks of the next second take is kept by itself.
func (tr *traffic) killing() { tr.ledger.mark(time.Now()) }

// A bucketName is one of those that have been asked for.
type bucketName struct {
	stream *stream
	key    string
}

// asked are the keys of all streams that have been asked for. The traffic must have ended.
func (tr *traffic) asked() (names []bucketName) {
	elapsed := time.Since(tr.began)
	deck := all()
	for i := range deck {
		for k := range deck[i].keyCount(tr.keys, elapsed) {
			names = append(names, bucketName{&deck[i], deck[i].name(k)})
		}
	}
	return names
}

// String is a line about the load.
func (tr *traffic) String() string {
	return fmt.Sprintf("%d checks a second over %d keys, from %d callers", tr.perSecond, tr.keys, len(tr.callers))
}
