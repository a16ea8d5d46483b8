package actor

import (
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/jeton-dev/jeton/actor/clock"
	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/storage"
)

// A life is a System and its Store between two crashes.
type life struct {
	*System
	fs *vfs.MemFS
	at sync.RWMutex // held for writing while the disk is copied: an answer is taken before the crash, or never
	ok bool         // the crash has not happened
}

func begin(tb testing.TB, fs *vfs.MemFS, d storage.Durability, now func() int64) *life {
	tb.Helper()
	store := open(tb, storage.Config{FS: fs, Durability: d, Now: now})
	return &life{System: start(tb, Config{Replicas: []Replica{store}, Now: now}), fs: fs, ok: true}
}

// crash is the disk as a crash leaves it, with that many percent of what was not synced. The old life goes on, but
// sends nothing any more.
func (l *life) crash(random *rand.Rand, percent int) *vfs.MemFS {
	l.at.Lock()
	defer l.at.Unlock()
	l.ok = false
	return l.fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: random})
}

// take adds the receipts of d, unless they came after the crash.
func (l *life) take(all *receipts, key string, cost int64, d limit.Decision) bool {
	l.at.RLock()
	defer l.at.RUnlock()
	if l.ok {
		all.add(key, cost, d)
	}
	return l.ok
}

// TestCrashes crashes a node again and again under load: the receipts of all lives are disjoint.
func TestCrashes(t *testing.T) {
	for _, d := range durabilities {
		t.Run(string(d), func(t *testing.T) {
			seed := rand.Uint64()
			t.Logf("seed %d", seed)
			random := rand.New(rand.NewPCG(seed, 0))
			now := clock.New().Now
			fs := vfs.NewCrashableMem()
			var all receipts
			for n := range 6 {
				l := begin(t, fs, d, now)
				var wait sync.WaitGroup
				enough := make(chan struct{})
				reached := sync.OnceFunc(func() { close(enough) })
				before := all.count()
				for range 8 {
					wait.Go(func() {
						defer reached()
						for i := range 2000 {
							r := spend("user:"+strconv.Itoa(i%7), 1+int64(i%3), "fast")
							r.Receipt = true
							decided, err := l.Check(t.Context(), r)
							if err != nil {
								t.Error(err)
								return
							}
							if !l.take(&all, r.Key, r.Cost, decided) {
								return
							}
							if all.count() > before+300 {
								reached()
							}
						}
					})
				}
				<-enough
				fs = l.crash(random, []int{0, 50, 100}[n%3])
				wait.Wait()
			}
			all.verify(t)
		})
	}
}

// TestRestartExact spends from cold keys, crashes, and spends the rest.
func TestRestartExact(t *testing.T) {
	now := clock.New().Now
	fs := vfs.NewCrashableMem()
	var all receipts
	for n := range int64(5) {
		l := begin(t, fs, storage.Fsync, now)
		for i := range 20 {
			r := spend("user:"+strconv.Itoa(i), 2, "demo")
			r.Receipt = true
			d := decide(t, l.System, r)
			if !d.Allowed || d.Limits[0].Remaining != 8-2*n {
				t.Errorf("life %d: %+v, want %d of 10 remaining", n, d, 8-2*n)
			}
			all.add(r.Key, r.Cost, d)
		}
		fs = l.crash(nil, 0)
	}
	all.verify(t)
	l := begin(t, fs, storage.Fsync, now)
	for i := range 20 {
		if got := drain(t, l.System, "user:"+strconv.Itoa(i), "demo"); got != 0 {
			t.Errorf("%d more than the bucket were admitted after 5 crashes", got)
		}
	}
}

