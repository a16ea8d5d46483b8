package owner

import (
	"github.com/jeton-dev/jeton/actor/limit"
)

// A Settle is what a settlement says of a hold to one of its limits.
type Settle struct {
	Rule    *limit.Rule
	Held    limit.Held
	Granted int64 // tokens, when it was taken
	Used    int64 // so far
	Open    bool  // more may be used
	For     int64 // it lasts for so long from now on, in nanoseconds; 0 for no change

	Settled limit.SettledLimit // what it came to, in the end
	// Met is the state in which it found the hold, and Amount how many tokens that held; none if it found no hold.
	Met    limit.HoldState
	Amount int64

	over bool // Settled is known
	sent bool // the ledger that is being written has it

	claimed bool // the ledger was claimed after it had come
}

// enter enters what s says into a ledger that is to be written.
func (s *Settle) enter(next *limit.Ledger, rule *limit.Rule, now int64) {
	change := limit.HoldChange{ID: s.Held.ID, Used: s.Used, Open: s.Open}
	if s.For > 0 {
		change.Until = now + s.For
	}
	if before, found := next.HoldOf(s.Held.ID); found {
		s.meets(before.State(now), before.Amount)
	}
	h, listed := next.Settle(now, change, rule.DebtTokens())
	if !listed {
		if s.sent = s.wasSettledBy(next); s.sent {
			s.tellSettled(max(0, -next.Free(now)))
		}
		return
	}
	s.sent = true
	s.tell(h.State(now), h.Charged(now), h.Until, max(0, -next.Free(now)))
}

// meets notes in which state the settlement finds the hold. When it is tried again, it may find what it has stored itself.
func (s *Settle) meets(state limit.HoldState, amount int64) {
	if s.Met == "" {
		s.Met, s.Amount = state, amount
	}
}

// tell notes what s came to. Until is when the hold expires, unless it is settled.
func (s *Settle) tell(state limit.HoldState, charged, until, debt int64) {
	if state == limit.HoldSettled {
		until = 0
	}
	s.Settled = limit.SettledLimit{
		Name: s.Rule.Name, State: state, Charged: charged, Returned: max(0, s.Granted-charged), Debt: debt, Until: until,
	}
}

// wasSettledBy says whether the ledger, which does not list the hold, tells by the hold's number that it was settled. What s says is then taken
// for a repetition of that settlement; a settlement that leaves the hold open repeats none.
func (s *Settle) wasSettledBy(l *limit.Ledger) bool { return !s.Open && l.WasSettled(s.Held.ID) }

// tellSettled notes that the hold was settled before, for what s says.
func (s *Settle) tellSettled(debt int64) {
	s.meets(limit.HoldSettled, s.Granted)
	s.tell(limit.HoldSettled, s.Used, 0, debt)
}

func (s *Settle) unknown() {
	s.over, s.Settled = true, limit.SettledLimit{Name: s.Rule.Name, State: limit.HoldUnknown}
}
