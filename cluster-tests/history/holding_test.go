package history_test

import (
	"cmp"
	"container/heap"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/jeton-dev/jeton/cluster-tests/history"
)

// A holder is the reference for limits that take holds: every key has a list of what was taken, in one place that never fails.
type holder struct {
	scene
	random *rand.Rand
	queue  queue
	keys   map[string]*heldBy
	names  int
	seen   history.History
}

type heldBy struct {
	skew int64
	all  []*heldPart
}

// A heldPart is what a check or a hold has taken, by the clock of the limiter.
type heldPart struct {
	id           string // of a hold
	at, until    int64
	amount, used int64
	final        bool
	beyond       int64 // of used, what was charged to a later window
}

// hold is the history of a scene whose limit takes holds.
func (s scene) hold() *history.History {
	l := &holder{scene: s, random: rand.New(rand.NewPCG(s.seed, 1)), keys: map[string]*heldBy{}}
	l.seen.Limits = slices.Clone(s.limits)
	at := epoch
	for i := range s.checks {
		at += l.random.Int64N(2 * s.every)
		c := history.Call{
			Kind: history.KindCheck, Limit: s.limits[0].Name, Key: fmt.Sprint("key:", l.random.IntN(s.keys)), Cost: 1 + l.random.Int64N(s.most),
			Via: fmt.Sprint("caller ", i%7),
		}
		if l.random.Float64() < s.holds {
			c.Kind, c.Hold = history.KindHold, &history.Hold{For: s.lasts}
		}
		l.ask(at, c)
		if l.random.Float64() < s.resets {
			l.ask(at, history.Call{Kind: history.KindReset, Limit: c.Limit, Key: c.Key})
		}
	}
	for l.queue.Len() > 0 {
		l.decide(heap.Pop(&l.queue).(step))
	}
	slices.SortStableFunc(l.seen.Calls, func(a, b history.Call) int { return cmp.Compare(a.End, b.End) })
	return &l.seen
}

func (l *holder) ask(start int64, c history.Call) {
	at := start + l.random.Int64N(l.takes+1)
	c.Start, c.End = start, at+l.random.Int64N(l.takes+1)
	heap.Push(&l.queue, step{at: at, call: c})
}

func (l *holder) decide(s step) {
	k := l.keys[s.call.Key]
	if k == nil {
		k = &heldBy{skew: l.random.Int64N(2*l.epsilon+1) - l.epsilon}
		l.keys[s.call.Key] = k
	}
	lost := l.random.Float64() < l.failures
	c := s.call
	if c.Hold != nil {
		own := *c.Hold
		c.Hold = &own
	}
	if now := s.at + k.skew; !lost || l.random.IntN(2) == 0 { // it may have failed, and happened all the same
		switch c.Kind {
		case history.KindSettle:
			l.settle(k, now, &c)
		case history.KindReset:
			k.all, c.Outcome = nil, history.Done
		case history.KindCheck, history.KindHold, history.KindReturn, history.KindExtend:
			l.take(k, now, &c)
		}
	}
	taken := c.Hold
	switch {
	case lost:
		c.Outcome, c.Error = history.Failed, "deadline exceeded"
		if c.Kind == history.KindHold {
			c.Hold = nil
		} else if c.Hold != nil {
			c.Hold.State, c.Hold.Charged = "", 0
		}
	case c.Outcome == history.Denied:
		c.Hold = nil
	}
	l.seen.Calls = append(l.seen.Calls, c)
	if c.Kind == history.KindHold && c.Outcome == history.Admitted {
		l.follow(c, taken.ID)
	}
}

// follow is what a caller does with its hold: it settles it, in parts and repeatedly, late, or never.
func (l *holder) follow(c history.Call, id string) {
	if l.random.IntN(5) == 0 {
		return
	}
	at := c.End + l.random.Int64N(l.lasts*3/2)
	used := l.random.Int64N(2 * c.Cost)
	next := history.Call{Kind: history.KindSettle, Limit: c.Limit, Key: c.Key, Cost: used}
	if l.random.IntN(3) == 0 {
		open := next
		open.Cost, open.Hold = used/2, &history.Hold{ID: id, Open: true, For: l.lasts}
		l.ask(c.End+l.random.Int64N(at-c.End+1), open)
	}
	for range 1 + l.random.IntN(2) {
		one := next
		one.Hold = &history.Hold{ID: id}
		l.ask(at, one)
		at += l.random.Int64N(l.lasts)
	}
}

