package actor

import (
	"bytes"
	"errors"
	"log/slog"
	"math/rand/v2"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/jeton-dev/jeton/actor/clock"
	"github.com/jeton-dev/jeton/actor/limit"
)

// inventions are the ways in which callers make a node remember things, each a request by its number.
var inventions = map[string]func(i int) limit.Request{
	"keys": func(i int) limit.Request { return spend("key:"+strconv.Itoa(10_000_000+i), 1, "demo") },
	"receipts": func(i int) limit.Request {
		r := spend("key:"+strconv.Itoa(10_000_000+i), 1, "demo")
		r.Receipt = true
		return r
	},
	"ids": func(i int) limit.Request {
		r := spend("key:"+strconv.Itoa(10_000_000+i), 1, "demo")
		r.ID = "request"
		return r
	},
	"ids of few keys": func(i int) limit.Request {
		r := spend("key:"+strconv.Itoa(i%1000), 0, "demo")
		r.ID = strconv.Itoa(i)
		return r
	},
	"limits": func(i int) limit.Request {
		r := inline("key:"+strconv.Itoa(i%1000), 1, "limit-"+strconv.Itoa(i), 10, "10/1h")
		r.Receipt = true
		return r
	},
	"ids of limits that requests define": func(i int) limit.Request {
		r := limit.Request{Key: "key:" + strconv.Itoa(i%100), ID: strconv.Itoa(i)}
		for n := range 4 {
			name := strings.Repeat("long", 10) + strconv.Itoa(n)
			r.Limits = append(r.Limits, limit.Inline(limit.Limit{Name: name, Algorithm: limit.FixedWindow, Capacity: 1e6, Window: time.Hour}))
		}
		return r
	},
	"windows that requests define": func(i int) limit.Request {
		name := strings.Repeat("long", 10) + strconv.Itoa(i%60)
		l := limit.Limit{Name: name, Algorithm: limit.FixedWindow, Capacity: 10, Per: "month", Timezone: "Europe/Berlin", Anchor: "15"}
		return limit.Request{Key: "key:" + strconv.Itoa(i/60), Cost: 1, Limits: []limit.Ref{limit.Inline(l)}}
	},
	"receipts of few keys": func(i int) limit.Request {
		r := spend("key:"+strconv.Itoa(i%1000), 1, "slow")
		r.Receipt = true
		return r
	},
}

// invent makes n requests in batches, and returns how many were refused for want of memory or of room.
func invent(tb testing.TB, s *System, n int, request func(i int) limit.Request) (refused int) {
	tb.Helper()
	for at := 0; at < n; at += limit.MaxBatch {
		batch := make([]limit.Request, min(limit.MaxBatch, n-at))
		for i := range batch {
			batch[i] = request(at + i)
		}
		for _, r := range s.CheckBatch(tb.Context(), batch) {
			switch {
			case errors.Is(r.Err, limit.ErrOverloaded):
				refused++
			case r.Err != nil:
				tb.Fatal(r.Err)
			}
		}
	}
	return refused
}

// TestEstimates compares what a shard takes things to cost with what they cost. Go's maps have room for up to twice as
// many as are in them, and a slice that grows for a quarter to twice as many.
func TestEstimates(t *testing.T) {
	const within = 1.6
	for name, request := range inventions {
		t.Run(name, func(t *testing.T) {
			s := start(t, Config{Replicas: []Replica{replica{reserve: agreeable}}, Shards: 1, IdleAfter: time.Hour})
			invent(t, s, 2*limit.MaxBatch, func(i int) limit.Request { return spend("before:"+strconv.Itoa(i), 1, "demo") })
			overview(t, s)
			before, held := liveHeap(), s.shards[0].heldNow.Load()
			if n := invent(t, s, 12_000, request); n > 0 {
				t.Fatalf("%d were refused", n)
			}
			overview(t, s)
			measured, estimated := float64(liveHeap()-before), float64(s.shards[0].heldNow.Load()-held)
			t.Logf("%.0f kB measured, %.0f kB estimated", measured/1024, estimated/1024)
			if ratio := measured / estimated; ratio > within || ratio < 1/within {
				t.Errorf("%.2f times as much as is estimated", ratio)
			}
			runtime.KeepAlive(s)
		})
	}
}

