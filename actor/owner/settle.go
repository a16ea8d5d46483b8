package owner

import (
	"math"

	"github.com/jeton-dev/jeton/actor/limit"
)

// settle goes on with the settlement of w, and says whether all is known of it.
func (o *Owner) settle(w *waiter, now int64, out *Out) bool {
	over := true
	for i := range w.settles {
		s := &w.settles[i]
		if !s.over {
			b := o.bucketToChange(s.Rule, out)
			if b.ledger() != nil {
				o.settleCounted(b, s, now, out)
			} else {
				o.settleLine(b, s, w.At, now, out)
			}
		}
		over = over && s.over
	}
	if over {
		out.Replies = append(out.Replies, Reply{Tag: w.Tag})
	}
	return over
}

// settleCounted goes on with a settle of a limit that counts entries:
//
//	claim the ledger, unless it is the latest ─▶ the hold is not listed, and its number tells nothing: nothing is known of it
//	                                          └▶ write it with what was used ─▶ a majority has stored it: that is the answer
//
// A hold that is settled already is written too: what a claim is told may be too little, and who goes on from what only a minority has
// stored could tell this caller one thing and the next another.
func (o *Owner) settleCounted(b *bucket, s *Settle, now int64, out *Out) {
	l := b.ledger()
	waits, lost := l.standing(b, s.claimed, now, o.cfg)
	switch _, listed := l.HoldOf(s.Held.ID); {
	case waits:
	case lost:
		s.unknown()
	case l.current && (listed || s.wasSettledBy(l.Ledger)):
		o.rewrite(b, nil, now, out)
	case l.current && s.claimed:
		s.unknown()
	default:
		o.eachToSettle(b, func(s *Settle) { s.claimed = true })
		l.written = nil
		o.claim(b, now, out)
	}
}

// settleLine goes on with a settle of a limit that spends a line, which came at at.
func (o *Owner) settleLine(b *bucket, s *Settle, at, now int64, out *Out) {
	b.moveOn(now, now, out)
	hs := b.withLineHolds()
	h := o.lineHoldOf(b, s, now)
	if h == nil {
		if s.wasSettledOn(hs, now, s.Rule.Owing(s.Rule.Carry(b.rule, b.spentAt(now)), now)) {
			s.over = true
			return
		}
		s.unknown()
		return
	}
	if s.meets(h.met(now), h.amount); s.Met == limit.HoldExpired {
		h.tellExpired(b.rule, out)
	}
	h.take(s, now)
	if b.giveBackHold(h, now); !h.settled && h.free {
		hs.expire = min(hs.expire, h.until)
	}
	var length limit.Pos
	if more := h.due(now) - h.charged; more > 0 && h.overAt == 0 {
		got, line, over := o.force(b, s.Rule, more, at, now, out)
		if !over {
			return
		}
		if h.charged += got; got > 0 {
			switch {
			case h.settled:
			case s.Rule.SameNumbers(b.rule):
				hs.addLine(h, line)
			default: // tokens of other numbers are other line, so nothing comes back of the hold
				h.stretch = math.MaxUint64
			}
			if h.foreign {
				hs.add(h, now) // also one that there was no room to remember
			}
			length = b.lengthBy(s.Rule, got)
		}
	}
	if b.note(at, length, o.cfg.Delta); length != (limit.Pos{}) {
		o.reserveAhead(b, max(at, now), at, out)
	}
	s.over = true
	s.tell(h.state(now), h.charged, h.until, s.Rule.Owing(s.Rule.Carry(b.rule, b.spentAt(now)), now))
	if h.settled && h.overAt == 0 && hs.byID[h.id] == h {
		hs.settle(h, now)
	}
}

// wasSettledOn says whether holds of a line tell that the hold was settled before for what was used: then s is a repetition. Of what is
// remembered it may say anything; of others, what it says is taken for what was used.
func (s *Settle) wasSettledOn(hs *lineHolds, now, debt int64) bool {
	if h := hs.settled.find(s.Held.ID, &hs.numbers, now); h != nil {
		s.meets(limit.HoldSettled, h.amount)
		s.tell(limit.HoldSettled, h.used, 0, debt)
		return true
	}
	if s.Open || !hs.numbers.Settled(s.Held.ID) {
		return false
	}
	s.tellSettled(debt)
	return true
}

// lineHoldOf is the hold that s is about; nil if nothing is known of it, or that it was settled for what was used. One that another owner has
// taken was charged in full. What is charged beyond must be remembered. Of others only few are: anybody can make up holds of owners that never were.
func (o *Owner) lineHoldOf(b *bucket, s *Settle, now int64) *lineHold {
	hs := b.extra.holds
	if h := hs.byID[s.Held.ID]; h != nil {
		if now < h.rememberedUntil() {
			return h
		}
		hs.drop(h)
	}
	if s.Held.Owner == o.id || s.Held.Generation < b.gen || s.Used > s.Granted && (hs.full(now) || hs.fullOfForeign(now)) {
		return nil
	}
	h := &lineHold{id: s.Held.ID, amount: s.Granted, charged: s.Granted, at: now, until: now, stretch: math.MaxUint64, foreign: true}
	if len(hs.byID) < maxUncharged {
		hs.add(h, now)
	}
	return h
}

// maxForced is how often it is tried to charge what was used more than was held, with fewer tokens each time.
const maxForced = 8

// lengthBy is the line of so many tokens of a rule of the bucket, in whole nanoseconds if that has other numbers than are asked for now: they count in other
// parts of one.
func (b *bucket) lengthBy(rule *limit.Rule, tokens int64) limit.Pos {
	if rule.SameNumbers(b.rule) {
		return b.rule.Length(tokens)
	}
	return limit.At(rule.Length(tokens).Ceil())
}

// force takes amount tokens off the line, at the price of the rule by which they were held, or as many as its debt allows, and says how many these were; over
// is false while they are being reserved. They are taken at at, as those of a check are: a later time would need other line than was reserved.
// Two definitions of one name in requests do not know of each other: then no line is taken that lies too far ahead for the one that was asked for
// last, since replicas that forget keep no more by their floors.
func (o *Owner) force(b *bucket, by *limit.Rule, amount, at, now int64, out *Out) (got int64, line spent, over bool) {
	most := by.BoundOfDebt(at)
	if known := limit.At(at + b.rule.Ahead()); by.Reach() > b.rule.Ahead() && most.After(known) {
		most = known
	}
	bound := most
	if !by.SameNumbers(b.rule) {
		bound = limit.At(most.NS) // rounded down, as lengths are rounded up
	}
	for range maxForced {
		if amount <= 0 {
			return 0, spent{}, true
		}
		t := trial{bucket: b, length: b.lengthBy(by, amount), at: at, reach: by.Reach()}
		switch t.result = b.testUpTo(bound, at, at, amount, t.length, o.cfg); t.verdict {
		case admit:
			return amount, b.spend(at, at, t.length), true
		case enter:
			b.enterNext()
		case wait:
			o.reserve(&t, now, out)
			return 0, spent{}, false
		case stay:
			return 0, spent{}, false
		case deny:
			amount = min(amount-1, b.tokensUpTo(by, most, at, at, o.cfg))
		}
	}
	return 0, spent{}, true
}
