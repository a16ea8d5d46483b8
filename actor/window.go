package actor

import (
	"math"

	"github.com/jeton-dev/jeton/actor/limit"
)

const (
	// maxOpen is how many checks of one caller may wait for their reservations in a shard: as many as keep it at work, while
	// callers come with more than it can do.
	maxOpen = 256
	// maxOpenNarrow is that while callers come too who ask for a little now and then: their checks wait behind all these for the
	// same fsync, so it bounds what one caller can add to that.
	maxOpenNarrow = 64
	// narrowFor is for how many rounds after one of those has come the others have the narrow window.
	narrowFor = 1024
)

// A window is how many checks of one caller a shard has taken and not answered.
type window struct {
	caller   limit.Caller
	open     int        // of who runs a round
	full     bool       // nothing more is taken until half of max is answered. Changed under the inbox's lock, by who runs a round
	max      int        // when it was full, how many were open
	toReopen *[]*window // where the shard finds windows that answers have made room in
}

// answered says that one check that was taken is answered.
func (w *window) answered() {
	w.open--
	if w.open == 0 || w.full && w.open == w.max/2 {
		*w.toReopen = append(*w.toReopen, w)
	}
}

// bound is how many checks may be taken and not answered.
func (w *window) bound(polite bool) int {
	switch {
	case w.caller == nil: // who embeds a node has no need to be protected from itself
		return math.MaxInt
	case polite:
		return maxOpenNarrow
	}
	return maxOpen
}