func (l *holder) take(k *heldBy, now int64, c *history.Call) {
	if l.counted(k, now)+c.Cost > l.limits[0].Capacity {
		c.Outcome = history.Denied
		return
	}
	c.Outcome = history.Admitted
	part := &heldPart{at: now, amount: c.Cost}
	if c.Hold != nil {
		l.names++
		part.id = fmt.Sprint("h", l.names)
		c.Hold.ID, part.until = part.id, now+c.Hold.For
	}
	k.all = append(k.all, part)
}

func (l *holder) settle(k *heldBy, now int64, c *history.Call) {
	c.Outcome = history.Done
	i := slices.IndexFunc(k.all, func(p *heldPart) bool { return p.id == c.Hold.ID })
	if i < 0 {
		c.Hold.State = history.Unknown
		return
	}
	p := k.all[i]
	if taken := l.taken(p, now); !p.final {
		used := c.Cost
		if c.Hold.Open {
			used = max(used, p.used)
		}
		if used > taken {
			used = max(taken, min(used, taken+l.limits[0].Capacity-l.counted(k, now)+l.limits[0].Debt))
			if l.later { // what is beyond the hold
				k.all = append(k.all, &heldPart{at: now, amount: used - taken})
				p.beyond += used - taken
			}
		}
		p.used, p.final = used, !c.Hold.Open
		if c.Hold.Open && now < p.until {
			p.until = max(p.until, now+c.Hold.For)
		}
	}
	c.Hold.Charged = l.taken(p, now)
	switch {
	case p.final:
		c.Hold.State = history.Settled
	case now >= p.until:
		c.Hold.State = history.Expired
	default:
		c.Hold.State = history.Open
	}
}

// taken is what a part takes now.
func (l *holder) taken(p *heldPart, now int64) int64 {
	switch {
	case p.id == "":
		return p.amount
	case p.final, l.limits[0].Holds == history.Free && now >= p.until:
		return p.used
	}
	return max(p.amount, p.used)
}

// counted is how much counts now, of a bucket as if every hold had taken from the beginning what it takes now.
func (l *holder) counted(k *heldBy, now int64) (sum int64) {
	limit, at := &l.limits[0], int64(0)
	scaled := int64(0) // tokens times nanoseconds, of a bucket
	for _, p := range k.all {
		switch taken := l.taken(p, now) - p.beyond; limit.Algorithm {
		case history.TokenBucket:
			scaled = max(0, scaled-(p.at-at)*limit.Tokens) + taken*limit.PerNS
			at = p.at
		case history.FixedWindow:
			if p.at >= now-now%limit.Length {
				sum += taken
			}
		default:
			if now < p.at+limit.Length {
				sum += taken
			}
		}
	}
	if limit.Algorithm == history.TokenBucket {
		scaled = max(0, scaled-(now-at)*limit.Tokens)
		return (scaled + limit.PerNS - 1) / limit.PerNS
	}
	return sum
}

func isHeld(c *history.Call) bool { return c.Kind == history.KindHold && c.Outcome == history.Admitted }

func isSettled(c *history.Call) bool {
	return c.Kind == history.KindSettle && c.Outcome == history.Done && c.Hold.State == history.Settled && !c.Hold.Open
}

func isOpen(c *history.Call) bool {
	return c.Kind == history.KindSettle && c.Outcome == history.Done && c.Hold.State == history.Open
}

// oneHoldMore adds holds of a token in the place of another one, until the checker finds one too many.
func oneHoldMore(checker string) func(*history.History) bool {
	return func(h *history.History) bool {
		for i := range slices.Backward(h.Calls) {
			if !isHeld(&h.Calls[i]) {
				continue
			}
			n := len(h.Calls)
			for more := range 40 {
				c := h.Calls[i]
				c.Cost, c.Hold = 1, &history.Hold{ID: fmt.Sprint("more-", more), For: c.Hold.For}
				h.Calls = append(h.Calls, c)
				if results, err := history.Run(h, millisecond, checker); err != nil || results[0].Found > 0 {
					return err == nil
				}
			}
			h.Calls = h.Calls[:n]
		}
		return false
	}
}