// weighed fails the test unless a shard knows what its actors weigh.
func weighed(t *testing.T, s *System) {
	t.Helper()
	for _, sh := range s.shards {
		sh.mu.Lock()
		sum := int64(0)
		for a := range sh.actors.all() {
			sum += a.bytes()
		}
		for p := range sh.dormant.partitions {
			for _, rest := range sh.dormant.partitions[p].rests {
				sum += dormantBytes + rest.Bytes()
			}
		}
		if sh.held != sum {
			t.Errorf("a shard holds %d bytes, and its actors weigh %d", sh.held, sum)
		}
		sh.mu.Unlock()
	}
}

// TestWeights does a bit of everything with some keys, in trouble too: shards go on to know what their actors weigh.
func TestWeights(t *testing.T) {
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	t.Logf("seed %d", seed)
	synctest.Test(t, func(t *testing.T) {
		s, c := quorum(t, 3, Config{Shards: 2, Memory: 4 << 20, beforeStep: func(key string) {
			if key == "panic" {
				panic("as it is told to")
			}
		}})
		names := []string{"demo", "fast", "slow", "wide"}
		var receipts []limit.Receipt
		for i := range 400 {
			key := "key:" + strconv.Itoa(random.IntN(20))
			r := spend(key, random.Int64N(3), names[:1+random.IntN(len(names))]...)
			r.Receipt = random.IntN(2) == 0
			switch random.IntN(12) {
			case 0:
				r.ID = strconv.Itoa(random.IntN(30))
			case 1:
				r = inline(key, 1, "invented-"+strconv.Itoa(random.IntN(200)), 10, "1/1h")
			case 2:
				s.Return(t.Context(), key, receipts) //nolint:errcheck // a key that is not awake has nothing to return
			case 3:
				s.Reset(t.Context(), key, limit.Named("demo")) //nolint:errcheck // whether it comes about does not matter
			case 4:
				pass(time.Duration(random.IntN(2000)) * time.Millisecond)
			case 5:
				r.Key = "panic"
			case 6:
				c.peers[random.IntN(2)].trouble(random.IntN(2) == 0, random.IntN(3) == 0)
			}
			if d, err := s.Check(t.Context(), r); err == nil && len(d.Receipts) > 0 {
				receipts = d.Receipts
			}
			if i%100 == 0 {
				weighed(t, s)
			}
		}
		pass(time.Minute)
		weighed(t, s)
	})
}

// TestBudget has callers invent more than there is memory for: the System stays within its budget, says what it gives up,
// and goes on to serve others.
func TestBudget(t *testing.T) {
	const memory = 2 << 20
	sheds := map[string]string{
		"keys": "idle_keys", "receipts": "receipts", "ids": "request_ids", "ids of few keys": "request_ids", "limits": "receipts",
		"receipts of few keys": "receipts", "ids of limits that requests define": "request_ids", "windows that requests define": "idle_keys",
	}
	for name, request := range inventions {
		t.Run(name, func(t *testing.T) {
			reg, log, began := prometheus.NewRegistry(), &bytes.Buffer{}, time.Now()
			s := start(t, Config{
				Replicas: []Replica{replica{reserve: agreeable}}, Shards: 1, IdleAfter: time.Hour, Memory: memory, Metrics: reg,
				Logger: slog.New(slog.NewTextHandler(log, nil)),
			})
			for at := 0; at < 32_000; at += 4 * limit.MaxBatch {
				if n := invent(t, s, 4*limit.MaxBatch, func(i int) limit.Request { return request(at + i) }); n > 0 {
					t.Fatalf("%d were refused, and none need be", n)
				}
				if held := s.shards[0].heldNow.Load(); held > memory {
					t.Fatalf("%d bytes are held after %d, of a budget of %d", held, at, memory)
				}
				decide(t, s, spend("honest", 1, "wide"))
			}
			weighed(t, s)
			s.Close()
			label := sheds[name]
			if n := count(t, reg, "jeton_shed_total", label); n == 0 {
				t.Errorf("nothing of %s was counted as given up", label)
			}
			said := log.String()
			most := int(shedKinds * (1 + time.Since(began)/warnEvery))
			if lines := strings.Count(said, "\n"); lines < 1 || lines > most || !strings.Contains(said, "what="+label) {
				t.Errorf("the log has %d lines, want at most %d:\n%s", lines, most, said)
			}
		})
	}
}

