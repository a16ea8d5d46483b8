package actor

import (
	"errors"
	"math/rand/v2"
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/jeton-dev/jeton/actor/clock"
	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/actor/owner"
	"github.com/jeton-dev/jeton/ring"
)

// mostDormantBytes is what a dormant key may cost of the live heap, all in all: at the worst its map is 7/16 full.
const mostDormantBytes = 160

// A dormant key takes at most 64 bytes besides the room of the map.
func TestDormantEntryIsSmall(t *testing.T) {
	if n := dormantEntry; n > 64 {
		t.Errorf("an entry takes %d bytes, want at most 64", n)
	}
}

// toDormant checks the key "a" twice within seconds, so that its owner reserves ahead, and lets it become dormant. It returns how much is
// left.
func toDormant(t *testing.T, s *System) (left int64) {
	t.Helper()
	spendAll(t, s, spend("a", 20, "ahead"), 1)
	pass(500 * time.Millisecond)
	left = decide(t, s, spend("a", 20, "ahead")).Limits[0].Remaining
	pass(3 * time.Second)
	if o := overview(t, s); o.Awake != 0 || s.dormant() == 0 {
		t.Fatalf("%d keys are awake and %d dormant", o.Awake, s.dormant())
	}
	return left
}

// dormantSystem is a System with registers and the limit "ahead", which reserves 50 tokens ahead.
func dormantSystem(t *testing.T, cfg Config) (*System, *registers) {
	t.Helper()
	if cfg.Now == nil {
		cfg.Now = clock.New().Now
	}
	regs := newRegisters(cfg.Now)
	if cfg.Placement == nil {
		cfg.Replicas = []Replica{regs}
	}
	cfg.Limits = fixed(document(t, `
limits:
  ahead:  {capacity: 1000, refill: 1000/1h}
  demo:   {capacity: 10, refill: 10/1h}
  slow:   {capacity: 1000, refill: 1/h}
  tokens: {capacity: 1000, refill: 1000/10m, hold: 1m}
`))
	return start(t, cfg), regs
}

// A dormant key goes on with the line that it held: it writes nothing until that is spent, and neither loses nor gains a token.
func TestDormantKeyGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reg := prometheus.NewRegistry()
		s, regs := dormantSystem(t, Config{Metrics: reg})
		left := toDormant(t, s)
		if n := count(t, reg, "jeton_dormant_keys"); n != 1 {
			t.Errorf("the metric says that %v keys are dormant", n)
		}
		weighed(t, s)
		writes := regs.writes
		if d := decide(t, s, spend("a", 1, "ahead")); !d.Allowed || regs.writes != writes || s.dormant() != 0 {
			t.Errorf("%+v, with %d writes; %d keys are still dormant", d, regs.writes-writes, s.dormant())
		}
		if got := 1 + drain(t, s, "a", "ahead"); got != left {
			t.Errorf("%d were admitted, want the %d that were left", got, left)
		}
		weighed(t, s)
	})
}

// Line is never restored twice: what becomes of an actor that has it, another one does not get it.
func TestDormantLineIsRestoredOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var panics atomic.Bool
		s, _ := dormantSystem(t, Config{Shards: 1, beforeStep: func(string) {
			if panics.Load() {
				panic("as it is told to")
			}
		}})
		left := toDormant(t, s)
		spent := int64(0)
		for range 15 { // within what is held
			spent += spendAll(t, s, spend("a", 1, "ahead"), 1)
		}
		panics.Store(true)
		if _, err := s.Check(t.Context(), spend("a", 1, "ahead")); err == nil {
			t.Fatal("the actor did not panic")
		}
		panics.Store(false)
		if o := overview(t, s); o.Awake != 0 || s.dormant() != 0 {
			t.Fatalf("%d keys are awake and %d dormant", o.Awake, s.dormant())
		}
		if got := spent + drain(t, s, "a", "ahead"); got > left+1 {
			t.Errorf("%d were admitted, and %d were left", got, left)
		}
	})
}

// A reset of a dormant key ends its line, and fills its bucket once.
func TestDormantLineEndsWithAReset(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := dormantSystem(t, Config{})
		toDormant(t, s)
		if err := s.Reset(t.Context(), "a", limit.Named("ahead")); err != nil {
			t.Fatal(err)
		}
		if s.dormant() != 0 {
			t.Error("the key is dormant after its reset")
		}
		if got := drain(t, s, "a", "ahead"); got != 1000 {
			t.Errorf("%d were admitted after the reset, want 1000", got)
		}
		pass(30 * time.Second)
		if got := drain(t, s, "a", "ahead"); got != 8 {
			t.Errorf("%d were admitted after that, and 8 came back", got)
		}
	})
}

