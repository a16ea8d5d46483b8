package lease

import (
	"math"

	"github.com/jeton-dev/jeton/actor/limit"
)

// The times of a share, in nanoseconds.
const (
	// Life is for how long a lease is to last: what is expected to be spent in that time is asked for.
	Life = int64(2e9)
	// memory is the time over which demand is smoothed.
	memory = int64(1e9)
	// margin is how much sooner than a round trip before its line is spent a share asks for more.
	margin = int64(5e6)
	// firstTrip is what a round trip takes, as long as there was none.
	firstTrip = int64(10e6)

	shortestPause, longestPause = int64(50e6), int64(1e9)

	// lastCall is how long before a lease is over what is left is given back, if time does not bring it back.
	lastCall = int64(1250e6)
)

// worth is how many checks must be expected during a lease for one to be asked for: for fewer, each is asked of the owner at no more cost.
const worth = 2

// worthHot is worth of a limit that is leased while its key is hot. Most keys are not, and each ask that is refused costs what a check does: so they are at most a
// tenth of the messages.
const worthHot = 20

// A Share is what an edge has of one bucket, and when it asks for more: a [Bucket] that is as large as what the edge spends. A check of a share
//
//	has line                  ─▶ it is spent; and the next lease is asked for, if little is left
//	the owner has denied as much, and that still holds ─▶ it is denied
//	a lease is on its way     ─▶ it waits for the answer, if that may be enough; otherwise the owner decides it
//	no lease is on its way    ─▶ it asks for one and waits, if enough checks are expected; otherwise the owner decides it
//
// Of a limit that is leased while its key is hot, no check waits until a lease was given: most keys are not hot.
//
// So where an edge spends little, or little is left, the owner decides. One caller at a time.
type Share struct {
	Bucket

	demand   float64 // tokens a second, as of demandAt
	demandAt int64

	trip    int64 // of asks and their answers, smoothed
	wanted  int64 // tokens, of the open ask
	waiting int64 // tokens that checks wait for which it is to bring
	pause   int64 // how long the next pause is; 0 if the last ask brought something
	quiet   int64 // until when nothing is asked for
	leased  bool  // the last ask brought something
	last    int64 // when there was a check last

	heard  limit.Outcome // what the owner said when it was asked for a lease last
	denied denial        // what the owner has denied last; none if it has admitted since
}

// NewShare is an edge's share of a bucket of rule, of which it has nothing yet.
func NewShare(rule *limit.Rule) *Share { return &Share{Bucket: Bucket{rule: rule}} }

// Rule is the share's.
func (s *Share) Rule() *limit.Rule { return s.rule }

// Check decides a check of that cost, at least 1. The ask is to be sent, if there is one: its Number is not 0.
func (s *Share) Check(now, cost int64) (piece Piece, v Verdict, ask Ask) {
	if cost > s.rule.Capacity {
		return Piece{}, Elsewhere, Ask{} // it can never pass: the owner says so
	}
	before := s.note(now, cost)
	if piece, ok := s.Take(now, cost); ok {
		return piece, Spent, s.refill(now, cost, before)
	}
	if s.denied.holds(now, cost) {
		s.demand = before // what is asked for in vain makes no lease larger
		return Piece{}, Denied, Ask{}
	}
	ask = s.refill(now, cost, before)
	if cold := s.rule.LeasedWhenHot() && !s.leased; cold || !s.Asking() || s.waiting+cost > s.wanted {
		return Piece{}, Elsewhere, ask
	}
	s.waiting += cost
	return Piece{}, Waits, ask
}

// Look implements [Holding]. A look is no demand.
func (s *Share) Look(now, cost int64) Verdict {
	switch {
	case s.Has(now, cost):
		return Spent
	case s.denied.holds(now, cost):
		return Denied
	}
	return Elsewhere
}

// Due implements [Holding]: a lease is asked for when there are checks.
func (s *Share) Due(int64) Ask { return Ask{} }

// Heard implements [Holding]: a denial is known while it holds. What is held comes back when it is settled, which an edge does not hear of, and of a key that is not hot the owner decides each check.
func (s *Share) Heard(h Heard) {
	switch repeats := s.rule.Holds.Longest == 0 && (s.leased || !s.rule.LeasedWhenHot()); {
	case h.Outcome.Allowed:
		s.denied = denial{}
	case h.Known > 0 && repeats:
		s.denied = denialOf(h, s.rule)
	}
}

// Undo puts a piece back: it was no demand either.
func (s *Share) Undo(piece Piece, now int64) bool {
	s.demand = max(s.demand-float64(piece.Cost)*1e9/float64(memory), 0)
	return s.Bucket.Undo(piece, now)
}

// Again decides a check that has waited, once the answer has come.
func (s *Share) Again(now, cost int64) (piece Piece, ok bool) { return s.Take(now, cost) }

