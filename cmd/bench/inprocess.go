package bench

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/jeton-dev/jeton/actor"
	"github.com/jeton-dev/jeton/actor/clock"
	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cmd/node"
	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/storage"
	"github.com/jeton-dev/jeton/storage/register"
)

// decisions is how many are timed at once.
const decisions = 2_000_000

// decisionAlone times the pure arithmetic of one check, admitted mostly, with a time per token of 10/7 ns.
func decisionAlone(ctx context.Context, t *Tabling, _ storage.Durability) ([]Spread[float64], error) {
	rule, err := limit.Limit{Name: "x", Capacity: 1000, Refill: limit.Refill{Tokens: 700_000_000, Per: time.Second}}.Rule()
	if err != nil {
		return nil, err
	}
	var times, allocations []float64
	tat, now, admitted := limit.Pos{}, time.Now().UnixNano(), 0
	for range 4 * t.rounds() {
		if ctx.Err() != nil {
			return nil, errInterrupted
		}
		before, start := mallocs(), time.Now()
		for range decisions {
			var ok bool
			if tat, ok = rule.Decide(tat, now, 1); ok {
				admitted++
			}
			now += 2
		}
		times = append(times, float64(time.Since(start))/decisions)
		allocations = append(allocations, perOperation(mallocs()-before, decisions))
	}
	if admitted == 0 {
		return nil, errors.New("no decision admitted anything")
	}
	return []Spread[float64]{spreadOf(times), spreadOf(allocations)}, nil
}

// mallocs is how many objects this process has allocated.
func mallocs() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Mallocs
}

// perOperation shares allocations out among operations, to a hundredth: the rest of the process allocates a little too.
func perOperation(allocations uint64, operations int64) float64 {
	return float64(100*allocations/uint64(max(operations, 1))) / 100
}

// embeddedCallers is how many goroutines ask an embedded node.
const embeddedCallers = 16

// embedded asks a node in this process, without any network.
func embedded(keys string) func(context.Context, *Tabling, storage.Durability) ([]Spread[float64], error) {
	return func(ctx context.Context, t *Tabling, d storage.Durability) (spreads []Spread[float64], err error) {
		folder, remove, err := t.folder()
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, remove()) }()
		n, err := node.Open(node.Config{
			Data: filepath.Join(folder, "data"), Durability: d, Logger: slog.New(slog.DiscardHandler),
		})
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, n.Close(context.WithoutCancel(ctx))) }()
		doc, err := limit.ParseDocument([]byte(limitsText))
		if err != nil {
			return nil, err
		}
		n.SetLimits(doc)
		l := Load{Keys: keys}
		if err := l.check(); err != nil {
			return nil, err
		}
		l.Limit = limitOf(&l, false)
		space, err := newKeySpace(l)
		if err != nil {
			return nil, err
		}
		var times, allocations []float64
		for i := range t.rounds() + 1 {
			took, allocated, err := askEmbedded(ctx, n, l, space, t.duration())
			if err != nil {
				return nil, err
			}
			if i > 0 { // the first one was the warm-up
				times, allocations = append(times, took), append(allocations, allocated)
			}
		}
		return []Spread[float64]{spreadOf(times), spreadOf(allocations)}, nil
	}
}

// askEmbedded has all callers check for a while. It returns the microseconds and the allocations that go by for each check.
func askEmbedded(ctx context.Context, n limit.Checker, l Load, space *keySpace, d time.Duration) (took, allocated float64, err error) {
	var (
		callers sync.WaitGroup
		checks  [embeddedCallers]int64
		errs    [embeddedCallers]error
	)
	before, start := mallocs(), time.Now()
	end := start.Add(d)
	for i := range embeddedCallers {
		callers.Go(func() {
			picker, keys := space.pickerOf(l.Seed, i), make([]string, 64)
			r := limit.Request{Limits: []limit.Ref{l.Limit}, Cost: 1}
			for n64 := int64(0); time.Now().Before(end) && ctx.Err() == nil; n64 += 64 {
				picker.pick(keys)
				for _, r.Key = range keys {
					decision, err := n.Check(ctx, r)
					if err == nil && !decision.Allowed {
						err = errors.New("a check was denied: not what was to be measured")
					}
					if err != nil {
						errs[i] = err
						return
					}
				}
				checks[i] = n64 + 64
			}
		})
	}
	callers.Wait()
	elapsed, objects := time.Since(start), mallocs()-before
	if ctx.Err() != nil {
		return 0, 0, errInterrupted
	}
	total := int64(0)
	for _, n := range checks {
		total += n
	}
	if err := errors.Join(errs[:]...); err != nil {
		return 0, 0, err
	}
	return float64(elapsed.Microseconds()) / float64(total), perOperation(objects, total), nil
}

// awakeKeys is how many actors are kept awake to weigh one.
const awakeKeys = 1_000_000

// awakeBuckets weighs what a System alone keeps for a key that is being checked: a replica that accepts everything and
// keeps nothing stands for the storage.
func awakeBuckets(ctx context.Context, _ *Tabling, _ storage.Durability) ([]Spread[float64], error) {
	doc, err := limit.ParseDocument([]byte(limitsText))
	if err != nil {
		return nil, err
	}
	space, err := newKeySpace(Load{Keys: New})
	if err != nil {
		return nil, err
	}
	system, err := actor.New(actor.Config{
		Replicas: []actor.Replica{yes{}}, Limits: func() *limit.Document { return doc }, Now: clock.New().Now,
		IdleAfter: 24 * time.Hour, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return nil, err
	}
	defer system.Close()
	before := liveHeap()
	picker, keys := space.pickerOf(0, 0), make([]string, limit.MaxBatch)
	requests := make([]limit.Request, limit.MaxBatch)
	for range awakeKeys / limit.MaxBatch {
		picker.pick(keys)
		for i, key := range keys {
			requests[i] = limit.Request{Key: key, Limits: []limit.Ref{limit.Named(onceLimit)}, Cost: 1}
		}
		for _, r := range system.CheckBatch(ctx, requests) {
			if r.Err != nil || !r.Decision.Allowed {
				return nil, fmt.Errorf("the first check of a key: %+v", r)
			}
		}
	}
	clear(keys)
	clear(requests)
	bytes := float64(liveHeap()-before) / awakeKeys
	o, err := system.Overview(ctx, 0)
	if err == nil && o.Awake != awakeKeys {
		err = fmt.Errorf("%d actors are awake, not %d", o.Awake, awakeKeys)
	}
	return []Spread[float64]{spreadOf([]float64{bytes})}, err
}

// liveHeap is how many bytes are reachable. What pools hold is dropped by the second collection.
func liveHeap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// yes is a replica that accepts every reservation and keeps none.
type yes struct{}

func (yes) Reserve(rs []register.Reservation, done func([]register.Answer, error)) {
	answers := make([]register.Answer, len(rs))
	for i, m := range rs {
		answers[i] = register.Answer{
			Verdict: register.Accepted, Position: m.To, Generation: m.Generation, Epoch: ring.FirstEpoch,
		}
	}
	done(answers, nil)
}

func (yes) Look(context.Context, ring.Partition, string, string) (storage.Looked, error) {
	return storage.Looked{}, nil
}
