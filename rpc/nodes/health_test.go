package nodes

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// A patient is a health in the hands of a test.
type patient struct {
	*health
	end    context.CancelFunc
	probed chan time.Time // when it was probed
	fell   atomic.Int32   // how many times it was good no more
	money  int            // for hedges; guarded by health.mu

	mu     sync.Mutex
	answer error // to probes; context.DeadlineExceeded: none
}

// newPatient makes a node's health in the bubble of a test.
func newPatient(t *testing.T) *patient {
	t.Helper()
	ctx, end := context.WithCancel(t.Context())
	p := &patient{end: end, probed: make(chan time.Time, 100), money: 3}
	var running sync.WaitGroup
	p.health = &health{
		longest: lastPause,
		probe: func(ctx context.Context) error {
			p.probed <- time.Now()
			p.mu.Lock()
			answer := p.answer
			p.mu.Unlock()
			if errors.Is(answer, context.DeadlineExceeded) {
				<-ctx.Done()
			}
			return answer
		},
		begin: func(f func(context.Context)) bool {
			running.Go(func() { f(ctx) })
			return true
		},
		afford: func() bool {
			p.money--
			return p.money >= 0
		},
		worse: func() { p.fell.Add(1) },
	}
	t.Cleanup(func() {
		end()
		running.Wait()
	})
	return p
}

// answers sets what probes are answered with.
func (p *patient) answers(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answer = err
}

// A guest is a call that waits.
type guest struct {
	waiter
	alone         atomic.Bool
	hedges, ended atomic.Int32
}

func (g *guest) canMove() bool   { return !g.alone.Load() }
func (g *guest) comesBack() bool { return false }
func (g *guest) hedge()          { g.hedges.Add(1) }
func (g *guest) giveUp()         { g.ended.Add(1) }

// calls makes guests wait.
func (p *patient) calls(n int) []*guest {
	guests := make([]*guest, n)
	for i := range guests {
		guests[i] = new(guest)
		guests[i].of = guests[i]
		p.enter(&guests[i].waiter)
	}
	return guests
}

// pass lets time pass in the bubble.
func pass(d time.Duration) {
	time.Sleep(d) //nolint:forbidigo // the bubble's clock
	synctest.Wait()
}

func (p *patient) want(t *testing.T, want state, fell int) {
	t.Helper()
	if p.state() != want || int(p.fell.Load()) != fell {
		t.Errorf("state %d, fell %d times; want %d and %d", p.state(), p.fell.Load(), want, fell)
	}
}

// TestSilenceIsSuspect lets calls wait: after 50 ms some are hedged, and as the node does not answer a probe
// either, all are given up 250 ms after they came.
func TestSilenceIsSuspect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPatient(t)
		p.answers(context.DeadlineExceeded)
		guests := p.calls(5)
		guests[1].alone.Store(true)
		pass(suspectAfter - 1)
		p.want(t, good, 0)
		pass(1)
		p.want(t, suspect, 1)
		for i, want := range []int32{1, 0, 1, 1, 0} {
			if got := guests[i].hedges.Load(); got != want {
				t.Errorf("call %d was hedged %d times", i, got)
			}
		}
		p.health.mu.Lock()
		p.money = 1
		p.health.mu.Unlock()
		pass(suspectAfter) // before the next look at the latest
		if guests[4].hedges.Load() != 1 {
			t.Error("the last call was not hedged when it could be afforded")
		}
		pass(giveUpAfter - 2*suspectAfter - 1)
		p.want(t, suspect, 1)
		late := p.calls(1)[0]
		pass(suspectAfter + 1)
		p.want(t, bad, 1)
		for i, g := range guests {
			if (g.ended.Load() == 1) == g.alone.Load() {
				t.Errorf("call %d was given up %d times", i, g.ended.Load())
			}
		}
		if late.ended.Load() != 0 {
			t.Error("a call that has just come was given up")
		}
		pass(giveUpAfter + suspectAfter)
		if late.ended.Load() != 1 {
			t.Error("a call at a bad node was not given up")
		}
	})
}

