package nemesis

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

var kindFlood = Kind{
	Name: "flood of invented keys", Weight: 2, Shortest: time.Second, Longest: 8 * time.Second, Recovery: 3 * time.Second, Operators: true,
	Draw: func(d *Drawing) Fault { return &flood{perSecond: 500 + d.IntN(3000), inline: d.IntN(2) == 0} },
}

// mostFlooding is how many checks of a flood are under way at once.
const mostFlooding = 256

// flood are callers who ask for a new key with every check, and keep the receipts. What they are told counts for nothing. What
// it costs others is not judged but by this: when it is over, they are served.
type flood struct {
	perSecond int
	inline    bool // with a limit of their own for each key

	cancel context.CancelFunc
	done   sync.WaitGroup
	asked  int
}

func (f *flood) String() string {
	what := "keys that were never used"
	if f.inline {
		what += ", each with a limit of its own"
	}
	return fmt.Sprintf("%d checks a second ask for %s", f.perSecond, what)
}

// Begin starts it.
func (f *flood) Begin(ctx context.Context, s *Stage) error {
	ctx, f.cancel = context.WithCancel(ctx)
	f.done.Go(func() { f.run(ctx, s) })
	return nil
}

// End ends it, and waits for what is under way.
func (f *flood) End(context.Context, *Stage) error {
	if f.cancel != nil {
		f.cancel()
	}
	f.done.Wait()
	return nil
}

// run asks at a steady rate; what is due while too much is under way is left out.
func (f *flood) run(ctx context.Context, s *Stage) {
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	seats := make(chan struct{}, mostFlooding)
	began := time.Now()
	for n := 0; ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		for due := int(time.Since(began).Seconds() * float64(f.perSecond)); n < due; n++ {
			select {
			case seats <- struct{}{}:
			default:
				continue
			}
			c := &s.traffic.callers[f.asked%len(s.traffic.callers)]
			r := f.request(s, f.asked)
			f.asked++
			f.done.Go(func() {
				defer func() { <-seats }()
				ctx, cancel := context.WithTimeout(ctx, deadline)
				defer cancel()
				c.Check(ctx, r) //nolint:errcheck // an attacker takes what it gets
			})
		}
	}
}

// request is a check for a key that was never heard of.
func (f *flood) request(s *Stage, n int) limit.Request {
	r := limit.Request{
		Key: fmt.Sprintf("invented:%d:%d", s.invented.Add(1), n), Cost: 1, Receipt: true, Limits: []limit.Ref{limit.Named(streams[0].rules[0].name)},
	}
	if f.inline {
		r.Limits[0] = limit.Inline(limit.Limit{Name: fmt.Sprintf("own-%d", n%1000), Capacity: 3, Refill: limit.Refill{Tokens: 1, Per: time.Second}})
	}
	return r
}
