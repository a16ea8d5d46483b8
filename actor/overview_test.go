package actor

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/jeton-dev/jeton/actor/clock"
	"github.com/jeton-dev/jeton/storage/register"
)

func TestOverview(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, now := shutFor("stuck")
		s := start(t, Config{Replicas: []Replica{g}, Now: now, Shards: 3})
		if o := overview(t, s); o.Awake != 0 || o.Waiting != 0 || len(o.Shards) != 3 || len(o.Busiest) != 0 {
			t.Errorf("nothing has happened: %+v", o)
		}
		for i := range int64(20) {
			decide(t, s, spend("user:"+strconv.FormatInt(i, 10), 1+i/2, "fast"))
		}
		decide(t, s, spend("two", 7, "odd", "fast"))
		decide(t, s, spend("peek", 0, "fast"))
		for range 3 {
			ask(t.Context(), s, spend("stuck", 1, "slow"))
		}
		synctest.Wait()
		defer g.open()
		o, err := s.Overview(t.Context(), 6)
		if err != nil {
			t.Fatal(err)
		}
		awake, waiting := 0, 0
		for _, sh := range o.Shards {
			awake += sh.Awake
			waiting += sh.Waiting
			if sh.Inbox != 0 {
				t.Errorf("%d checks lie in an inbox", sh.Inbox)
			}
		}
		if o.Awake != 23 || awake != 23 || o.Waiting != 3 || waiting != 3 {
			t.Errorf("%d actors and %d checks that wait, by shards %d and %d; want 23 and 3", o.Awake, o.Waiting, awake, waiting)
		}
		var keys []string
		for _, b := range o.Busiest {
			keys = append(keys, b.Key)
		}
		if want := []string{"user:18", "user:19", "user:16", "user:17", "user:14", "user:15"}; !slices.Equal(keys, want) {
			t.Errorf("the busiest are %v, want %v", keys, want)
		}
		// 10 tokens in the last Δ of 100 ms.
		if b := o.Busiest[0]; math.Abs(b.PerSecond-100) > 1e-6 || b.Waiting != 0 || !slices.Equal(b.Limits, []string{"fast"}) {
			t.Errorf("the busiest is %+v, want 100 tokens a second of fast", b)
		}
		all, err := s.Overview(t.Context(), 100)
		if err != nil || len(all.Busiest) != 22 {
			t.Errorf("%d keys have spent something, want 22: %v", len(all.Busiest), err)
		}
		for _, b := range all.Busiest {
			if b.Key == "two" && !slices.Equal(b.Limits, []string{"odd", "fast"}) || b.Key == "stuck" && b.Waiting != 3 {
				t.Errorf("got %+v", b)
			}
		}
		for _, top := range []int{0, -1} {
			if o, err := s.Overview(t.Context(), top); err != nil || len(o.Busiest) != 0 || o.Awake != 23 {
				t.Errorf("the top %d: %+v, %v", top, o, err)
			}
		}
	})
}

func TestOverviewInbox(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, goOn := stopped(t, Config{})
		stop := ask(t.Context(), s, spend("stop", 1, "demo"))
		pending(t, stop)
		ask(t.Context(), s, spend("a", 1, "demo"))
		synctest.Wait()
		if got := s.shards[0].inbox.len(); got != 1 {
			t.Errorf("%d checks lie in the inbox, want 1", got)
		}
		goOn()
		settled(t, stop)
	})
}

