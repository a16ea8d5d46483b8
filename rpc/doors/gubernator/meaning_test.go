package gubernator

import (
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jeton-dev/jeton/rpc/doors/doorstest"
	"github.com/jeton-dev/jeton/rpc/pb/gubernatorpb"
)

// TestNeverMoreInAnyWindow draws hits, and counts what passes in each window of the duration that begins with a hit that passed.
func TestNeverMoreInAnyWindow(t *testing.T) {
	type passed struct {
		at   time.Time
		hits int64
	}
	for _, duration := range []time.Duration{time.Millisecond, 59 * time.Millisecond, 60 * time.Millisecond, 10 * time.Second, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			seed := rand.Uint64()
			rng := rand.New(rand.NewPCG(seed, 0))
			s, limit := newDoor(t, noLimits), 1+rng.Int64N(20)
			var all []passed
			for range 400 {
				hits := 1 + rng.Int64N(3)
				got := ask(t, s, &gubernatorpb.RateLimitReq{Name: "n", UniqueKey: "k", Hits: hits, Limit: limit, Duration: duration.Milliseconds()})[0]
				switch {
				case got.GetError() != "":
					t.Fatal(got)
				case got.GetStatus() == under:
					all = append(all, passed{time.Now(), hits})
				}
				sleep(time.Duration(rng.Int64N(int64(duration) / max(limit/2, 1))))
			}
			for i, first := range all {
				var sum int64
				for _, p := range all[i:] {
					if p.at.Sub(first.at) < duration {
						sum += p.hits
					}
				}
				if sum > limit {
					t.Fatalf("seed %d: %d of %d passed in %v", seed, sum, limit, duration)
				}
			}
			if len(all) < 20 {
				t.Errorf("seed %d: %d of 400 passed, which proves nothing", seed, len(all))
			}
		})
	}
}

// TestResetTimeOfADenial says when the same hits pass: not before.
func TestResetTimeOfADenial(t *testing.T) {
	for _, m := range []*gubernatorpb.RateLimitReq{
		{Limit: 10, Duration: 60_000},
		{Limit: 10, Duration: 40},
		{Limit: 10, Duration: 0, Behavior: gregorianFlag},
		{Limit: 10, Duration: 4, Behavior: gregorianFlag},
		{Limit: 10, Duration: 60_000, Algorithm: leaky},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newDoor(t, noLimits)
			m.Name, m.UniqueKey, m.Hits = "n", "k", 1
			sleep(1234 * time.Millisecond)
			for range 10 {
				ask(t, s, m)
				sleep(time.Millisecond)
			}
			denied := ask(t, s, m)[0]
			if denied.GetStatus() != over || denied.GetMetadata()[retryKey] == "" {
				t.Fatal(denied)
			}
			at := time.UnixMilli(denied.GetResetTime())
			sleep(time.Until(at) - 2*time.Millisecond)
			before := ask(t, s, m)[0]
			sleep(2 * time.Millisecond)
			after := ask(t, s, m)[0]
			// A leaky bucket is full then; the others have what was denied.
			if m.GetAlgorithm() == leaky {
				if after.GetRemaining() < 8 {
					t.Errorf("at the reset: %v", after)
				}
				return
			}
			if before.GetStatus() != over || after.GetStatus() != under {
				t.Errorf("%v: before the reset %v, and then %v", m, before, after)
			}
		})
	}
}

// TestWindowsOfTheCalendar has the next window begin in UTC, at its time.
func TestWindowsOfTheCalendar(t *testing.T) {
	// The bubble begins on Saturday, 1 January 2000.
	for duration, ends := range []time.Time{
		time.Date(2000, 1, 1, 0, 1, 0, 0, time.UTC),
		time.Date(2000, 1, 1, 1, 0, 0, 0, time.UTC),
		time.Date(2000, 1, 2, 0, 0, 0, 0, time.UTC),
		time.Date(2000, 1, 3, 0, 0, 0, 0, time.UTC),
		time.Date(2000, 2, 1, 0, 0, 0, 0, time.UTC),
		time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC),
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newDoor(t, noLimits)
			m := &gubernatorpb.RateLimitReq{Name: "n", UniqueKey: "k", Hits: 5, Limit: 5, Duration: int64(duration), Behavior: gregorianFlag}
			if got := ask(t, s, m)[0]; got.GetStatus() != under || !time.UnixMilli(got.GetResetTime()).Equal(ends) {
				t.Errorf("%d: %v, want a reset at %v", duration, got, ends.UnixMilli())
			}
			sleep(time.Until(ends) - time.Millisecond)
			if got := ask(t, s, m)[0]; got.GetStatus() != over {
				t.Errorf("%d: before its end %v", duration, got)
			}
			sleep(time.Millisecond)
			if got := ask(t, s, m)[0]; got.GetStatus() != under {
				t.Errorf("%d: in the next window %v", duration, got)
			}
		})
	}
}