// TestSlowIsNotSilent lets all calls take 40 ms, one after the other: then 50 ms without an answer are nothing unusual, but
// 120 ms are; and when calls are fast again, so is the suspicion.
func TestSlowIsNotSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPatient(t)
		p.answers(nil)
		answered := func(n int, took time.Duration) {
			for range n {
				g := p.calls(1)[0]
				pass(took)
				p.leave(&g.waiter, true)
			}
		}
		answered(60, 40*time.Millisecond)
		g := p.calls(1)[0]
		pass(2 * suspectAfter)
		p.want(t, good, 0)
		pass(suspectAfter / 2)
		p.want(t, suspect, 1)
		p.leave(&g.waiter, true)
		answered(60, time.Millisecond)
		g = p.calls(1)[0]
		pass(suspectAfter)
		p.want(t, suspect, 2)
		p.leave(&g.waiter, true)
	})
}

// TestAnswersKeepANodeGood answers one call in 49 ms while another waits for long.
func TestAnswersKeepANodeGood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPatient(t)
		slow := p.calls(1)[0]
		for range 20 {
			g := p.calls(1)[0]
			pass(suspectAfter - time.Millisecond)
			p.leave(&g.waiter, true)
		}
		p.want(t, good, 0)
		p.leave(&slow.waiter, true)
	})
}

// TestImpatientCallers leave before 50 ms are over, one after the other, and none is answered: the silence adds up. Time
// in which nobody waits does not count.
func TestImpatientCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPatient(t)
		for range 4 {
			g := p.calls(1)[0]
			pass(10 * time.Millisecond)
			p.leave(&g.waiter, false)
			pass(time.Hour)
		}
		p.want(t, good, 0)
		g := p.calls(1)[0]
		pass(suspectAfter) // the timer of the last one fires first
		p.want(t, suspect, 1)
		p.leave(&g.waiter, true)
		p.want(t, good, 1)
	})
}

// TestProbing fails a node, and probes it: after 50 ms, 100 ms and so on, until it answers.
func TestProbing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPatient(t)
		p.answers(errors.New("refused"))
		p.fail(errSilent)
		p.fail(errSilent)
		p.want(t, bad, 1)
		last := time.Now()
		for _, pause := range []int{50, 100, 200, 400, 800, 1000, 1000} {
			at := <-p.probed
			if got := at.Sub(last); got != time.Duration(pause)*time.Millisecond {
				t.Errorf("probed after %v, want %v ms", got, pause)
			}
			last = at
		}
		synctest.Wait()
		p.answers(nil)
		<-p.probed
		synctest.Wait()
		p.want(t, good, 1)

		p.answers(errors.New("refused")) // in trouble again, without an answer in between
		p.fail(errSilent)
		start := time.Now()
		if at := <-p.probed; at.Sub(start) != lastPause {
			t.Errorf("probed after %v, want %v", at.Sub(start), lastPause)
		}
		g := p.calls(1)[0]
		p.leave(&g.waiter, true)
		p.want(t, good, 2)
		synctest.Wait()
		p.fail(errSilent)
		start = time.Now()
		if at := <-p.probed; at.Sub(start) != firstPause {
			t.Errorf("after an answer it is probed after %v, want %v", at.Sub(start), firstPause)
		}
	})
}

// TestNodeThatOnlyAnswersProbes stays suspect for longer and longer.
func TestNodeThatOnlyAnswersProbes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPatient(t)
		p.calls(1)
		for i, pause := range []int{50, 100, 200} {
			pass(suspectAfter)
			p.want(t, suspect, i+1)
			pass(time.Duration(pause)*time.Millisecond - 1)
			p.want(t, suspect, i+1)
			pass(1)
			p.want(t, good, i+1)
		}
	})
}

// TestDeafNode answers probes and no call: those that cannot be afforded a second try are given up when nobody
// has been answered for half a second.
func TestDeafNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPatient(t)
		p.money = 0
		early := p.calls(1)[0]
		pass(suspectAfter - time.Millisecond)
		answered := p.calls(1)[0]
		p.leave(&answered.waiter, true)
		late := p.calls(1)[0]
		pass(deafAfter - 1)
		if early.ended.Load()+late.ended.Load() != 0 {
			t.Error("one was given up too early")
		}
		pass(2 * suspectAfter)
		for i, g := range []*guest{early, late} {
			if g.ended.Load() != 1 || g.hedges.Load() != 0 {
				t.Errorf("call %d was given up %d times, and tried again %d times", i, g.ended.Load(), g.hedges.Load())
			}
		}
	})
}