// again is a settlement that repeats an earlier one.
func again(change func(*history.Call)) func(*history.History) bool {
	return func(h *history.History) bool {
		ended := map[string]int64{}
		for i := range h.Calls {
			c := &h.Calls[i]
			if !isSettled(c) {
				continue
			}
			if at, ok := ended[c.Hold.ID]; ok && at < c.Start && c.Hold.Charged > 0 {
				change(c)
				return true
			}
			ended[c.Hold.ID] = c.End
		}
		return false
	}
}

// holding are histories of a limit of 20 that takes holds, asked for more than it admits.
func holding(one history.Limit, expiry string) scene {
	one.Name, one.Capacity, one.Holds, one.Debt = "api", 20, expiry, 8
	return scene{
		limits: []history.Limit{one}, keys: 2, checks: 500, every: 4 * millisecond, takes: 2 * millisecond, most: 6, epsilon: millisecond,
		holds: 0.8, lasts: 80 * millisecond, later: one.Algorithm == history.TokenBucket || one.Length == shortWindow,
	}
}

const shortWindow = 400 * millisecond

// Limits whose holds one process alone knows of, and others.
var (
	shortBucket = history.Limit{Tokens: 1, PerNS: 20 * millisecond}
	slowBucket  = history.Limit{Tokens: 1, PerNS: 700 * second}
	window      = history.Limit{Algorithm: history.FixedWindow, Length: shortWindow}
	month       = history.Limit{Algorithm: history.FixedWindow, Length: 720 * 3600 * second}
	slidingLog  = history.Limit{Algorithm: history.SlidingLog, Length: 400 * millisecond}
)

// anyHolds draws what a limiter that takes holds goes through.
func anyHolds(t *rapid.T) scene {
	limits := []history.Limit{shortBucket, slowBucket, window, month, slidingLog}
	s := holding(rapid.SampledFrom(limits).Draw(t, "limit"), rapid.SampledFrom([]string{history.Charge, history.Free}).Draw(t, "expiry"))
	s.seed = rapid.Uint64().Draw(t, "seed")
	s.checks = rapid.IntRange(1, 400).Draw(t, "checks")
	s.limits[0].Debt = rapid.SampledFrom([]int64{0, 1, 10, history.Boundless}).Draw(t, "debt")
	s.limits[0].Capacity = rapid.Int64Range(1, 30).Draw(t, "capacity")
	s.lasts = rapid.Int64Range(1, 200).Draw(t, "lasts") * millisecond
	s.failures = rapid.SampledFrom([]float64{0, 0.1, 0.4}).Draw(t, "failures")
	s.resets = rapid.SampledFrom([]float64{0, 0, 0.01}).Draw(t, "resets")
	return s
}

// A limiter that holds what it takes, and charges what was used, is not accused of anything.
func TestNothingIsFoundOfHolds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := anyHolds(t)
		if err := history.Safe(s.play(), s.epsilon); err != nil {
			t.Fatalf("%+v: %v", s, err)
		}
	})
}

// A settlement that says something else than the first one may be answered with that.
func TestRepetitionThatDiffers(t *testing.T) {
	s := holding(month, history.Charge)
	s.limits[0].Debt, s.limits[0].Capacity = history.Boundless, 1000
	h := s.play()
	if !again(func(c *history.Call) { c.Cost, c.Hold.Charged = c.Cost+3, c.Cost+3 })(h) {
		t.Fatal("no settlement was repeated")
	}
	if err := history.Safe(h, s.epsilon); err != nil {
		t.Error(err)
	}
}

// So may one that says the same as one that was answered with what another one, which came before and got no answer, had said.
func TestRepetitionOfOneThatCameLater(t *testing.T) {
	one := shortBucket
	one.Name, one.Capacity, one.Holds, one.Debt = "api", 20, history.Charge, history.Boundless
	call := func(after int64, kind history.Kind, outcome history.Outcome, cost int64, hold *history.Hold) history.Call {
		at := epoch + after*millisecond
		return history.Call{Kind: kind, Outcome: outcome, Limit: "api", Key: "k", Cost: cost, Hold: hold, Start: at, End: at + millisecond}
	}
	settled := func(charged int64) *history.Hold {
		return &history.Hold{ID: "h", State: history.Settled, Charged: charged}
	}
	h := &history.History{Limits: []history.Limit{one}, Calls: []history.Call{
		call(0, history.KindHold, history.Admitted, 9, &history.Hold{ID: "h", For: 80 * millisecond}),
		call(10, history.KindSettle, history.Failed, 8, &history.Hold{ID: "h"}),
		call(20, history.KindSettle, history.Done, 15, settled(8)),
		call(40_000, history.KindSettle, history.Done, 15, settled(15)),
	}}
	if err := history.Safe(h, millisecond); err != nil {
		t.Error(err)
	}
	h.Calls[1].Cost = 15
	if history.Safe(h, millisecond) == nil {
		t.Error("a hold that was charged 8, which nobody had said, is not found")
	}
	h.Calls[1].Cost, h.Calls[2].Cost, h.Calls[3].Hold.Charged = 8, 8, 15
	h.Calls[3].Cost = 8
	if history.Safe(h, millisecond) == nil {
		t.Error("a repetition that charges otherwise is not found")
	}
}

