package nemesis

import (
	"context"
	"sync"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

// Whether a key is stuck, when everything has been healed and the load has ended, is found out by asking for it, again and
// again for this long: every bucket must be decided, and one that refills soon must admit.
const (
	probeFor     = 3 * time.Minute
	probeWithin  = 5 * time.Second
	probeCallers = 64
	refillsSoon  = 15 * time.Second
)

// probe asks for every bucket that was asked for in the run, and returns how many there are and those that are stuck.
func (s *Stage) probe() (asked int, stuck []string) {
	names := s.traffic.asked()
	queue := make(chan bucketName)
	var (
		mu sync.Mutex
		wg sync.WaitGroup
	)
	end := time.Now().Add(probeFor)
	for range probeCallers {
		wg.Go(func() {
			for b := range queue {
				if why := s.probeOne(b, end); why != "" {
					mu.Lock()
					stuck = append(stuck, b.key+": "+why)
					mu.Unlock()
				}
			}
		})
	}
	for _, b := range names {
		queue <- b
	}
	close(queue)
	wg.Wait()
	return len(names), stuck
}

// probeOne asks for one bucket until it serves. It says why it does not.
func (s *Stage) probeOne(b bucketName, end time.Time) (why string) {
	c := s.traffic.prober(b.stream)
	r := limit.Request{Key: b.key, Cost: 1, Receipt: !c.plain, Plan: b.stream.plan}
	for _, l := range b.stream.rules {
		r.Limits = append(r.Limits, limit.Named(l.name))
	}
	for {
		ctx, cancel := context.WithTimeout(context.Background(), probeWithin)
		began := time.Now()
		d, err := c.Check(ctx, r)
		cancel()
		s.traffic.ledger.probed(c, &r, began, time.Since(began), d, err)
		wait := 50 * time.Millisecond
		switch {
		case err != nil:
			why = err.Error()
		case d.Allowed:
			return ""
		default:
			wait = 0
			for _, o := range d.Limits {
				wait = max(wait, o.RetryAfter)
			}
			if wait > refillsSoon {
				return "" // it decides, and that is all it can do for now
			}
			why = "it goes on denying"
		}
		if time.Now().Add(wait).After(end.Add(refillsSoon)) {
			return why
		}
		pause(context.Background(), wait) //nolint:errcheck // it cannot be interrupted
	}
}