func TestMetrics(t *testing.T) {
	reg := prometheus.NewRegistry()
	now := clock.New().Now
	doc := document(t, stored+"  inline: {capacity: 1, refill: 1/h}\n")
	regs := newRegisters(now)
	s := start(t, Config{Replicas: []Replica{regs}, Now: now, Metrics: reg, Limits: fixed(doc), IdleAfter: time.Hour})
	decisions := func(label, outcome string, want float64) {
		t.Helper()
		if got := count(t, reg, "jeton_decisions_total", label, outcome); got != want {
			t.Errorf("%v decisions %s of %s, want %v", got, outcome, label, want)
		}
	}
	drain(t, s, "a", "demo")
	decide(t, s, spend("a", 1, "fast", "demo"))
	decisions("demo", "allowed", 10)
	decisions("demo", "denied", 2)
	decisions("fast", "spared", 1)
	decisions("fast", "allowed", 0)
	for range 3 {
		decide(t, s, named("one", spend("b", 1, "slow"))) // one decision, asked for three times
	}
	decisions("slow", "allowed", 1)

	// Names that callers make up are one label, and no stored limit's.
	for i := range 1000 {
		decide(t, s, inline("key:"+strconv.Itoa(i%10), 1, "own-"+strconv.Itoa(i), 1, "1/h"))
	}
	decide(t, s, inline("key:0", 2, "own-0", 1, "1/h"))
	decide(t, s, spend("c", 1, "inline"))
	decisions("inline", "allowed", 1)
	decisions(inlineLabel, "allowed", 1000)
	decisions(inlineLabel, "denied", 1)
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if len(f.GetMetric()) > 3*7 {
			t.Errorf("%s has %d label sets", f.GetName(), len(f.GetMetric()))
		}
	}

	if got := count(t, reg, "jeton_awake_actors"); got != 13 {
		t.Errorf("%v awake actors, want 13", got)
	}
	if got := count(t, reg, "jeton_check_seconds"); got != 10+1+1+3+1002 {
		t.Errorf("%v checks timed, want 1017", got)
	}
	needed, ahead := count(t, reg, "jeton_reservations_total", "needed"), count(t, reg, "jeton_reservations_total", "ahead")
	if needed < 1000 || needed+ahead < float64(regs.writes) {
		t.Errorf("%v reservations needed and %v ahead for %d writes", needed, ahead, regs.writes)
	}
	if got := count(t, reg, "jeton_reservation_refusals_total"); got != 0 {
		t.Errorf("%v refusals by a replica that no other owner asks", got)
	}
	regs.mu.Lock()
	regs.byBucket[bucketID{"d", "demo"}] = register.Register{H: now() + int64(6*60e9)}
	regs.mu.Unlock()
	if got := drain(t, s, "d", "demo"); got != 9 || count(t, reg, "jeton_reservation_refusals_total") != 1 {
		t.Errorf("%d of 10 were admitted after another owner's 1, want 9 after one refusal", got)
	}
}

// TestMetricsWhileDeciding gathers metrics while they change.
func TestMetricsWhileDeciding(t *testing.T) {
	reg := prometheus.NewRegistry()
	s := start(t, Config{Metrics: reg})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 500 {
			spendAll(t, s, spend("a", 1, "fast"), 1)
		}
	}()
	for range 50 {
		count(t, reg, "jeton_awake_actors")
	}
	<-done
	if got := count(t, reg, "jeton_decisions_total", "fast"); got != 500 {
		t.Errorf("%v decisions counted, want 500", got)
	}
}

func TestUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := func() int64 { return time.Now().UnixNano() }
		s := start(t, Config{Replicas: []Replica{newRegisters(now)}, Now: now, Shards: 3})
		drain(t, s, "a", "demo") // a denial is a use too
		time.Sleep(time.Minute)  //nolint:forbidigo // of the bubble
		for i := range 20 {
			decide(t, s, spend("user:"+strconv.Itoa(i), 1, "fast"))
		}
		decide(t, s, inline("a", 1, "burst", 5, "1/s"))
		synctest.Wait()
		want := map[string]time.Duration{"demo": time.Minute, "fast": 0}
		if got := s.Used(time.Hour); !maps.Equal(got, want) {
			t.Errorf("used are %v, want %v", got, want)
		}
		delete(want, "demo")
		if got := s.Used(time.Second); !maps.Equal(got, want) {
			t.Errorf("used within a second are %v, want %v", got, want)
		}
	})
}
