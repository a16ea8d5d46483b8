package cluster

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/ring/agreed/agreedtest"
)

// clocksOf are those of a node and of others that are ahead of it by so much; nil is one that does not answer.
func clocksOf(now *int64, others ...*int64) *clocks {
	k := newClocks(func() int64 { return *now }, func(by int64) { *now += by }, slog.New(slog.DiscardHandler))
	peers, clock := map[ring.NodeID]string{}, map[string]*int64{}
	for i, other := range others {
		peers[agreedtest.ID(i+1)] = agreedtest.ID(i + 1).String()
		clock[agreedtest.ID(i+1).String()] = other
	}
	k.peers = func() map[ring.NodeID]string { return peers }
	k.members = func() int { return len(others) + 1 }
	k.ask = func(_ context.Context, address string) (int64, error) {
		if clock[address] == nil {
			return 0, errors.New("silence")
		}
		return *clock[address], nil
	}
	return k
}

func at(ms int64) *int64 {
	ns := ms * int64(time.Millisecond)
	return &ns
}

func TestClockMedian(t *testing.T) {
	for _, c := range []struct {
		name   string
		others []*int64 // own is at 1000 s
		after  int64    // own, in ms
		offset int64    // then
		agrees bool
	}{
		{"alone", nil, 1000_000, 0, true},
		{"nobody answers", []*int64{nil, nil}, 1000_000, 0, true},
		{"of two nobody knows", []*int64{at(1010_000)}, 1000_000, 0, true},
		{"near", []*int64{at(1000_100), at(1000_200)}, 1000_000, 100, true},
		{"one is far ahead", []*int64{at(1000_001), at(2000_000)}, 1000_000, 1, true},
		{"it is behind", []*int64{at(1010_000), at(1010_100)}, 1010_000, 0, true},
		{"it is ahead", []*int64{at(990_000), at(990_100)}, 1000_000, -9900, false},
		{"of four, two are ahead of it and of one more", []*int64{at(1000_000), at(1032_000), at(1032_000)}, 1000_000, 0, true},
		{"of four, three are ahead", []*int64{at(1010_000), at(1010_300), at(1010_100)}, 1010_000, 0, true},
		{"of four, one does not answer: two are no majority", []*int64{at(1010_000), nil, at(1010_100)}, 1000_000, 10_000, false},
		{"of five, two do not answer", []*int64{at(1010_000), nil, nil, at(1010_100)}, 1000_000, 10_000, false},
		{"of five, one does not answer", []*int64{at(1010_000), nil, at(1010_200), at(1010_100)}, 1010_000, 0, true},
		{"of four, all near", []*int64{at(1000_200), at(1000_600), at(1000_900)}, 1000_000, 200, true},
	} {
		now := at(1000_000)
		k := clocksOf(now, c.others...)
		k.round(t.Context(), k.peers())
		if offset := k.comparison().Offset(); *now != *at(c.after) || offset != *at(c.offset) || k.agrees() != c.agrees {
			t.Errorf("%s: it is %d, %d off, agrees %v", c.name, *now/1e6, offset/1e6, k.agrees())
		}
	}
}

// A node that stops deciding because of its clock says so in the log, once, with what to do; and that it decides again.
func TestWrongClockIsTold(t *testing.T) {
	var log bytes.Buffer
	now := at(1000_000)
	k := clocksOf(now, at(990_000), at(990_100))
	k.logger = slog.New(slog.NewTextHandler(&log, nil))
	said := func() string {
		k.round(t.Context(), k.peers())
		defer log.Reset()
		return log.String()
	}
	for _, want := range []string{"level=WARN", "the clock of this node", "decides nothing", "restart", "ahead_by=9.9s"} {
		if log.Len() == 0 {
			k.round(t.Context(), k.peers())
		}
		if !strings.Contains(log.String(), want) {
			t.Errorf("%q does not say %q", log.String(), want)
		}
	}
	log.Reset()
	if again := said(); again != "" {
		t.Errorf("a second later it says %q", again)
	}
	*now = *at(990_000)
	if right := said(); !strings.Contains(right, "level=INFO") || !strings.Contains(right, "agrees with the others") {
		t.Errorf("when it is right it says %q", right)
	}
	if again := said(); again != "" {
		t.Errorf("a second later it says %q", again)
	}
	if k = clocksOf(at(1000_000), nil, at(1010_000), at(1010_000)); k.agrees() != true {
		t.Error("it differs before anything is heard")
	}
	k.logger = slog.New(slog.NewTextHandler(&log, nil))
	if behind := said(); !strings.Contains(behind, "behind_by=10s") { // of four, two are no majority that moves it
		t.Errorf("a clock that is behind says %q", behind)
	}
}