// A check of a budget whose holds every process knows of has a receipt that proves no line.
func TestReceiptsOfBudgets(t *testing.T) {
	for _, one := range []history.Limit{
		{Name: "api", Algorithm: history.FixedWindow, Capacity: 10, Length: 3600 * second, Holds: history.Free},
		{Name: "api", Capacity: 10, Tokens: 1, PerNS: 600 * second, Holds: history.Free},
	} {
		h := &history.History{Limits: []history.Limit{one}, Calls: []history.Call{{
			Kind: history.KindCheck, Outcome: history.Admitted, Limit: "api", Key: "k", Cost: 1, Start: epoch, End: epoch + 1,
			Receipt: &history.Receipt{Owner: "o", Span: history.Span{Start: epoch, End: epoch + 1}},
		}}}
		if err := history.Safe(h, millisecond); err != nil {
			t.Errorf("%+v: %v", one, err)
		}
		if one.Holds = ""; history.Safe(&history.History{Limits: []history.Limit{one}, Calls: h.Calls}, millisecond) == nil {
			t.Errorf("%+v: a receipt of a nanosecond proves a token", one)
		}
	}
}

// What a settlement says before a hold expires stays in the window in which the hold was taken, when the rest is free.
func TestSaidBeforeAHoldExpired(t *testing.T) {
	one := window
	one.Name, one.Capacity, one.Holds = "api", 20, history.Free
	at := epoch/shortWindow*shortWindow + shortWindow - 20*millisecond // the next window begins in 20 ms
	call := func(after int64, kind history.Kind, outcome history.Outcome, cost int64, hold *history.Hold) history.Call {
		return history.Call{
			Kind: kind, Outcome: outcome, Limit: "api", Key: "k", Cost: cost, Hold: hold, Start: at + after*millisecond, End: at + (after+1)*millisecond,
		}
	}
	h := &history.History{Limits: []history.Limit{one}, Calls: []history.Call{
		call(0, history.KindHold, history.Admitted, 6, &history.Hold{ID: "h", For: 80 * millisecond}),
		call(40, history.KindSettle, history.Done, 1, &history.Hold{ID: "h", Open: true, State: history.Open, Charged: 6}),
		call(100, history.KindCheck, history.Admitted, 20, nil),
		call(200, history.KindSettle, history.Done, 1, &history.Hold{ID: "h", State: history.Settled, Charged: 1}),
	}}
	if err := history.Safe(h, millisecond); err != nil {
		t.Error(err)
	}
	h.Calls[0].Start, h.Calls[0].End = at+30*millisecond, at+31*millisecond // in the next window, as all else
	if history.Safe(h, millisecond) == nil {
		t.Error("21 of 20 in one window are not found")
	}
}

// What a hold is charged that may have been settled in time, or freed before, lies where it was taken or where it was settled: no window has it
// for certain. One that was settled long after it had expired is charged where it was settled.
func TestSettledAboutWhenAHoldExpires(t *testing.T) {
	one := window
	one.Name, one.Capacity, one.Holds = "api", 20, history.Free
	at := epoch/shortWindow*shortWindow + shortWindow - 20*millisecond // the next window begins in 20 ms
	call := func(after int64, kind history.Kind, outcome history.Outcome, cost int64, hold *history.Hold) history.Call {
		return history.Call{
			Kind: kind, Outcome: outcome, Limit: "api", Key: "k", Cost: cost, Hold: hold, Start: at + after*millisecond, End: at + (after+1)*millisecond,
		}
	}
	for settled, found := range map[int64]bool{78: false, 80: false, 82: false, 90: true} { // it expires after 80 or 81 ms, give or take 2
		h := &history.History{Limits: []history.Limit{one}, Calls: []history.Call{
			call(0, history.KindHold, history.Admitted, 1, &history.Hold{ID: "h", For: 80 * millisecond}),
			call(40, history.KindCheck, history.Admitted, 20, nil),
			call(settled, history.KindSettle, history.Done, 1, &history.Hold{ID: "h", State: history.Settled, Charged: 1}),
		}}
		if err := history.Safe(h, millisecond); (err != nil) != found {
			t.Errorf("settled after %d ms: %v", settled, err)
		}
	}
}