// TestHeldLineIsGivenUp has callers ask for keys of a slow limit so often that each reserves days of line ahead, and leave them.
// Nothing of the kind may keep the memory from others until that line is past.
func TestHeldLineIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const memory, perKey = 2 << 20, 25
		reg := prometheus.NewRegistry()
		s := start(t, Config{Replicas: []Replica{replica{reserve: agreeable}}, Shards: 1, Memory: memory, Metrics: reg})
		for at := 0; at < 600_000; at += limit.MaxBatch {
			n := invent(t, s, limit.MaxBatch, func(i int) limit.Request { return spend("key:"+strconv.Itoa((at+i)/perKey), 20, "slow") })
			if n > 0 {
				t.Fatalf("%d checks were refused after %d, and none need be", n, at)
			}
			pass(10 * time.Millisecond)
		}
		weighed(t, s)
		if n := count(t, reg, "jeton_shed_total", "held_line"); n == 0 {
			t.Error("no line was counted as given up")
		}
		pass(time.Minute)
		if n := invent(t, s, 20*limit.MaxBatch, inventions["keys"]); n > 0 {
			t.Errorf("a minute later %d checks of further keys are refused", n)
		}
	})
}

// TestHoldsAreGivenUpLast has callers invent keys that hold line of two limits, which cannot be dormant: a key with a hold is kept meanwhile, and
// the hold gives back what was not used.
func TestHoldsAreGivenUpLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reg := prometheus.NewRegistry()
		s := start(t, Config{Shards: 1, Memory: 4 << 20, Metrics: reg, Limits: fixed(document(t, "limits: {more: {capacity: 1000, refill: 1000/30m}, ahead: {capacity: 1000, refill: 1000/1h}, tokens: {capacity: 1000, refill: 1000/10m, hold: 10m}}"))})
		r := spend("model", 900, "tokens")
		r.Hold = time.Minute
		hold := decide(t, s, r).Hold
		for at := 0; at < 20_000; at += limit.MaxBatch {
			n := invent(t, s, limit.MaxBatch, func(i int) limit.Request { return spend("key:"+strconv.Itoa((at+i)/2), 20, "more", "ahead") })
			if n > 0 {
				t.Fatalf("%d checks were refused after %d, and none need be", n, at)
			}
			pass(150 * time.Millisecond)
		}
		if n := count(t, reg, "jeton_shed_total", "held_line"); n == 0 {
			t.Error("no line was counted as given up")
		}
		if settled, err := s.Settle(t.Context(), limit.Settlement{Hold: *hold, Used: 1}); err != nil || settled.Charged != 1 {
			t.Errorf("settled: %+v, %v", settled, err)
		}
		if left := remaining(t, s, "model", "tokens"); left < 999 {
			t.Errorf("%d tokens are left of 1000, of which 1 was used", left)
		}
		weighed(t, s)
	})
}

