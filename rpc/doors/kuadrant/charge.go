package kuadrant

import (
	"context"
	"fmt"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/rpc/doors/kuadrant/limitfile"
)

// A use is an amount that was used of one bucket.
type use struct {
	key    string
	limit  limit.Ref
	amount int64
}

// usesOf is the amount, of each limit. A limit of 0 has nothing to be used.
func usesOf(matches []limitfile.Match, amount int64) (all []use) {
	for _, m := range matches {
		for _, l := range m.Limits {
			if l.MaxValue > 0 {
				all = append(all, use{m.Key, l.Ref, amount})
			}
		}
	}
	return all
}

// restTries is how often the rest of a bucket is asked for: others may take of it meanwhile.
const restTries = 3

// charge charges what was used, each use by itself. What does not fit takes what is left: the work is done, and until the window ends nothing more is to pass. Once names what is
// charged, if it is not to be charged twice: a repeated charge gets the answers of the first one.
func (d *Door) charge(ctx context.Context, uses []use, once string) error {
	for try := 0; len(uses) > 0; try++ {
		if len(uses) > limit.MaxBatch {
			return tooMany(len(uses), limit.MaxBatch)
		}
		requests := make([]limit.Request, 0, len(uses))
		for _, u := range uses {
			requests = append(requests, u.request(once, try))
		}
		var rest []use
		for i, r := range d.checks(ctx, requests) {
			switch {
			case r.Err != nil && try == 0:
				return r.Err
			case r.Err != nil || r.Decision.Allowed || len(r.Decision.Limits) == 0: // what is left may be so little that it does not matter
				continue
			}
			if left := r.Decision.Limits[0].Remaining; left > 0 && try < restTries {
				rest = append(rest, use{uses[i].key, uses[i].limit, left})
			}
		}
		uses = rest
	}
	return nil
}

// request charges u. More than the limit is the whole limit.
func (u use) request(once string, try int) limit.Request {
	r := limit.Request{Key: u.key, Limits: []limit.Ref{u.limit}, Cost: min(u.amount, u.limit.Inline.Capacity)}
	if once != "" {
		r.ID = fmt.Sprintf("%s.%s.%d.%d", once, u.limit.Name, try, r.Cost)
	}
	return r
}