// TestRestartCostsTheReserve spends from keys that are used again at once, ends the node, by a crash or a clean stop, and spends the rest: of each
// bucket no more is missing than its limit says, and of some of them something is.
func TestRestartCostsTheReserve(t *testing.T) {
	for _, c := range []struct {
		limit string
		most  int64 // tokens
	}{
		{"{capacity: 1000, refill: 1/1s}", 50},
		{"{capacity: 1000, refill: 1/1s, reserve: 20%}", 200},
		{"{capacity: 1000, refill: 1/1s, reserve: exact}", 0},
		{"{algorithm: fixed-window, limit: 1000, window: 10m}", 50},
		{"{algorithm: fixed-window, limit: 1000, window: 24h}", 0},
	} {
		t.Run(c.limit, func(t *testing.T) {
			seed := rand.Uint64()
			t.Logf("seed %d", seed)
			random := rand.New(rand.NewPCG(seed, 0))
			var at atomic.Int64 // the clock is the test's
			at.Store(1_700_000_000e9)
			now := at.Load
			limits := fixed(document(t, "limits: {l: "+c.limit+"}\n"))
			const keys = 6
			var spent [keys]int64
			fs, missing, seen := vfs.NewCrashableMem(), [keys]int64{}, false
			for n := range 3 {
				store := open(t, storage.Config{FS: fs, Durability: storage.Fsync, Now: now})
				s := start(t, Config{Replicas: []Replica{store}, Now: now, Limits: limits})
				for i := range keys {
					key := "user:" + strconv.Itoa(i)
					for first := true; random.IntN(8) > 0; first = false {
						cost := 1 + random.Int64N(5)
						d := decide(t, s, spend(key, cost, "l"))
						if !d.Allowed {
							t.Fatalf("%s, of which %d were spent: %+v", key, spent[i], d)
						}
						spent[i] += cost
						if first {
							lost := 1000 - spent[i] - d.Limits[0].Remaining - missing[i]
							if lost < -1 || lost > c.most { // part of a token may have come back
								t.Fatalf("the end of life %d cost %s %d tokens, at most %d may be missing", n, key, lost, c.most)
							}
							missing[i] += lost
							seen = seen || lost > 1
						}
						at.Add(random.Int64N(50e3))
					}
				}
				if n%2 == 0 {
					fs = fs.CrashClone(vfs.CrashCloneCfg{})
					continue
				}
				s.Close()
				if err := store.Close(); err != nil {
					t.Fatal(err)
				}
			}
			if seen != (c.most > 0) {
				t.Errorf("tokens were missing is %v, want %v", seen, c.most > 0)
			}
		})
	}
}

// TestRestartInMemory says what becomes of a node that keeps its registers in memory: exact after a clean stop, emptied
// after a crash.
func TestRestartInMemory(t *testing.T) {
	now := clock.New().Now
	fs := vfs.NewCrashableMem()
	store, err := storage.Open(storage.Config{FS: fs, Dir: "data", Durability: storage.Memory, Now: now})
	if err != nil {
		t.Fatal(err)
	}
	found(t, store)
	s := start(t, Config{Replicas: []Replica{store}, Now: now})
	decide(t, s, spend("a", 4, "demo"))
	s.Close()
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	l := begin(t, fs, storage.Memory, now)
	if got := drain(t, l.System, "a", "demo"); got != 6 {
		t.Errorf("%d were admitted after a clean stop, want 6", got)
	}
	l = begin(t, l.crash(nil, 0), storage.Memory, now)
	for _, key := range []string{"a", "b"} {
		d := decide(t, l.System, spend(key, 1, "demo"))
		if d.Allowed || d.Limits[0].Remaining != 0 || d.Limits[0].RetryAfter <= 0 {
			t.Errorf("%s after a crash: %+v, want an empty bucket", key, d)
		}
		in, err := l.Inspect(t.Context(), key, limit.Named("demo"), "")
		if err != nil || in.Tokens != 0 || in.Registers[0].Floor == 0 || in.TAT <= in.Now {
			t.Errorf("%s after a crash: %+v, %v, want a floor and no tokens", key, in, err)
		}
	}
}