// TestHoldsAreGivenUp has callers take holds of invented keys and leave them. They may not keep the memory from others until they can be settled
// no more.
func TestHoldsAreGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reg := prometheus.NewRegistry()
		s := start(t, Config{Shards: 1, Memory: 4 << 20, Metrics: reg, Limits: fixed(document(t, "limits: {tokens: {capacity: 1000, refill: 1000/10m, hold: 10m}}"))})
		for at := 0; at < 20_000; at += 200 {
			n := invent(t, s, 200, func(i int) limit.Request {
				r := spend("key:"+strconv.Itoa(at+i), 900, "tokens")
				r.Hold = 10 * time.Minute
				return r
			})
			if n > 0 {
				t.Fatalf("%d holds were refused after %d, and none need be", n, at)
			}
			pass(150 * time.Millisecond)
		}
		weighed(t, s)
		if n := count(t, reg, "jeton_shed_total", "holds"); n == 0 {
			t.Error("no hold was counted as given up")
		}
	})
}

// TestPiecesAreWeighed has keys whose admissions spend many returned pieces of line again, which the owner and the ids remember.
func TestPiecesAreWeighed(t *testing.T) {
	const keys, rounds, pieces, within = 40, 12, 120, 1.3
	s := start(t, Config{Replicas: []Replica{replica{reserve: agreeable}}, Shards: 1, IdleAfter: time.Hour})
	before, held := liveHeap(), s.shards[0].heldNow.Load()
	for i := range keys * rounds {
		r := inline("key:"+strconv.Itoa(i%keys), 1, "burst", 1_000_000, "1000000/8000h")
		r.Receipt = true
		var back []limit.Receipt
		for j := range 2 * pieces {
			if d := decide(t, s, r); j%2 == 0 {
				back = append(back, d.Receipts...)
			}
		}
		if _, err := s.Return(t.Context(), r.Key, back); err != nil {
			t.Fatal(err)
		}
		r.Cost, r.ID = pieces, strconv.Itoa(i)
		if d := decide(t, s, r); len(d.Receipts[0].Reuses) < pieces-1 {
			t.Fatalf("%d pieces are spent again, want %d", len(d.Receipts[0].Reuses), pieces)
		}
	}
	measured, estimated := float64(liveHeap()-before), float64(s.shards[0].heldNow.Load()-held)
	t.Logf("%.0f kB measured, %.0f kB estimated", measured/1024, estimated/1024)
	if ratio := measured / estimated; ratio > within || ratio < 1/within {
		t.Errorf("%.2f times as much as is estimated", ratio)
	}
	weighed(t, s)
	runtime.KeepAlive(s)
}

// TestLedgersAreWeighed compares it for full ledgers.
func TestLedgersAreWeighed(t *testing.T) {
	const keys, within = 20, 1.6
	for _, l := range []limit.Limit{
		{Name: "log", Algorithm: limit.SlidingLog, Capacity: 500, Window: time.Hour},
		{Name: "streams", Algorithm: limit.Concurrency, Capacity: 500, Lease: 24 * time.Hour},
	} {
		t.Run(l.Name, func(t *testing.T) {
			s := start(t, Config{Replicas: []Replica{replica{reserve: agreeable}}, Shards: 1, IdleAfter: time.Hour})
			before, held := liveHeap(), s.shards[0].heldNow.Load()
			for i := range keys {
				for range l.Capacity {
					decide(t, s, limit.Request{Key: "key:" + strconv.Itoa(i), Limits: []limit.Ref{limit.Inline(l)}, Receipt: true})
				}
			}
			overview(t, s)
			measured, estimated := float64(liveHeap()-before), float64(s.shards[0].heldNow.Load()-held)
			t.Logf("%.0f kB measured, %.0f kB estimated", measured/1024, estimated/1024)
			if ratio := measured / estimated; ratio > within || ratio < 1/within {
				t.Errorf("%.2f times as much as is estimated", ratio)
			}
			weighed(t, s)
			runtime.KeepAlive(s)
		})
	}
}

