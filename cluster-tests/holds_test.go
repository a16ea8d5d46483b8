package clustertests

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cluster-tests/process"
	"github.com/jeton-dev/jeton/rpc/client"
)

// holdLimits are a bucket that is full again within ten seconds, a budget for a long time, and two that 500 callers attack at once.
const holdLimits = `limits:
  short: {capacity: 100000, refill: 100000/10s, hold: 1m, on_expiry: free}
  month: {algorithm: fixed-window, limit: 1000000000, per: month, hold: 1m, on_expiry: free}
  attacked: {capacity: 10000, refill: 1000/1m, hold: 10m}
  attackedmonth: {algorithm: fixed-window, limit: 10000, per: month, hold: 10m}
`

// streams are callers that hold an estimate, use something else, and settle that.
type streams struct {
	t      *testing.T
	client *client.Client
	ctx    context.Context //nolint:containedctx // that of the test
	stop   atomic.Bool
	used   atomic.Int64 // as settlements for good have answered
	taken  atomic.Int64 // holds
	left   atomic.Int64 // of them were never settled
	wg     sync.WaitGroup
}

func newStreams(t *testing.T, c *process.Cluster) *streams {
	t.Helper()
	cl, err := client.New(client.Config{Servers: c.Servers(), Timeout: 5 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cl.Close() })
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	t.Cleanup(cancel)
	return &streams{t: t, client: cl, ctx: ctx}
}

// run has n callers take holds of a key, one after another, until stop. One in ten forgets to settle.
func (s *streams) run(n int, key string, names ...string) {
	for range n {
		s.wg.Go(func() {
			for !s.stop.Load() && s.ctx.Err() == nil {
				s.stream(key, names)
			}
		})
	}
}

// stream is one request to a model: its estimate is wrong by up to a half, and it settles in parts.
func (s *streams) stream(key string, names []string) {
	estimate := 20 + rand.Int64N(200)
	used := estimate/2 + rand.Int64N(estimate)
	d, err := s.client.Check(s.ctx, limit.Request{Key: key, Limits: refs(names), Cost: estimate, Hold: 3 * time.Second})
	if err != nil || !d.Allowed {
		pause(s.ctx, time.Duration(rand.Int64N(int64(20*time.Millisecond))))
		return
	}
	s.taken.Add(1)
	if rand.IntN(10) == 0 {
		s.left.Add(1)
		return
	}
	if rand.IntN(2) == 0 {
		_, _ = s.client.Settle(s.ctx, limit.Settlement{Hold: *d.Hold, Used: used / 2, Open: true, For: 3 * time.Second})
	}
	for s.ctx.Err() == nil {
		settled, err := s.client.Settle(s.ctx, limit.Settlement{Hold: *d.Hold, Used: used})
		if err != nil {
			if errors.Is(err, limit.ErrUnknownHold) {
				s.t.Errorf("a hold of %v: %v", names, err)
				return
			}
			continue // it may have taken effect: what is settled again gets the same answer
		}
		for _, l := range settled.Limits {
			if l.State == limit.HoldUnknown || l.State == limit.HoldSettled && l.Charged != used {
				s.t.Errorf("limit %s: %+v, want %d charged", l.Name, l, used)
			}
		}
		s.used.Add(used)
		return
	}
}

// pause waits for a time, or until the context ends.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

func refs(names []string) (all []limit.Ref) {
	for _, name := range names {
		all = append(all, limit.Named(name))
	}
	return all
}

// remaining is what a bucket has left, once that is so many, or what it has after a minute.
func (s *streams) remaining(key, name string, want int64) (now int64) {
	s.t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); pause(s.ctx, 50*time.Millisecond) {
		d, err := s.client.Check(s.ctx, limit.Request{Key: key, Limits: refs([]string{name}), Look: true})
		if err != nil {
			continue
		}
		if now = d.Limits[0].Remaining; now == want {
			break
		}
	}
	return now
}

// settled ends the callers, and looks whether the budget has been charged what was used, to the token: nothing is held any more, also of
// the holds that were never settled, or never heard of.
func (s *streams) settled(key string) {
	s.t.Helper()
	s.stop.Store(true)
	s.wg.Wait()
	const budget = 1_000_000_000
	if got, want := s.remaining(key, "month", budget-s.used.Load()), budget-s.used.Load(); got != want {
		s.t.Errorf("%d are left of the month, want %d", got, want)
	}
	s.t.Logf("%d holds, of which %d were never settled; %d tokens used", s.taken.Load(), s.left.Load(), s.used.Load())
	if s.taken.Load() < 100 {
		s.t.Errorf("%d holds were taken: that shows little", s.taken.Load())
	}
}

func TestHolds(t *testing.T) {
	c := process.StartCluster(t, process.Build(t), 3, holdLimits)
	t.Run("exact", func(t *testing.T) {
		s := newStreams(t, c)
		s.run(200, "org:exact", "short", "month")
		pause(s.ctx, 3*time.Second)
		s.settled("org:exact")
		if got := s.remaining("org:exact", "short", 100_000); got != 100_000 {
			t.Errorf("%d are left of the short bucket, want a full bucket again", got)
		}
	})
	for _, name := range []string{"attacked", "attackedmonth"} {
		t.Run(name, func(t *testing.T) {
			s := newStreams(t, c)
			passed := atomic.Int64{}
			for range 500 {
				s.wg.Go(func() {
					d, err := s.client.Check(s.ctx, limit.Request{Key: "org:attack", Limits: refs([]string{name}), Cost: 1000, Hold: time.Minute})
					if err == nil && d.Allowed {
						passed.Add(1)
					}
				})
			}
			s.wg.Wait()
			if n := passed.Load(); n < 5 || n > 10 {
				t.Errorf("%d of 500 passed that hold 1,000 tokens each of 10,000", n)
			}
		})
	}
	t.Run("nodes are killed", func(t *testing.T) {
		s := newStreams(t, c)
		s.run(50, "org:killed", "month")
		for i := range 4 {
			pause(s.ctx, time.Second)
			m := c.Members[i%len(c.Members)]
			m.Kill()
			pause(s.ctx, 500*time.Millisecond)
			m.Launch()
			m.Ready()
		}
		s.settled("org:killed")
	})
}