// A node that is silent now has a clock that was right or wrong when it answered last. One that was wrong then, and one that
// is wrong now, are no majority.
func TestOldReadingMovesNoClock(t *testing.T) {
	now, one, two := at(1000_000), at(1010_000), at(1000_000)
	k := clocksOf(now, one, two)
	k.round(t.Context(), k.peers())
	ask := k.ask
	k.ask = func(ctx context.Context, address string) (int64, error) {
		if address == agreedtest.ID(1).String() {
			return 0, errors.New("silence")
		}
		return ask(ctx, address)
	}
	*two = *at(1010_000)
	k.round(t.Context(), k.peers())
	if *now != *at(1000_000) {
		t.Errorf("the clock was put forward by %d ms", (*now-*at(1000_000))/1e6)
	}
	if k.agrees() {
		t.Error("it differs from all that is known, and agrees")
	}
}

func TestClockForgetsTheDead(t *testing.T) {
	k := clocksOf(at(1000), at(3000), at(1100), at(1200))
	k.round(t.Context(), k.peers())
	if h := k.highest(); h != *at(3000) {
		t.Errorf("the highest clock is at %d", h/1e6)
	}
	if ahead, heard := k.of(agreedtest.ID(1)); !heard || ahead != *at(2000) {
		t.Errorf("it is %d ahead, heard %v", ahead/1e6, heard)
	}
	k.peers = func() map[ring.NodeID]string { return nil }
	k.round(t.Context(), k.peers())
	if h := k.highest(); h != k.now() {
		t.Errorf("the highest clock is at %d, that of the dead", h/1e6)
	}
}

// What was long on its way says nothing about a clock.
func TestSlowAnswerIsNotUsed(t *testing.T) {
	now := at(1000)
	k := clocksOf(now, at(1000))
	ask := k.ask
	k.ask = func(ctx context.Context, address string) (int64, error) {
		*now += 2*clockTolerance + 1
		return ask(ctx, address)
	}
	k.round(t.Context(), k.peers())
	if heard := len(k.comparison().Ahead); heard != 0 {
		t.Error("it is used")
	}
	k.ask = func(ctx context.Context, address string) (int64, error) {
		*now += clockTolerance
		theirs, err := ask(ctx, address)
		return theirs + clockTolerance, err
	}
	*now = *at(1000)
	k.round(t.Context(), k.peers())
	if ahead, heard := k.of(agreedtest.ID(1)); !heard || ahead != clockTolerance/2 {
		t.Errorf("half of the way counts: %d, %v", ahead, heard)
	}
}

func TestNodesHearTheirClocks(t *testing.T) {
	r := newRig(t)
	all := expecting(3, r.chairs(3)...)
	jumps := make(chan int64, 10)
	all[2].config.Now = func() int64 { return r.now() - int64(time.Hour) }
	all[2].config.Advance = func(by int64) {
		select {
		case jumps <- by:
		default:
		}
	}
	startAll(all...)
	select {
	case by := <-jumps:
		if off := time.Duration(by) - time.Hour; off.Abs() > time.Second {
			t.Errorf("it was put forward by %s", time.Duration(by))
		}
	case <-time.After(long):
		t.Fatal("the node that is behind was not put forward")
	}
	if now := all[2].cluster.HighestNow(); now == 0 {
		t.Error("no clock is known")
	}
}

// A node that has just started has heard no clock yet, and may need one: its own may be behind.
func TestClocksAreComparedWhenAsked(t *testing.T) {
	all := expecting(3, newRig(t).chairs(3)...)
	startAll(all...)
	c := all[2].cluster
	c.clocks.mu.Lock()
	clear(c.clocks.offsets)
	c.clocks.mu.Unlock()
	all[2].soon("two clocks", func() bool { // on a machine that is busy, answers may be too late to be used
		c.CompareClocks(t.Context())
		_, heard := c.ClockOffset()
		return heard == 2
	})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c.CompareClocks(ctx) // which does not wait
}