// note counts what is asked for as demand, and says what that was without it.
func (s *Share) note(now, cost int64) (before float64) {
	before = s.Demand(now)
	s.demand = before + float64(cost)*1e9/float64(memory)
	s.demandAt, s.last = max(now, s.demandAt), now
	return before
}

// Demand is how many tokens a second are asked for.
func (s *Share) Demand(now int64) float64 {
	return s.demand * math.Exp(-float64(max(now-s.demandAt, 0))/float64(memory))
}

// refill asks for a lease if it is time to: what is left would be spent, or be over, before the answer is here. Before is what demand was without the check.
func (s *Share) refill(now, cost int64, before float64) (ask Ask) {
	if s.Asking() || now < s.quiet {
		return Ask{}
	}
	life := s.life()
	if before*float64(life)/1e9 < s.worth()*float64(cost) {
		return Ask{}
	}
	want := s.demand * float64(life) / 1e9
	lead := min(s.lead(), life/2)
	if float64(s.Left(now+lead)) > s.demand*float64(lead)/1e9+float64(cost) {
		return Ask{}
	}
	s.wanted, s.waiting = int64(math.Ceil(min(want, float64(s.rule.Capacity)))), 0
	return Ask{Number: s.Ask(), Tokens: s.wanted, Least: min(cost, s.wanted), Life: life, Held: s.Left(now)}
}

// worth is how many checks must be expected during a lease for one to be asked for.
func (s *Share) worth() float64 {
	if s.rule.LeasedWhenHot() {
		return worthHot
	}
	return worth
}

// life is for how long line is asked for: no longer than half of the bucket.
func (s *Share) life() int64 { return min(Life, int64(s.rule.Fill())/2) }

// lead is how long before its line is spent the share asks for more.
func (s *Share) lead() int64 {
	trip := s.trip
	if trip == 0 {
		trip = firstTrip
	}
	return trip + trip/2 + margin
}

// Answered takes in an answer. It says whether it was the one that checks wait for. A lease of an owner whose clock differs by more than most is not
// taken, nor is one that came too late.
func (s *Share) Answered(a Answer, most int64) bool {
	l := a.Lease
	if l != nil && !compares(&a, most) {
		l = nil
	}
	if !s.Bucket.Answer(a.Number, l) {
		return false
	}
	s.waiting = 0
	if a.Outcome.Name != "" {
		s.heard = a.Outcome
		s.trip = smooth(s.trip, max(a.Now-a.Sent, 0))
	}
	if s.leased = l != nil; s.leased {
		s.pause = 0
		return true
	}
	s.pause = min(max(2*s.pause, shortestPause), longestPause)
	s.quiet = a.Now + int64(float64(s.pause)*(0.5+a.Random))
	return true
}

// Compares says whether the lease of an answer may be taken, as far as clocks go.
func (a *Answer) Compares(most int64) bool { return a.Lease == nil || compares(a, most) }

// compares says whether the clocks of edge and owner differ by no more than most, for sure: the owner read its own between the two readings of the edge.
func compares(a *Answer, most int64) bool {
	return a.Lease.Now-a.Sent <= most && a.Now-a.Lease.Now <= most
}

func smooth(old, now int64) int64 {
	if old == 0 {
		return now
	}
	return old + (now-old)/8
}

// Surplus gives back what is left beyond twice what is expected to be spent until it is over, if that is worth a message; and at the last, what will not be
// spent and does not come back by itself: in a window, or where the line of a lease lasts longer than the lease.
func (s *Share) Surplus(now int64) []limit.Receipt {
	until, end := int64(0), int64(0)
	for i := range s.held {
		if h := &s.held[i]; h.end.After(h.at) {
			until, end = max(until, h.lease.Until), max(end, h.lease.End)
		}
	}
	over := until - now
	if over <= 0 {
		return nil
	}
	keep := 2 * s.Demand(now) * float64(min(over, Life)) / 1e9
	if last := over < lastCall && end > until; !last && float64(s.Left(now)) <= 1.5*keep+1 {
		return nil
	}
	return s.GiveBack(now, int64(keep))
}

// Idle says that nothing would be lost if the share were forgotten.
func (s *Share) Idle(now int64) bool {
	s.expire(now)
	return len(s.held) == 0 && !s.Asking() && now-s.last > 5*memory && now > s.quiet
}

// Outcome is what the limit says to a check: one that is denied, what the owner has said. To one that was admitted by a piece, that what is held remains, and what remained at the owner
// when the last lease was given.
func (s *Share) Outcome(now, cost int64, allowed bool) limit.Outcome {
	if !allowed && s.denied.holds(now, cost) {
		return s.denied.at(now, cost, s.rule)
	}
	tat := limit.Pos{}
	for i := range s.held {
		tat = limit.Later(tat, limit.At(s.held[i].lease.End))
	}
	o := s.rule.Outcome(tat, now, cost, tat, true)
	o.Remaining = min(s.rule.Capacity, o.Remaining+s.Left(now))
	o.Leased = s.heard.Leased
	return o
}