// Dormant line is given up when the partition goes, or goes on in another epoch, at a check or without one; and is not there when it comes back.
func TestDormantLineGoesWithItsPartition(t *testing.T) {
	for _, c := range []struct {
		name string
		next func(at *Placement) *Placement
		says error
	}{
		{"another epoch", func(at *Placement) *Placement { return &Placement{Epoch: at.Epoch + 1, Set: at.Set} }, nil},
		{"another set", func(at *Placement) *Placement {
			return &Placement{Epoch: at.Epoch + 1, Set: NewReplicaSet(at.Set.Replicas, at.Set.Names)}
		}, nil},
		{"no partition", func(*Placement) *Placement { return nil }, ErrMoved},
	} {
		for _, asks := range []bool{true, false} {
			t.Run(c.name+map[bool]string{true: ", and a check", false: ", and no check"}[asks], func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					now := clock.New().Now
					regs := newRegisters(now)
					var place atomic.Pointer[Placement]
					place.Store(&Placement{Epoch: ring.FirstEpoch, Set: NewReplicaSet([]Replica{regs}, []string{"here"})})
					s, _ := dormantSystem(t, Config{Now: now, Placement: func(ring.Partition) *Placement { return place.Load() }})
					toDormant(t, s)
					first := place.Load()
					place.Store(c.next(first))
					if asks {
						if _, err := s.Check(t.Context(), spend("a", 1, "ahead")); c.says != nil && !errors.Is(err, c.says) { // the registers know no other epoch
							t.Errorf("the check says %v, want %v", err, c.says)
						}
					} else {
						pass(40 * time.Second)
					}
					if n := s.dormant(); n != 0 {
						t.Errorf("%d keys are dormant", n)
					}
					weighed(t, s)
					place.Store(first)
					writes := regs.writes
					if d := decide(t, s, spend("a", 1, "ahead")); !d.Allowed || regs.writes == writes {
						t.Errorf("back again: %+v, with %d writes", d, regs.writes-writes)
					}
				})
			})
		}
	}
}

// A dormant key goes on where there is no room for further keys, and shedding finds dormant keys where no key is awake.
func TestDormantKeysWithoutRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var full atomic.Bool
		s, regs := dormantSystem(t, Config{Shards: 1, Full: full.Load})
		toDormant(t, s)
		full.Store(true)
		writes := regs.writes
		if d := decide(t, s, spend("a", 1, "ahead")); !d.Allowed || regs.writes != writes {
			t.Errorf("%+v, with %d writes", d, regs.writes-writes)
		}
		if _, err := s.Check(t.Context(), spend("another", 1, "ahead")); !errors.Is(err, limit.ErrOverloaded) {
			t.Errorf("a further key: %v", err)
		}
		pass(3 * time.Second)
		sh := s.shards[0]
		sh.mu.Lock()
		defer sh.mu.Unlock()
		if sh.actors.len() != 0 || sh.dormant.n != 1 {
			t.Fatalf("%d keys are awake, and %d dormant", sh.actors.len(), sh.dormant.n)
		}
		sh.budget = newBudget(100)
		if sh.shed(sh.cfg.Now(), 1); sh.dormant.n != 0 || sh.held != 0 {
			t.Errorf("%d keys are dormant, and %d bytes are held", sh.dormant.n, sh.held)
		}
	})
}

// A map of dormant keys gives its room back as they go.
func TestDormantMapShrinks(t *testing.T) {
	of := dormantPartition{rests: map[dormantKey]owner.Rest{}, peak: 1000}
	for i := range 300 {
		of.rests[dormantKey{byte(i), byte(i >> 8)}] = owner.Rest{}
	}
	if of.shrink(); of.peak != 1000 {
		t.Errorf("it is made anew at 300 of 1000")
	}
	for i := range 100 {
		delete(of.rests, dormantKey{byte(i)})
	}
	if of.shrink(); of.peak != 200 || len(of.rests) != 200 {
		t.Errorf("its peak is %d with %d keys left", of.peak, len(of.rests))
	}
}

// A System that ends gives up what dormant keys hold.
func TestDormantLineEndsWithTheSystem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := dormantSystem(t, Config{})
		toDormant(t, s)
		s.Close()
		for _, sh := range s.shards {
			if n := sh.dormant.n; n != 0 || s.dormant() != 0 {
				t.Errorf("%d keys are dormant after the end", n)
			}
		}
		weighed(t, s)
	})
}

// An inspection shows what a dormant key holds, and leaves it there.
func TestInspectDormantKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := dormantSystem(t, Config{})
		spendAll(t, s, spend("a", 20, "ahead"), 1)
		pass(500 * time.Millisecond)
		spendAll(t, s, spend("a", 20, "ahead"), 1)
		before, err := s.Inspect(t.Context(), "a", limit.Named("ahead"), "")
		if err != nil {
			t.Fatal(err)
		}
		pass(3 * time.Second)
		for range 2 {
			in, err := s.Inspect(t.Context(), "a", limit.Named("ahead"), "")
			if err != nil || s.dormant() != 1 {
				t.Fatalf("%v, and %d keys are dormant", err, s.dormant())
			}
			if !in.Awake || in.Segment.End != before.Segment.End || in.TAT != before.TAT || in.Segment.Start >= in.Segment.End {
				t.Errorf("it shows %+v, want the end of %+v", in, before)
			}
		}
	})
}

