package gubernator

import (
	"fmt"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/rpc/pb/gubernatorpb"
)

// The bounds of the algorithms that count: a sliding window has 60 parts of a millisecond or more, and a log has an entry for each hit.
const (
	leastSliding = 60 * time.Millisecond
	mostLogged   = 1000
)

// limitOf is the limit that m defines, with that name. Its limit is at least 1.
//
//	algorithm     duration         in jeton
//	TOKEN_BUCKET  60 ms or more    sliding-window
//	TOKEN_BUCKET  less             sliding-log
//	TOKEN_BUCKET  gregorian        fixed-window, of the calendar in UTC
//	LEAKY_BUCKET  any              token-bucket of burst or limit, which refills limit in the duration
//
// A window that moves has at most the limit in any window of the duration, and so in the one that begins with the first hit.
func limitOf(m *gubernatorpb.RateLimitReq, name string, s span) (limit.Limit, error) {
	l := limit.Limit{Name: name, Capacity: m.GetLimit()}
	switch {
	case m.GetAlgorithm() == gubernatorpb.Algorithm_LEAKY_BUCKET:
		if b := m.GetBurst(); b < 0 {
			return l, invalidError(fmt.Sprintf("field 'burst' cannot be negative: %d; 0 means the limit", b))
		} else if b > 0 {
			l.Capacity = b
		}
		l.Refill = limit.Refill{Tokens: m.GetLimit(), Per: s.length}
	case m.GetAlgorithm() != gubernatorpb.Algorithm_TOKEN_BUCKET:
		return l, invalidError(fmt.Sprintf("Invalid rate limit algorithm '%d': 0 is TOKEN_BUCKET and 1 LEAKY_BUCKET", m.GetAlgorithm()))
	case s.per != "":
		l.Algorithm, l.Per = "fixed-window", s.per
	case s.gregorian:
		l.Algorithm, l.Window = "fixed-window", s.length
	case s.length >= leastSliding:
		l.Algorithm, l.Window = "sliding-window", s.length
	case l.Capacity > mostLogged:
		return l, invalidError(fmt.Sprintf("field 'limit' is too large for a duration below %d: %d; give at most %d, or a longer duration",
			leastSliding.Milliseconds(), l.Capacity, mostLogged))
	default:
		l.Algorithm, l.Window = "sliding-log", s.length
	}
	return l, nil
}