func plantsOfHolds() []plant {
	log, line := holding(slidingLog, history.Free), holding(shortBucket, history.Charge)
	window, slow, budget := holding(window, history.Charge), holding(slowBucket, history.Free), holding(month, history.Free)
	budget.limits[0].Debt, budget.limits[0].Capacity = history.Boundless, 1000
	return []plant{
		{"counts", "one hold too many in a log", log, oneHoldMore("counts"), "were admitted, and at most"},
		{"counts", "one hold too many in a fixed window", window, oneHoldMore("counts"), "were admitted, and at most"},
		{"counts", "holds that are freed early", log, edits(isHeld, func(c *history.Call) { c.Hold.For *= 4 }), "were admitted, and at most 20"},
		{"counts", "more debt than there may be", log, func(h *history.History) bool {
			h.Limits[0].Debt = 0
			return true
		}, "were admitted, and at most 20"},
		{"windows", "one hold too many in a bucket", line, oneHoldMore("windows"), "tokens too many"},
		{"windows", "one hold too many in a slow bucket", slow, oneHoldMore("windows"), "tokens too many"},
		{"counts", "one hold too many in a month", holding(month, history.Charge), oneHoldMore("counts"), "were admitted, and at most"},
		{"windows", "more debt than there may be in a bucket", line, func(h *history.History) bool {
			h.Limits[0].Debt = 0
			return true
		}, "tokens too many"},
		{"settled", "charged otherwise when it is repeated", log, again(func(c *history.Call) { c.Hold.Charged-- }), "another one of the same hold"},
		{"settled", "charged what neither settlement says", log, again(func(c *history.Call) { c.Cost, c.Hold.Charged = c.Cost+3, c.Hold.Charged+1 }), "another one of the same hold"},
		{"settled", "settled, and open again", log, again(func(c *history.Call) {
			c.Hold.Open, c.Hold.State = true, history.Open
		}), "is open again"},
		{"settled", "a settlement that ends nothing", log, edited(isSettled, func(_ *history.History, c *history.Call) {
			c.Hold.State = history.Expired
		}), "after a settlement for good"},
		{"settled", "charged less than any settlement has said", line, edits(func(c *history.Call) bool {
			return isSettled(c) && c.Cost == 1 && c.Hold.Charged == 1
		}, func(c *history.Call) { c.Hold.Charged = 0 }), "no settlement for good had said so"},
		{"settled", "charged more than any settlement has said", budget, edited(isSettled, func(_ *history.History, c *history.Call) {
			c.Hold.Charged = 100
		}), "no settlement had said so"},
		{"settled", "charged less than was used, without a bound of debt", budget, edits(func(c *history.Call) bool {
			return isSettled(c) && c.Cost == 7
		}, func(c *history.Call) { c.Hold.Charged = 6 }), "no settlement for good had said so"},
		{"settled", "an open hold that gives back", line, edited(isOpen, func(_ *history.History, c *history.Call) {
			c.Hold.Charged = 0
		}), "that is open is charged 0"},
		{"settled", "a hold that gives back when it expires, and is to be charged", line, edited(isOpen, func(_ *history.History, c *history.Call) {
			c.Hold.State, c.Hold.Charged = history.Expired, 0
		}), "that is expired is charged 0"},
		{"settled", "lost where every process knows of it", log, edited(isSettled, func(_ *history.History, c *history.Call) {
			c.Hold.State = history.Lost
		}), "every process must know of"},
		{"settled", "lost, and returned", line, edited(func(c *history.Call) bool {
			return isSettled(c) && c.Hold.Charged == 0
		}, func(_ *history.History, c *history.Call) { c.Hold.State = history.Lost }), "is lost and charged 0"},
		{"settled", "forgotten too early", log, edited(isSettled, func(_ *history.History, c *history.Call) {
			c.Hold.State, c.Hold.Charged = history.Unknown, 0
		}), "can still be settled"},
	}
}
