package lease

import (
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

// MaxKnown is how long a denial is known at most. An edge does not hear of a reset or of tokens that others give back: after either, it may deny for so long what would pass.
const MaxKnown = time.Second

// Heard is what an owner has said to a check that it decided.
type Heard struct {
	Outcome   limit.Outcome
	Cost      int64
	Taken     bool          // the whole check was admitted; otherwise the owner has charged nothing
	Sent, Now int64         // when the edge sent the check, and has the answer
	Known     time.Duration // how long a denial is known at most, up to [MaxKnown]; 0 for no knowledge. An owner without most of the key's line says little by a denial
	Random    float64       // from 0 up to 1: edges do not ask again at the same moment
}

// A denial is what the owner has denied: until then it denies all that costs as much, since what others take makes that later.
type denial struct {
	outcome    limit.Outcome
	cost       int64
	now, until int64
}

// denialOf is what is known by h, by the numbers of a rule: a denial by others is none, as owner and edge do not have the same limits in force. It ends up to an eighth sooner than the
// owner would admit, by chance, so that the checks of many edges do not come at once.
func denialOf(h Heard, rule *limit.Rule) denial {
	lasts := min(h.Outcome.RetryAfter, h.Known, MaxKnown)
	if h.Outcome.Allowed || h.Outcome.Never || h.Outcome.Limit != rule.Capacity || lasts <= 0 {
		return denial{}
	}
	lasts -= time.Duration(h.Random * float64(lasts/8))
	return denial{outcome: h.Outcome, cost: h.Cost, now: h.Now, until: min(h.Sent, h.Now) + int64(lasts)}
}

// holds says whether a check of that cost is denied at now.
func (d *denial) holds(now, cost int64) bool { return d.now <= now && now < d.until && cost >= d.cost }

// at is what the owner would say to a check of that cost at now: all that was to come is as much nearer, and what costs more comes later.
func (d *denial) at(now, cost int64, rule *limit.Rule) limit.Outcome {
	o, passed := d.outcome, time.Duration(now-d.now)
	if rule.Begin(now) == now { // in a window, all of it comes with the next one
		o.RetryAfter += time.Duration(rule.Length(cost - d.cost).Ceil())
	}
	o.RetryAfter, o.ResetAfter = max(o.RetryAfter-passed, 0), max(o.ResetAfter-passed, 0)
	return o
}