// Dormant keys whose line has passed are dropped without a check, in time; and then no timer is set.
func TestDormantKeysAreSwept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := dormantSystem(t, Config{Shards: 1})
		const keys = 20_000
		for range 2 {
			invent(t, s, keys, func(i int) limit.Request { return spend("key:"+strconv.Itoa(i), 20, "ahead") })
			pass(500 * time.Millisecond)
		}
		pass(4 * time.Second)
		if n := s.dormant(); n != keys {
			t.Fatalf("%d keys are dormant, want %d", n, keys)
		}
		weighed(t, s)
		pass(6 * time.Minute) // in which 100 tokens come back
		if n := s.dormant(); n != 0 {
			t.Errorf("%d keys are dormant when their line has passed", n)
		}
		sh := s.shards[0]
		sh.mu.Lock()
		defer sh.mu.Unlock()
		if sh.held != 0 || sh.actors.len() != 0 || sh.next() < 1<<62 {
			t.Errorf("%d bytes are held, of %d actors; the next thing to do is at %d", sh.held, sh.actors.len(), sh.next())
		}
		for p := range sh.dormant.partitions {
			if sh.dormant.partitions[p].rests != nil {
				t.Fatal("there is a map for nothing")
			}
		}
	})
}

// Where memory is short, of dormant keys those are let go first that lose least: with all that can be let go, keys with much line stay.
func TestDormantKeysThatLoseLeastGoFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reg := prometheus.NewRegistry()
		s, _ := dormantSystem(t, Config{Shards: 1, Partitions: 4, Memory: 3 << 19, Metrics: reg})
		const few = 400
		much := func(i int) limit.Request { return spend("much:"+strconv.Itoa(i), 40, "ahead") }
		for range 2 {
			invent(t, s, few, much)
			pass(500 * time.Millisecond)
		}
		pass(3 * time.Second)
		sh := s.shards[0]
		mine := map[dormantKey]bool{}
		for i := range few {
			sh.mu.Lock()
			mine[sh.dormant.keyOf("much:"+strconv.Itoa(i))] = true
			sh.mu.Unlock()
		}
		for at := 0; at < 20_000; at += 200 {
			for range 2 {
				n := invent(t, s, 200, func(i int) limit.Request { return spend("little:"+strconv.Itoa(at+i), 10, "ahead") })
				if n > 0 {
					t.Fatalf("%d checks were refused", n)
				}
				pass(150 * time.Millisecond)
			}
		}
		weighed(t, s)
		sh.mu.Lock()
		defer sh.mu.Unlock()
		left, others := 0, 0
		for p := range sh.dormant.partitions {
			for key := range sh.dormant.partitions[p].rests {
				if mine[key] {
					left++
				} else {
					others++
				}
			}
		}
		t.Logf("%d of %d that lose much, and %d others", left, few, others)
		if shed := count(t, reg, "jeton_shed_total", "held_line"); shed == 0 {
			t.Error("nothing was let go")
		}
		if left < few*8/10 {
			t.Errorf("%d of %d keys that lose much are left, and %d of others", left, few, others)
		}
	})
}

// fillWithDormant checks invented keys twice each, so that they become dormant one after the other.
func fillWithDormant(t *testing.T, s *System, keys int) {
	t.Helper()
	const each = 100
	for at := 0; at < keys; at += each {
		for range 2 {
			if n := invent(t, s, each, func(i int) limit.Request { return spend("invented:"+strconv.Itoa(at+i), 20, "ahead") }); n > 0 {
				t.Fatalf("%d checks were refused", n)
			}
			pass(150 * time.Millisecond)
		}
	}
	pass(3 * time.Second)
}

