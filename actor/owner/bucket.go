package owner

import (
	"math"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

// A bucket is one limit of the key, as its owner knows it. What it holds itself is what every bucket needs that was
// checked once.
type bucket struct {
	rule *limit.Rule
	gen  int64 // generation

	tat  limit.Pos // the line is spent up to here
	held segment   // reserved: what is left of it is the line from max(tat, held.from) to Hi = held.to

	load      load
	last      decision
	far       stretch // by how much what is held lay ahead when it was reserved, at most
	confirmed uint8   // without a replication: bit i says that replica i spoke last of gen and Hi, not set that it never spoke
	checks    uint16  // in the last Δ, in parts of checkParts, and no more than fit: see load
	extra     *extra  // nil for nothing of it
}

// extra is what only some buckets have.
type extra struct {
	returns     *returns     // receipts and credit, once there are any
	replication *replication // with the replicas, while there is more to it than all buckets hold
	ledger      *ledger      // of a limit that counts entries
	holds       *lineHolds   // that were taken of the line
	leases      *passedDown  // that may not be over
	reporters   *reporters   // edges that report what they have spent
	older       older
	rivalAt     int64 // when a replica spoke last of line that a rival has reserved, as far as it matters; 0 for never
}

// spare gives back the memory of extra, if there is nothing in it.
func (b *bucket) spare() {
	if x := b.extra; x != nil && x.returns == nil && x.replication == nil && x.ledger == nil && x.holds == nil && x.leases == nil && x.reporters == nil && x.older.n == 0 && x.rivalAt == 0 {
		b.extra = nil
	}
}

func (b *bucket) extras() *extra {
	if b.extra == nil {
		b.extra = &extra{}
	}
	return b.extra
}

func (b *bucket) withLineHolds() *lineHolds {
	x := b.extras()
	if x.holds == nil {
		x.holds = &lineHolds{byID: map[uint64]*lineHold{}, expire: math.MaxInt64}
	}
	return x.holds
}

// forgetReturns is for the end of a stretch of line: nothing that was spent before comes back.
func (b *bucket) forgetReturns() {
	if b.extra != nil {
		b.extra.returns = nil
		if h := b.extra.holds; h != nil {
			h.forgetLine()
		}
	}
}

// forgetSpent is for a bucket that is full: what was spent before has come back by itself.
func (b *bucket) forgetSpent() {
	if r := b.returns(); r != nil {
		r.forgetMade()
	}
	if hs := b.lineHolds(); hs != nil {
		hs.forgetLine()
	}
}

// leaveBehind is for a check of t. What lies before the last check that waited, once it may have begun, or in a window that has ended, is left
// behind: it has come back by itself, whoever spent it.
func (b *bucket) leaveBehind(t int64) {
	r := b.returns()
	if r == nil {
		return
	}
	left := limit.Later(r.left, b.ended(t))
	if r.waitsAreOver(t) {
		left = limit.Later(left, limit.At(b.rule.Begin(r.waits)))
		r.since, r.waits = max(r.since, r.waits), 0
	}
	if left.After(r.left) {
		r.left = left
		r.cut(b.rule, left)
	}
}

// leases are those of the bucket, or nil.
func (b *bucket) leases() *passedDown {
	if b.extra == nil {
		return nil
	}
	return b.extra.leases
}

// withLeases are those of the bucket at now, with room for more.
func (b *bucket) withLeases(now int64) *passedDown {
	x := b.extras()
	if x.leases == nil {
		x.leases = new(passedDown)
	}
	x.leases.forget(now)
	return x.leases
}

// reporters are those of the bucket, or nil.
func (b *bucket) reporters() *reporters {
	if b.extra == nil {
		return nil
	}
	return b.extra.reporters
}

func (b *bucket) withReporters() *reporters {
	x := b.extras()
	if x.reporters == nil {
		x.reporters = new(reporters)
	}
	return x.reporters
}

// leased is how many tokens edges may hold at now.
func (b *bucket) leased(now int64) int64 {
	p := b.leases()
	if p == nil {
		return 0
	}
	if p.forget(now); len(p.all) == 0 {
		b.extra.leases = nil
		return 0
	}
	return b.rule.TokensIn(p.sum)
}

// begin makes the zero bucket one of rule.
func (b *bucket) begin(rule *limit.Rule, cfg *Config) {
	b.rule = rule
	if rule.Counts() {
		b.extras().ledger = &ledger{Ledger: rule.NewLedger(cfg.Late), trusted: 10 * cfg.Delta}
		switch {
		case rule.Permits():
			b.extra.ledger.trusted = cfg.Delta
		case rule.OfPenalties():
			b.extra.ledger.penalties = &penalties{}
		}
	}
}

// ledger is the bucket's, or nil for a limit that spends a line.
func (b *bucket) ledger() *ledger {
	if b.extra == nil {
		return nil
	}
	return b.extra.ledger
}

// differs says whether rule is another one than the bucket's.
func (b *bucket) differs(rule *limit.Rule) bool { return b.rule != rule && !b.rule.Equal(rule) }

// change puts the bucket under another rule of the same name. One that has another register begins anew: the positions of a month
// say nothing about those of a minute, and no receipt of the one is one of the other.
//
// Otherwise what is spent stays spent: debt is measured in line. Other
// numbers end the stretch: a receipt proves tokens of its own time, and what came back in those is not tokens of this. A
// position heard under the old rule may hold the old rule's reach in it, so the replicas must be heard anew.
//
// What could not have been reserved under any rule of the limit as it is now when it was is given up: replicas that forget keep by
// their floors what can have been reserved under the rules of the limit that is asked for, and would give what lies beyond to another
// owner. So a bucket whose checks go by several plans gives up nothing.
func (b *bucket) change(rule *limit.Rule, cfg *Config) {
	if rule.Register() != b.rule.Register() {
		*b = bucket{}
		b.begin(rule, cfg)
		return
	}
	if l := b.ledger(); l != nil {
		l.adapt(l.Ledger, l.rooms, rule, cfg)
	}
	t, longer := b.replication(), b.rule.Ahead()
	if !rule.SameNumbers(b.rule) {
		b.forgetReturns()
	}
	b.tat = rule.Carry(b.rule, b.tat)
	b.rule = rule
	b.confirmed = 0
	if over := b.far.over(rule, longer, cfg); over > 0 {
		to := b.held.to - over
		if limit.At(b.held.from).After(b.tat) { // some is left of what was held before, which may have been as far
			to = b.tat.Ceil()
		}
		b.held.to = min(b.held.to, max(to, b.tat.Ceil()))
		b.held.from = min(b.held.from, b.held.to)
		b.far = min(b.far, stretchOf(rule.Ahead()+cfg.Delta))
	}
	if t != nil {
		if t.nextFar.over(rule, longer, cfg) > 0 {
			t.next = segment{}
		}
		t.reported = [MaxReplicas]reported{}
		t.refused = nil
	}
}

// extend takes in a segment that was reserved so far ahead, while there is a replication. One that does not touch the held one
// begins a new stretch of line. For a check that waits until waits, 0 for none, and begins in a full bucket, it goes on: what was spent before is left
// behind when that begins.
func (b *bucket) extend(s segment, far stretch, waits int64) {
	if s.from > b.held.to {
		b.tat = limit.Later(b.tat, limit.At(s.from))
		if waits > 0 && s.from <= b.rule.Begin(waits) {
			b.noteWait(waits)
		} else {
			b.forgetReturns()
		}
	}
	if limit.At(b.held.to).After(b.tat) { // some of what was held is left
		far = max(far, b.far)
	}
	b.held, b.far = s, far
}

// spentAt is up to where the line counts as spent at t: returned line does not.
func (b *bucket) spentAt(t int64) limit.Pos {
	if credit := b.credit(t); credit != (limit.Pos{}) {
		return b.rule.Sub(b.tat, credit)
	}
	return b.tat
}

// busyUntil is when the bucket could be forgotten without loss, now or earlier if it can be at once. Line that lies before Begin is
// worthless, although it may lie ahead of now.
func (b *bucket) busyUntil(now int64, cfg *Config) int64 {
	if b.pending() != nil {
		return math.MaxInt64
	}
	if l := b.ledger(); l != nil {
		until := l.busyUntil()
		if l.penalties != nil {
			until = max(until, l.penalties.until(b.rule.Penalty))
		}
		if b.returns() != nil {
			until = max(until, min(l.End(now), b.load.at+cfg.ReturnFor))
		}
		return until
	}
	begin := b.rule.Begin(now)
	line, ends := b.next().to, b.tat.Ceil() // the line that is held, and when what is spent has come back
	if b.tat.Ceil() < b.held.to {
		line = max(line, b.held.to)
	}
	until := b.lineHolds().busyUntil()
	if begin > now { // of a window: then another one begins
		ends = begin
	}
	if line > begin {
		until = max(until, line)
	}
	if b.returns() != nil && b.tat.NS >= begin {
		until = max(until, min(ends, b.load.at+cfg.ReturnFor))
	}
	if begin > now {
		until = min(until, begin)
	}
	return max(until, b.leases().until(), b.reporters().until(ends))
}

// closedFor is how long the bucket of penalties closes its limit's from t on, 0 for not. What is on its way to the replicas counts.
func (b *bucket) closedFor(t int64) time.Duration {
	l := b.ledger()
	end, _ := l.ClosedUntil()
	if l.penalties.due && l.written != nil {
		end, _ = l.written.ClosedUntil()
	}
	return time.Duration(max(end-t, 0))
}

// remember keeps the decision of a check at t.
func (b *bucket) remember(t, cost int64, allowed bool) {
	if b.last != (decision{}) {
		b.extras().older.push(b.last)
	}
	if !allowed {
		cost = ^cost
	}
	b.last = decision{at: t, cost: cost}
}

// recent is what is remembered, the newest last.
func (b *bucket) recent() []limit.Recent {
	if b.last == (decision{}) {
		return nil
	}
	var all []limit.Recent
	if b.extra != nil {
		o := &b.extra.older
		for i := max(o.n-maxOlder, 0); i < o.n; i++ {
			all = append(all, o.list[i%maxOlder].recent())
		}
	}
	return append(all, b.last.recent())
}
