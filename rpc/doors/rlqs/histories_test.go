package rlqs_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

// A history is drawn: a limit, and what happens to the Envoys that divide it.
type history struct {
	random *rand.Rand
	limit  string
	envoys int
	cuts   float64 // a second, of each stream
	calm   float64 // of Envoys that ask for little
	fast   float64 // requests a second of those that ask for more
	far    bool    // the cluster
	rushes float64 // a second: all that Envoys have is spent at once, and all that the bucket has
}

func draw(seed uint64) history {
	r := rand.New(rand.NewPCG(seed, 9))
	h := history{random: r, envoys: 1 + r.IntN(6), cuts: []float64{0, 0.02, 0.3}[r.IntN(3)], calm: r.Float64(), fast: 1 + 300*r.Float64()*r.Float64(), rushes: []float64{0.05, 0.2, 1}[r.IntN(3)], far: r.IntN(3) == 0}
	if rate := 1 + r.IntN(100); r.IntN(4) > 0 {
		h.limit = fmt.Sprintf("{capacity: %d, refill: %d/s, consistency: leased}", 1+int(float64(rate)*(1.5+18*r.Float64())), rate)
	} else {
		h.limit = fmt.Sprintf("{algorithm: fixed-window, limit: %d, window: %ds, consistency: leased}", 2+r.IntN(500), 4+r.IntN(30))
	}
	return h
}

// Whatever happens to Envoys and their streams, and whoever else spends of the bucket, no window has more than the limit. What is late is so by no more than slack allows.
func TestRandomHistories(t *testing.T) {
	histories := uint64(20)
	if testing.Short() {
		histories = 5
	}
	passed := 0
	for seed := range histories {
		h := draw(seed)
		t.Run(fmt.Sprintf("%d: %s, %d Envoys", seed, h.limit, h.envoys), func(t *testing.T) {
			inBubbleBy(t, "limits: {api: "+h.limit+"}", h.cluster, func(b *bed) {
				t := b.t
				passed += h.play(t, b)
			})
		})
	}
	if passed < 1000 {
		t.Errorf("%d requests passed in all histories", passed)
	}
}

// cluster is what the door asks. Some are far away, and sometimes further than an assignment can wait for.
func (h *history) cluster(l limit.Limiter) limit.Limiter {
	if h.far {
		return distant{l}
	}
	return l
}

type distant struct{ limit.Limiter }

func (l distant) Check(ctx context.Context, r limit.Request) (limit.Decision, error) {
	<-time.After(upTo(300 * time.Millisecond))
	d, err := l.Limiter.Check(ctx, r)
	<-time.After(upTo(300 * time.Millisecond))
	return d, err
}

// play lets the history happen, for a minute.
func (h *history) play(t *testing.T, b *bed) (passed int) {
	t.Helper()
	r := h.random
	f := newFleet(b, h.envoys, r.Uint64(), func() time.Duration { return upTo(300 * time.Millisecond) })
	for _, e := range f.envoys {
		e.lateBy = func() time.Duration { return upTo(200 * time.Millisecond) }
	}
	rule, _ := b.limits().Rule("api")
	envelope := rule.Envelope()
	f.judge.capacity, f.judge.rate = float64(envelope.Burst), float64(envelope.Refill.Tokens)/envelope.Refill.Per.Seconds()
	rates, until := make([]float64, h.envoys), make([]time.Duration, h.envoys)
	const tick = 10 * time.Millisecond
	f.between = func(time.Duration) {
		for i := range f.envoys {
			if r.Float64() < h.cuts*tick.Seconds() {
				f.redial(i)
			}
		}
		if r.Float64() < h.rushes*tick.Seconds() {
			f.rush(t)
		}
	}
	f.run(t, r, time.Minute, func(i int, at time.Duration) float64 {
		if at >= until[i] {
			until[i] = at + time.Duration(r.Int64N(int64(8*time.Second)))
			if rates[i] = h.fast; r.Float64() < h.calm {
				rates[i] = r.Float64()
			}
		}
		return rates[i]
	})
	f.end()
	return f.judge.passed
}

// upTo is some time, for any goroutine.
func upTo(most time.Duration) time.Duration { return time.Duration(rand.Int64N(int64(most))) }

// rush spends all that there is: what Envoys have, and what the owner gives.
func (f *fleet) rush(t *testing.T) {
	t.Helper()
	for _, e := range f.envoys {
		for e.request(api) {
			f.judge.pass(t)
		}
	}
	for cost := int64(1 << 10); cost > 0; {
		d, err := f.system.Check(t.Context(), limit.Request{Key: api["key"], Limits: []limit.Ref{limit.Named("api")}, Cost: cost})
		switch {
		case err != nil:
			t.Fatal(err)
		case !d.Allowed:
			cost /= 2
		default:
			for range cost {
				f.judge.pass(t)
			}
		}
	}
}

// Envoy spends what it has at the very last, and then others spend all that the bucket has: by then the line behind an assignment must not have passed.
func TestSpentAtTheLast(t *testing.T) {
	inBubble(t, "limits: {api: {capacity: 1000, refill: 100/s, consistency: leased}}", func(b *bed) {
		t := b.t
		f := newFleet(b, 2, 3, func() time.Duration { return 0 })
		f.judge.capacity, f.judge.rate = 1000, 100
		for _, e := range f.envoys {
			e.request(api)
			b.waitForAssignment(e)
		}
		<-time.After(3100 * time.Millisecond)
		f.rush(t)
		if held, _ := f.envoys[1].holds(api); held.allowed < 50 || f.judge.passed < 750 {
			t.Errorf("%d passed, of them %d at the second Envoy", f.judge.passed, held.allowed)
		}
		f.end()
	})
}

// waitForAssignment waits until Envoy has another assignment.
func (b *bed) waitForAssignment(e *envoy) {
	b.t.Helper()
	was, _ := e.holds(api)
	for range 10_000 {
		if is, ok := e.holds(api); ok && is.assignments > was.assignments {
			return
		}
		<-time.After(time.Millisecond)
	}
	b.t.Fatal("no assignment for ten seconds")
}
