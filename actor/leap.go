package actor

import (
	"fmt"
	"math"

	"github.com/jeton-dev/jeton/actor/limit"
)

// errLeapt answers what waits when the node clock is put forward.
var errLeapt = fmt.Errorf("%w: this node's clock was behind, and has just been put forward", limit.ErrUnavailable)

// leapt looks whether the node clock was put forward since the last round, and answers what waits if so. Until then the
// clock was behind: the machine was suspended. A check that waits was given a time by it that may lie long before the
// check arrived, and replicas that did not accept that before would accept it now. It would spend line of a past that its
// bucket may have spent already, as far as the bucket's own time is concerned.
//
// It is called before the clock is read for a round: so no check of that round, or a later one, has an older time.
func (sh *shard) leapt() {
	ahead := sh.sys.cfg.Ahead()
	if ahead == sh.ahead {
		return
	}
	sh.ahead = ahead
	sh.timer = math.MaxInt64 // it was set by the clock as it went before: what is due now comes too late by it
	for a := range sh.actors.all() {
		if a.owner.Waiting() > 0 {
			sh.forget(a, errLeapt)
		}
	}
}
