package owner

import "github.com/jeton-dev/jeton/actor/limit"

// A limit with a penalty has a bucket of its penalties beside each of its own: an entry of its ledger is a penalty. The owner claims
// that ledger once in its life, in the round of the first reservation, and writes it when there have been so many denials in a row: a
// denial costs nothing else. What it has written counts from then on, here at once, and for later owners when a majority has it.
// A penalty is no bound that must hold: an owner that cannot learn of one, because a majority has lost it, goes on without.
type penalties struct {
	limit.Row

	due     bool  // the bucket is to be closed
	writeAt int64 // when to try again to store that
}

// until is when a row of denials is none any more; 0 if there is none, and no penalty is to be stored.
func (p *penalties) until(of limit.Penalty) int64 {
	if p.Denied == 0 && !p.due {
		return 0
	}
	return p.Last + int64(of.For)
}