// TestNoMemory has nothing that could be given up: what wakes further keys is refused until there is.
func TestNoMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, now := shutFor("flood")
		reg := prometheus.NewRegistry()
		s := start(t, Config{Replicas: []Replica{g}, Now: now, Shards: 1, Memory: 4 << 20, Metrics: reg, Inbox: 1 << 17})
		refused := 0
		var waits []func()
		const callers = 200 // each has no more under way than its window
		results := make(chan []limit.Result, callers)
		for i := range callers {
			waits = append(waits, flood(t, s, strconv.Itoa(i), 2*maxOpenNarrow, func(rs []limit.Result) { results <- rs }))
			synctest.Wait()
		}
		if held := s.shards[0].heldNow.Load(); held > 4<<20 {
			t.Errorf("%d bytes are held", held)
		}
		if got := settled(t, ask(as(t, "other"), s, spend("new", 1, "wide"))); !errors.Is(got.err, limit.ErrOverloaded) {
			t.Errorf("a further key: %+v", got)
		}
		g.open()
		for _, wait := range waits {
			wait()
		}
		close(results)
		for rs := range results {
			for _, r := range rs {
				if errors.Is(r.Err, limit.ErrOverloaded) {
					refused++
				} else if r.Err != nil {
					t.Fatal(r.Err)
				}
			}
		}
		if n := count(t, reg, "jeton_shed_total", "new_keys"); refused == 0 || int(n) != refused+1 {
			t.Errorf("%d were refused, and %v counted", refused, n)
		}
		pass(time.Minute)
		if got := settled(t, ask(as(t, "other"), s, spend("new", 1, "wide"))); got.err != nil || !got.Allowed {
			t.Errorf("a further key, after the flood: %+v", got)
		}
	})
}

// TestStricterWithoutMemory has what was given up for want of memory be of no effect any more, and nothing be granted twice.
func TestStricterWithoutMemory(t *testing.T) {
	s := start(t, Config{Replicas: []Replica{newRegisters(clock.New().Now)}, Shards: 1, IdleAfter: time.Hour, Memory: 1 << 20})
	r := spend("honest", 4, "demo")
	r.Receipt, r.ID = true, "id"
	d := decide(t, s, r)
	if _, err := s.Return(t.Context(), "honest", nil); err != nil {
		t.Fatal(err)
	}
	invent(t, s, 20_000, inventions["ids"])
	if back, err := s.Return(t.Context(), "honest", d.Receipts); err != nil || back[0] {
		t.Errorf("a receipt that was given up: %v, %v", back, err)
	}
	r.Receipt = false
	if again := decide(t, s, r); !again.Allowed || again.Limits[0].Remaining != 2 {
		t.Errorf("a request whose id was given up: %+v, want that it is charged again", again)
	}
	if got := drain(t, s, "honest", "demo"); got != 2 {
		t.Errorf("%d of 10 were admitted after 4 and 4, want 2", got)
	}
}

// TestReturnsLeaveNothingBehind has one caller spend and return, each time with an id: a shard goes on to know what it holds.
func TestReturnsLeaveNothingBehind(t *testing.T) {
	s := start(t, Config{Replicas: []Replica{replica{reserve: agreeable}}, Shards: 1, Memory: 4 << 20, IdleAfter: time.Hour})
	r := spend("one", 1, "slow")
	r.Receipt = true
	for i := range 10_000 {
		r.ID = strconv.Itoa(i)
		d := decide(t, s, r)
		if back, err := s.Return(t.Context(), r.Key, d.Receipts); err != nil || !back[0] {
			t.Fatalf("return %d of one key: %v, %v; %d bytes are held", i, back, err, s.shards[0].heldNow.Load())
		}
	}
	if held := s.shards[0].heldNow.Load(); held > 100<<10 {
		t.Errorf("%d bytes are held for one key", held)
	}
}
