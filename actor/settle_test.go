package actor

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jeton-dev/jeton/actor/clock"
	"github.com/jeton-dev/jeton/actor/limit"
)

// A settledAs is one answer to a settlement of an Each.
type settledAs struct {
	limit.Settled
	err error
}

// settleEach starts an Each of settlements, and says what has been answered whenever it is asked.
func settleEach(ctx context.Context, s *System, ss []limit.Settlement) (answers func() map[int][]settledAs) {
	var mu sync.Mutex
	all := map[int][]settledAs{}
	s.Each(ctx, nil, nil, ss, func(place int, settled limit.Settled, err error) {
		mu.Lock()
		defer mu.Unlock()
		all[place] = append(all[place], settledAs{settled, err})
	})
	return func() map[int][]settledAs {
		mu.Lock()
		defer mu.Unlock()
		return all
	}
}

// TestSettleEach settles holds of a line and of a window at once, with what cannot be settled between them: each gets its own answer, and
// settlements of one window share a write.
func TestSettleEach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := clock.New().Now
		regs := newRegisters(now)
		s := start(t, Config{Replicas: []Replica{regs}, Now: now, Limits: fixed(document(t, withHolds))})
		line, window := held(t, s, 4, "line"), []limit.Hold{held(t, s, 2, "window"), held(t, s, 2, "window"), held(t, s, 2, "window")}
		unknown, gone, partly := line, line, line
		unknown.Limits = []limit.Held{{Limit: "line", Owner: s.ID(), ID: 77}}
		gone.Limits = []limit.Held{{Limit: "no-more", Owner: s.ID(), ID: 77}}
		partly.Limits = append(partly.Limits[:0:0], limit.Held{Limit: "line", Owner: s.ID(), ID: 77}, gone.Limits[0])
		writes := regs.writes
		answers := settleEach(t.Context(), s, []limit.Settlement{
			{Hold: line, Used: 6},
			{Hold: unknown, Used: 1},
			{Hold: window[0], Used: 1},
			{Hold: line, Used: -1},
			{Hold: gone, Used: 1},
			{Hold: window[1], Used: 3},
			{Hold: window[2], Used: 0},
			{Hold: line, Open: true, For: time.Hour},
			{Hold: partly, Used: 1},
		})
		synctest.Wait()
		got := answers()
		if n := regs.writes - writes; n > 3 { // one of the line, and two of the window: what comes while the first is under way shares the second
			t.Errorf("%d writes for four settlements", n)
		}
		for place, charged := range map[int]int64{0: 6, 2: 1, 5: 3, 6: 0} {
			if a := got[place]; len(a) != 1 || a[0].err != nil || a[0].Charged != charged || a[0].Limits[0].State != limit.HoldSettled {
				t.Errorf("settlement %d: %+v, want %d charged", place, a, charged)
			}
		}
		for place, is := range map[int]func(error) bool{
			1: func(err error) bool { return errors.Is(err, limit.ErrUnknownHold) },
			3: func(err error) bool { fe, ok := errors.AsType[*limit.FieldError](err); return ok && fe.Field == "cost" },
			4: func(err error) bool {
				return errors.Is(err, limit.ErrUnknownHold) && err.Error() == `unknown hold: its limits ["no-more"] are not stored any more, so this settlement charged nothing of key "a"`
			},
			8: func(err error) bool {
				return errors.Is(err, limit.ErrUnknownHold) && strings.HasSuffix(err.Error(), `, of key "a" and limits ["line" "no-more"], of which ["no-more"] are not stored any more`)
			},
			7: func(err error) bool { fe, ok := errors.AsType[*limit.FieldError](err); return ok && fe.Field == "for" },
		} {
			if a := got[place]; len(a) != 1 || !is(a[0].err) {
				t.Errorf("settlement %d: %+v", place, a)
			}
		}
		if in := inspect(t, s, limit.Named("window")); in.Tokens != 6 {
			t.Errorf("%d tokens are left of the window, want 6", in.Tokens)
		}
	})
}

// TestSettleEachIsBounded hands over more settlements than there may be, and some for whose answers nobody waits.
func TestSettleEachIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := clock.New().Now
		s := start(t, Config{Replicas: []Replica{newRegisters(now)}, Now: now, Limits: fixed(document(t, withHolds))})
		h := held(t, s, 4, "line")
		many := make([]limit.Settlement, limit.MaxBatch+1)
		for place, a := range settleEach(t.Context(), s, many)() {
			if fe, ok := errors.AsType[*limit.FieldError](a[0].err); !ok || len(a) != 1 || fe.Field != "checks" {
				t.Fatalf("settlement %d of too many: %+v", place, a)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if a := settleEach(ctx, s, []limit.Settlement{{Hold: h, Used: 1}})()[0]; len(a) != 1 || !errors.Is(a[0].err, context.Canceled) {
			t.Errorf("after the end of the context: %+v", a)
		}
		if in := inspect(t, s, limit.Named("line")); in.Holds.Open != 1 {
			t.Errorf("%d holds are open, want the one", in.Holds.Open)
		}
	})
}