// Where memory is short, dormant keys are let go before anything of keys that are awake: receipts and holds of these go on to give back what
// was not used.
func TestDormantKeysGoFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reg := prometheus.NewRegistry()
		s, _ := dormantSystem(t, Config{Shards: 1, Memory: 1 << 20, Metrics: reg})
		fillWithDormant(t, s, 8000)
		r := spend("honest", 400, "ahead")
		r.Receipt = true
		receipts := decide(t, s, r).Receipts
		pass(time.Millisecond)
		if back, err := s.Return(t.Context(), r.Key, receipts); err != nil || !back[0] {
			t.Errorf("a receipt of a millisecond ago: %v, %v", back, err)
		}
		if left := decide(t, s, spend(r.Key, 1, "ahead")).Limits[0].Remaining; left != 999 {
			t.Errorf("%d tokens are left of 1000, of which 400 came back and 1 was spent", left)
		}
		h := spend("model", 900, "tokens")
		h.Hold = time.Minute
		hold := decide(t, s, h).Hold
		decide(t, s, spend(h.Key, 1, "tokens"))
		if settled, err := s.Settle(t.Context(), limit.Settlement{Hold: *hold, Used: 1}); err != nil || settled.Charged != 1 {
			t.Errorf("a settlement at once: %+v, %v", settled, err)
		}
		if left := remaining(t, s, h.Key, "tokens"); left != 998 {
			t.Errorf("%d tokens are left of 1000, of which 2 were used", left)
		}
		if n := count(t, reg, "jeton_shed_total", "held_line"); n == 0 || n != count(t, reg, "jeton_shed_total") {
			t.Errorf("of %v dormant keys line was let go, and %v times something in all", n, count(t, reg, "jeton_shed_total"))
		}
		weighed(t, s)
	})
}

// TestDormantKey bounds what a dormant key costs of the heap, and compares it with what a shard takes it to cost.
func TestDormantKey(t *testing.T) {
	for _, keys := range []int{100_000, 140_000} {
		t.Run(strconv.Itoa(keys), func(t *testing.T) { measureDormant(t, keys) })
	}
}

func measureDormant(t *testing.T, keys int) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s, _ := dormantSystem(t, Config{Shards: 1})
		sh := s.shards[0]
		before := liveHeap()
		sh.mu.Lock()
		at := sh.placeOf(0)
		rest := restOf(t, sh, at)
		for i := range keys {
			a := &actor{key: "user:" + strconv.Itoa(10_000_000_000+i), partition: ring.Partition(i % len(sh.places))}
			a.owner.Terms = sh.placeOf(a.partition).terms
			a.owner.Restore(rest, sh.cfg.Now())
			sh.held += a.bytes()
			if !sh.makeDormant(a, sh.cfg.Now()) {
				t.Fatal("it stays awake")
			}
		}
		held := sh.held
		sh.mu.Unlock()
		each := float64(liveHeap()-before) / float64(keys)
		t.Logf("%d keys: %.1f bytes each, %.1f estimated", keys, each, float64(held)/float64(keys))
		if ratio := each / (float64(held) / float64(keys)); each > mostDormantBytes || ratio > 1.6 || ratio < 1/1.6 {
			t.Errorf("each of %d dormant keys costs %.1f bytes, want at most %d and as many as estimated", keys, each, mostDormantBytes)
		}
		runtime.KeepAlive(s)
	})
}

// restOf is some rest.
func restOf(t *testing.T, sh *shard, at *place) owner.Rest {
	t.Helper()
	o, out, now := owner.Owner{Terms: at.terms}, &owner.Out{}, sh.cfg.Now()
	rule, err := limit.Limit{Name: "ahead", Capacity: 1000, Refill: limit.Refill{Tokens: 1000, Per: time.Hour}}.Rule()
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		out.Reset()
		o.Check(owner.Check{At: now + int64(i), Deadline: now + 1e9, Rules: []*limit.Rule{rule}, Cost: 1}, out)
		for _, m := range out.Sends {
			o.Answer(owner.Answer{Limit: m.Limit, Seq: m.Seq, Epoch: m.Epoch, Verdict: owner.Accepted, Position: m.To, Generation: m.Generation}, now+int64(i), out)
		}
	}
	rest, ok := o.Rest(now + 2)
	if !ok {
		t.Fatal("there is no rest")
	}
	return rest
}

// Keys that become dormant and wake at random times are admitted no more than a bucket has, and about all of it.
func TestDormantKeysKeepTheLimit(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	synctest.Test(t, func(t *testing.T) {
		s, _ := dormantSystem(t, Config{})
		rule, _ := s.cfg.Limits().Rule("ahead")
		var spent [2]limit.Pos
		dormant := 0
		for step := range 1000 {
			i, cost := random.IntN(len(spent)), 1+random.Int64N(4)
			if s.dormant() > 0 {
				dormant++
			}
			next, want := rule.Decide(spent[i], s.cfg.Now(), cost)
			if spent[i] = next; decide(t, s, spend("key:"+strconv.Itoa(i), cost, "ahead")).Allowed != want {
				t.Fatalf("step %d: a check of %d of key %d is to be admitted is %v", step, cost, i, want)
			}
			longest := 500 * time.Millisecond
			if random.IntN(2) == 0 {
				longest = 8 * time.Second
			}
			pass(time.Duration(random.Int64N(int64(longest))))
		}
		if dormant < 20 {
			t.Errorf("keys were dormant at %d steps only", dormant)
		}
		weighed(t, s)
	})
}
