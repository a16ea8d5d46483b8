package rlqs_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	rlqsv3 "github.com/envoyproxy/go-control-plane/envoy/service/rate_limit_quota/v3"
)

var api = map[string]string{"limit": "api", "key": "user:42"}

// A judge holds what all Envoys let pass to C + r·w.
type judge struct {
	capacity, rate float64
	level          float64
	last           time.Time
	passed, came   int
	most           float64
}

// pass notes a request that passes now. It is called in the order of time.
func (j *judge) pass(t *testing.T) {
	t.Helper()
	now := time.Now()
	if !j.last.IsZero() {
		j.level = max(j.level-now.Sub(j.last).Seconds()*j.rate, 0)
	}
	j.last = now
	j.level++
	j.most = max(j.most, j.level)
	j.passed++
	if j.level > j.capacity+1e-6 {
		t.Fatalf("in a window that ends now %.1f more passed than comes back in it: the bucket holds %.0f", j.level, j.capacity)
	}
}

// A fleet is some Envoys that ask as fast as a schedule says.
type fleet struct {
	*bed

	envoys []*envoy
	links  []*link
	judge  judge
	delay  func() time.Duration

	between func(at time.Duration) // runs at every tick
}

func newFleet(b *bed, n int, seed uint64, delay func() time.Duration) *fleet {
	f := &fleet{bed: b, delay: delay}
	for i := range n {
		e := newEnvoy("edge", true, seed+uint64(i), func(m *rlqsv3.RateLimitQuotaUsageReports) {
			select {
			case f.links[i].reports <- m:
			default: // the stream is lost, or its queue full
			}
		})
		f.envoys, f.links = append(f.envoys, e), append(f.links, b.dial(e.told, delay))
	}
	return f
}

// redial cuts the stream of an Envoy, and opens another one.
func (f *fleet) redial(i int) {
	f.links[i].cut()
	f.links[i] = f.dial(f.envoys[i].told, f.delay)
}

func (f *fleet) end() {
	for _, l := range f.links {
		l.cut()
	}
}

// run sends requests for so long, at so many a second to each Envoy at random times, one after the other in virtual time. Each Envoy reports every five seconds, at its own phase.
func (f *fleet) run(t *testing.T, r *rand.Rand, length time.Duration, rate func(envoy int, at time.Duration) float64) {
	t.Helper()
	const tick = 10 * time.Millisecond
	owed := make([]float64, len(f.envoys))
	for at := time.Duration(0); at < length; at += tick {
		for i, e := range f.envoys {
			owed[i] += rate(i, at) * tick.Seconds() * 2 * r.Float64()
			for ; owed[i] >= 1; owed[i]-- {
				f.judge.came++
				if e.request(api) {
					f.judge.pass(t)
				}
			}
			if (at+time.Duration(i)*370*time.Millisecond)%(5*time.Second) < tick {
				e.report()
			}
		}
		if f.between != nil {
			f.between(at)
		}
		<-time.After(tick)
	}
}

// However many Envoys divide a limit, what they let pass together is bounded by it; and when more is asked for than there is, nearly all of it is used.
func TestEnvoysDivideALimit(t *testing.T) {
	for _, n := range []int{1, 2, 10} {
		for name, each := range map[string]float64{"little": 60.0 / float64(n), "all": 100.0 / float64(n), "flood": 1000} {
			t.Run(fmt.Sprintf("%d, %s", n, name), func(t *testing.T) {
				inBubble(t, "limits: {api: {capacity: 1000, refill: 100/s, consistency: leased}}", func(b *bed) {
					t := b.t
					f := newFleet(b, n, 7, func() time.Duration { return 5 * time.Millisecond })
					f.judge.capacity, f.judge.rate = 1000, 100
					r := rand.New(rand.NewPCG(1, uint64(n)))
					f.run(t, r, 10*time.Second, func(int, time.Duration) float64 { return each })
					passed, came := f.judge.passed, f.judge.came
					f.run(t, r, 60*time.Second, func(int, time.Duration) float64 { return each })
					share, least := float64(f.judge.passed-passed)/min(float64(f.judge.came-came), 6000), map[string]float64{"little": 0.98, "all": 0.9, "flood": 0.9}[name]
					t.Logf("%.1f%% of what could pass passed, at most %.0f more at once than comes back", 100*share, f.judge.most)
					if share < least {
						t.Errorf("%.1f%% of what could pass passed, want %.0f%%", 100*share, 100*least)
					}
					f.end()
				})
			})
		}
	}
}