func TestRested(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPatient(t)
		<-p.rested()
		guests := p.calls(2)
		idle := p.rested()
		p.leave(&guests[1].waiter, true)
		select {
		case <-idle:
			t.Error("idle with a call that waits")
		default:
		}
		p.leave(&guests[0].waiter, false)
		<-idle
	})
}

func TestBudget(t *testing.T) {
	var b budget
	taken := func() (n int) {
		for b.take() {
			n++
		}
		return n
	}
	if n := taken(); n != burst {
		t.Errorf("%d second tries at first, want %d", n, burst)
	}
	for range 1000 * pricePerHedge {
		b.earn()
	}
	if n := taken(); n != burst {
		t.Errorf("%d second tries after a long time, want %d", n, burst)
	}
	second := 0
	for range 10_000 {
		b.earn()
		second += taken()
	}
	if second != 10_000/pricePerHedge {
		t.Errorf("%d second tries of 10,000 calls, want a twentieth", second)
	}
}

// TestCallersInAHurry leave before 50 ms are over, and come so seldom that the timer of one never meets the next: it is
// found out all the same.
func TestCallersInAHurry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPatient(t)
		p.answers(context.DeadlineExceeded)
		g := p.calls(1)[0]
		pass(suspectAfter - time.Millisecond)
		p.leave(&g.waiter, false)
		pass(time.Minute)
		p.want(t, good, 0)
		g = p.calls(1)[0]
		pass(suspectAfter/2 - 1)
		p.want(t, good, 0)
		pass(1)
		p.want(t, suspect, 1)
		p.leave(&g.waiter, false)
		pass(probeWithin)
		p.want(t, bad, 1)
	})
}

// TestProbingOften never pauses for longer than it was told to.
func TestProbingOften(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPatient(t)
		p.longest = fastPause
		p.answers(errors.New("refused"))
		p.fail(errSilent)
		last := time.Now()
		for _, pause := range []int{50, 100, 200, 250, 250} {
			at := <-p.probed
			if got := at.Sub(last); got != time.Duration(pause)*time.Millisecond {
				t.Errorf("probed after %v, want %v ms", got, pause)
			}
			last = at
		}
	})
}

// TestFarAway has a node answer every probe after 210 ms: once it was bad, it is good again as soon as it has answered one, though
// nothing else is sent to it; and calls to it may take as long.
func TestFarAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const away = probeWithin + 10*time.Millisecond
		p := newPatient(t)
		p.longest = fastPause
		var gone atomic.Bool
		p.health.probe = func(ctx context.Context) error {
			answer := time.After(away)
			if gone.Load() {
				answer = nil
			}
			select {
			case <-answer:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		p.fail(errSilent) // a connection that broke
		pass(fastPause + away)
		p.want(t, good, 1)
		for range 10 {
			g := p.calls(1)[0]
			pass(away)
			p.leave(&g.waiter, true)
			p.want(t, good, 1)
		}
		gone.Store(true)
		g := p.calls(1)[0] // which has no answer
		pass(maxSuspectAfter + probeWithin + 1)
		p.want(t, bad, 2)
		p.leave(&g.waiter, false)
	})
}

// A bystander is a call that cannot go on elsewhere.
type bystander struct{ looks atomic.Int64 }

func (b *bystander) canMove() bool   { b.looks.Add(1); return false }
func (b *bystander) comesBack() bool { return false }
func (b *bystander) hedge()          {}
func (b *bystander) giveUp()         {}

// A node that was refused first is bad without having been suspect: a call that waits there is looked at now and then, not all the
// time. Looks without a pause would keep the clock of a bubble from moving, so this test takes the real one: a slow machine looks less often.
func TestLooksAtABadNodeArePaced(t *testing.T) {
	p := newPatient(t)
	defer p.end()
	p.answers(errors.New("connection refused"))
	p.health.fail(errors.New("connection refused"))
	b := &bystander{}
	w := &waiter{of: b}
	p.health.enter(w)
	<-time.After(250 * time.Millisecond)
	p.health.leave(w, false)
	if n := b.looks.Load(); n > 60 {
		t.Errorf("%d looks in 250 ms, which are to be at least %v apart", n, lookAgain)
	}
}