// TestALeakyMonth has the longest month and year, so that no shorter one lets more pass.
func TestALeakyMonth(t *testing.T) {
	for duration, length := range map[int64]time.Duration{3: 7 * day, 4: 31 * day, 5: 366 * day} {
		synctest.Test(t, func(t *testing.T) {
			s := newDoor(t, noLimits)
			m := &gubernatorpb.RateLimitReq{Name: "n", UniqueKey: "k", Hits: 10, Limit: 10, Duration: duration, Algorithm: leaky, Behavior: gregorianFlag}
			if got := ask(t, s, m)[0]; time.Duration(got.GetResetTime()-time.Now().UnixMilli())*time.Millisecond != length {
				t.Errorf("%d: %v, want a reset in %v", duration, got, length)
			}
		})
	}
}

// TestStoredLimits has a stored limit decide in place of what the item says.
func TestStoredLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newDoor(t, "limits: {gub.login: {capacity: 3, refill: 3/1m, overrides: [{key: vip, capacity: 50}]}, other: {capacity: 1, refill: 1/s}}")
		item := func(name string, hits int64) *gubernatorpb.RateLimitReq {
			return &gubernatorpb.RateLimitReq{Name: name, UniqueKey: "k", Hits: hits, Limit: 100, Duration: 1000}
		}
		got := ask(t, s, item("login", 2), item("other", 2), item("login", 2))
		if got[0].GetLimit() != 3 || got[0].GetRemaining() != 1 || got[2].GetStatus() != over {
			t.Errorf("by the stored limit: %v, %v", got[0], got[2])
		}
		if got[1].GetLimit() != 100 || got[1].GetRemaining() != 98 {
			t.Errorf("by the item: %v", got[1])
		}
		vip := item("login", 1)
		vip.UniqueKey = "vip"
		if got := ask(t, s, vip)[0]; got.GetLimit() != 50 || got.GetRemaining() != 49 {
			t.Errorf("by an override: %v", got)
		}
		reset := item("login", 0)
		reset.Behavior = resetFlag
		if got := ask(t, s, reset, item("login", 2)); got[0].GetError() != "field 'behavior' cannot have RESET_REMAINING: limit gub.login is stored, and operators fill its buckets, as jeton bucket gub.login KEY --fill does" || got[1].GetStatus() != over {
			t.Errorf("a reset of a stored limit: %v, %v", got[0], got[1])
		}
	})
}

// TestALimitOfNothing lets nothing pass, and says so until when.
func TestALimitOfNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newDoor(t, noLimits)
		for _, tt := range []struct {
			hits     int64
			behavior gubernatorpb.Behavior
			status   gubernatorpb.Status
		}{{1, 0, over}, {0, 0, under}, {1, resetFlag, under}, {1, drainFlag, over}} {
			m := &gubernatorpb.RateLimitReq{Name: "n", UniqueKey: "k", Hits: tt.hits, Duration: 5000, Behavior: tt.behavior}
			if got := ask(t, s, m)[0]; got.GetStatus() != tt.status || got.GetRemaining() != 0 || got.GetError() != "" || got.GetResetTime() != time.Now().UnixMilli()+5000 {
				t.Errorf("%v: %v", m, got)
			}
		}
	})
}

// TestWhatIsIgnored has metadata and created_at change nothing.
func TestWhatIsIgnored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, at := newDoor(t, noLimits), time.Now().Add(48*time.Hour).UnixMilli()
		m := of("k", 1, 0)
		m.CreatedAt, m.Metadata = &at, map[string]string{"traceparent": "x"}
		ask(t, s, of("k", 1, 0))
		if got := ask(t, s, m)[0]; got.GetRemaining() != 8 || len(got.GetMetadata()) != 0 || got.GetResetTime() > time.Now().Add(time.Minute+2*time.Second).UnixMilli() {
			t.Errorf("%v", got)
		}
	})
}

// Where only operators fill buckets, an item that would is refused, and fills none.
func TestKeepsBuckets(t *testing.T) {
	d, err := New(Config{Limiter: doorstest.NewSystem(t, ""), KeepsBuckets: true})
	if err != nil {
		t.Fatal(err)
	}
	spent := &gubernatorpb.RateLimitReq{Name: "n", UniqueKey: "k", Hits: 5, Limit: 5, Duration: 60_000}
	reset := &gubernatorpb.RateLimitReq{Name: "n", UniqueKey: "k", Hits: 1, Limit: 5, Duration: 60_000, Behavior: resetFlag}
	got, err := d.service.GetRateLimits(minute(t), &gubernatorpb.GetRateLimitsReq{Requests: []*gubernatorpb.RateLimitReq{spent, reset, spent}})
	if err != nil {
		t.Fatal(err)
	}
	if a := got.GetResponses(); a[0].GetStatus() != under || !strings.Contains(a[1].GetError(), "only operators of this cluster may") || a[2].GetStatus() != over {
		t.Errorf("%v", a)
	}
}
