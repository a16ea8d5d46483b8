package clocks

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
func clocksOf(now *int64, others ...*int64) *Clocks {
	peers, clock := map[ring.NodeID]string{}, map[string]*int64{}
	for i, other := range others {
		peers[agreedtest.ID(i+1)] = agreedtest.ID(i + 1).String()
		clock[agreedtest.ID(i+1).String()] = other
	}
	return New(Config{
		Now: func() int64 { return *now }, Advance: func(by int64) { *now += by },
		Peers:   func() map[ring.NodeID]string { return peers },
		Members: func() int { return len(others) + 1 },
		Ask: func(_ context.Context, address string) (int64, error) {
			if clock[address] == nil {
				return 0, errors.New("silence")
			}
			return *clock[address], nil
		},
		Logger: slog.New(slog.DiscardHandler),
	})
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
		k.round(t.Context(), k.config.Peers())
		if offset := k.Comparison().Offset(); *now != *at(c.after) || offset != *at(c.offset) || k.Agrees() != c.agrees {
			t.Errorf("%s: it is %d, %d off, agrees %v", c.name, *now/1e6, offset/1e6, k.Agrees())
		}
	}
}

// A node that stops deciding because of its clock says so in the log, once, with what to do; and that it decides again.
func TestWrongClockIsTold(t *testing.T) {
	var log bytes.Buffer
	now := at(1000_000)
	k := clocksOf(now, at(990_000), at(990_100))
	k.config.Logger = slog.New(slog.NewTextHandler(&log, nil))
	said := func() string {
		k.round(t.Context(), k.config.Peers())
		defer log.Reset()
		return log.String()
	}
	for _, want := range []string{"level=WARN", "this node's clock", "decides nothing", "restart", "ahead_by=9.9s"} {
		if log.Len() == 0 {
			k.round(t.Context(), k.config.Peers())
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
	if right := said(); !strings.Contains(right, "level=INFO") || !strings.Contains(right, "agrees with the other nodes") {
		t.Errorf("when it is right it says %q", right)
	}
	if again := said(); again != "" {
		t.Errorf("a second later it says %q", again)
	}
	if k = clocksOf(at(1000_000), nil, at(1010_000), at(1010_000)); k.Agrees() != true {
		t.Error("it differs before anything is heard")
	}
	k.config.Logger = slog.New(slog.NewTextHandler(&log, nil))
	if behind := said(); !strings.Contains(behind, "behind_by=10s") { // of four, two are no majority that moves it
		t.Errorf("a clock that is behind says %q", behind)
	}
}

// A node that is silent now has a clock that was right or wrong when it answered last. One that was wrong then, and one that
// is wrong now, are no majority.
func TestOldReadingMovesNoClock(t *testing.T) {
	now, one, two := at(1000_000), at(1010_000), at(1000_000)
	k := clocksOf(now, one, two)
	k.round(t.Context(), k.config.Peers())
	ask := k.config.Ask
	k.config.Ask = func(ctx context.Context, address string) (int64, error) {
		if address == agreedtest.ID(1).String() {
			return 0, errors.New("silence")
		}
		return ask(ctx, address)
	}
	*two = *at(1010_000)
	k.round(t.Context(), k.config.Peers())
	if *now != *at(1000_000) {
		t.Errorf("the clock was put forward by %d ms", (*now-*at(1000_000))/1e6)
	}
	if k.Agrees() {
		t.Error("it differs from all that is known, and agrees")
	}
}

func TestClockForgetsTheDead(t *testing.T) {
	k := clocksOf(at(1000), at(3000), at(1100), at(1200))
	k.round(t.Context(), k.config.Peers())
	if h := k.Highest(); h != *at(3000) {
		t.Errorf("the highest clock is at %d", h/1e6)
	}
	if ahead, heard := k.Of(agreedtest.ID(1)); !heard || ahead != *at(2000) {
		t.Errorf("it is %d ahead, heard %v", ahead/1e6, heard)
	}
	k.config.Peers = func() map[ring.NodeID]string { return nil }
	k.round(t.Context(), k.config.Peers())
	if h := k.Highest(); h != k.config.Now() {
		t.Errorf("the highest clock is at %d, that of the dead", h/1e6)
	}
}

// What was long on its way says nothing about a clock.
func TestSlowAnswerIsNotUsed(t *testing.T) {
	now := at(1000)
	k := clocksOf(now, at(1000))
	ask := k.config.Ask
	k.config.Ask = func(ctx context.Context, address string) (int64, error) {
		*now += 2*clockTolerance + 1
		return ask(ctx, address)
	}
	k.round(t.Context(), k.config.Peers())
	if heard := len(k.Comparison().Ahead); heard != 0 {
		t.Error("it is used")
	}
	k.config.Ask = func(ctx context.Context, address string) (int64, error) {
		*now += clockTolerance
		theirs, err := ask(ctx, address)
		return theirs + clockTolerance, err
	}
	*now = *at(1000)
	k.round(t.Context(), k.config.Peers())
	if ahead, heard := k.Of(agreedtest.ID(1)); !heard || ahead != clockTolerance/2 {
		t.Errorf("half of the way counts: %d, %v", ahead, heard)
	}
}
