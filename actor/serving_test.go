package actor

import (
	"errors"
	"fmt"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jeton-dev/jeton/actor/clock"
	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/storage/register"
)

// TestServing has a node whose clock is off: it decides nothing, not even denials, and can still be looked at.
func TestServing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		off := fmt.Errorf("%w: this node's clock is off", limit.ErrUnavailable)
		var (
			why   error
			asked int
		)
		s := start(t, Config{Shards: 1, Serving: func() error { asked++; return why }})
		receipt := proof(t, s, spend("a", 4, "demo"))
		why = off
		for what, err := range map[string]error{
			"a check":  func() error { _, err := s.Check(t.Context(), spend("a", 1, "demo")); return err }(),
			"a denial": func() error { _, err := s.Check(t.Context(), spend("a", 11, "demo")); return err }(),
			"a reset":  s.Reset(t.Context(), "a", limit.Named("demo")),
			"a return": func() error { _, err := s.Return(t.Context(), "a", []limit.Receipt{receipt}); return err }(),
		} {
			if !errors.Is(err, off) {
				t.Errorf("%s: %v, want that the clock is off", what, err)
			}
		}
		if in := inspect(t, s, limit.Named("demo")); !in.Awake || in.Tokens != 6 {
			t.Errorf("inspected %+v, want 6 tokens", in)
		}
		if o := overview(t, s); o.Awake != 1 {
			t.Errorf("an overview shows %d actors, want 1", o.Awake)
		}
		why, asked = nil, 0
		var batch []limit.Request
		for i := range maxRound {
			batch = append(batch, spend("key:"+strconv.Itoa(i), 1, "demo"))
		}
		for _, r := range s.CheckBatch(t.Context(), batch) {
			if r.Err != nil {
				t.Error(r.Err)
			}
		}
		if asked != 1 {
			t.Errorf("asked %d times for a batch, want once", asked)
		}
		if got := drain(t, s, "a", "demo"); got != 6 {
			t.Errorf("%d of 10 were admitted after 4, want 6", got)
		}
	})
}

// TestInspectCluster looks at a bucket on replicas in all kinds of trouble.
func TestInspectCluster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(clock.New().Now, 5, 5, 1)
		s := c.viewer().start(t, Config{})
		decide(t, s, spend("a", 4, "demo"))
		c.peers[1].trouble(true, false)
		c.peers[3].trouble(false, true)
		c.peers[4].change(func(at *register.Partition) { at.Sealed = true })
		began := time.Now()
		in := inspect(t, s, limit.Named("demo"))
		if took := time.Since(began); took != time.Second {
			t.Errorf("looking at a replica that is silent took %v, want 1s", took)
		}
		if !in.Awake || in.Tokens != 6 || in.Epoch != 1 || len(in.Registers) != 5 {
			t.Fatalf("inspected %+v", in)
		}
		for i, r := range in.Registers {
			unread := i == 1 || i == 3
			if r.Node != c.peers[i].name || (r.Error != "") != unread || r.Sealed != (i == 4) {
				t.Errorf("register %d: %+v", i, r)
			}
			if !unread && (r.Epoch != 1 || r.Reserved != in.Segment.End && r.Reserved != in.TAT) {
				t.Errorf("register %d: %+v, with the segment %+v", i, r, in.Segment)
			}
		}
		pass(10 * time.Second) // asleep: what is known comes from a majority
		if in := inspect(t, s, limit.Named("demo")); in.Awake || in.Tokens != 6 {
			t.Errorf("inspected %+v, want 6 tokens of a bucket that is asleep", in)
		}
		c.peers[2].trouble(true, false)
		_, err := s.Inspect(t.Context(), "a", limit.Named("demo"), "")
		if !errors.Is(err, limit.ErrUnavailable) || !errors.Is(err, errDead) {
			t.Errorf("asleep, and two of five can be read: %v", err)
		}
	})
}
