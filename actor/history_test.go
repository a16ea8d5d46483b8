package actor

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/jeton-dev/jeton/actor/clock"
	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cluster-tests/conformance"
	"github.com/jeton-dev/jeton/storage"
)

// An asked is the input of an operation: how much line, and between which readings of the node clock.
type asked struct{ length, tau, call, done int64 }

// sequential is one bucket whose checks are decided one after another, each at some time t within its call. Its state is
// the TAT. That t is not known, but the receipt of an admission says enough: its span begins at max(TAT, t). A denial
// was right if it was right at the earliest t, or if the check waited for longer than the whole bucket is worth: the line
// may have been passed by meanwhile, and a check keeps the time at which it came.
var sequential = porcupine.Model{
	Init: func() any { return int64(0) },
	Step: func(state, input, output any) (bool, any) {
		tat, in, span := state.(int64), input.(asked), output.(limit.Span)
		if span == (limit.Span{}) {
			return tat+in.length > in.call+in.tau || in.done-in.call > in.tau, tat
		}
		atTAT := span.Start == tat && in.call <= tat
		atT := span.Start >= tat && in.call <= span.Start && span.Start <= in.done
		return (atTAT || atT) && span.End-span.Start == in.length && span.End <= in.done+in.tau, span.End
	},
}

// operations has some callers check one key for a while, by the limit of that name, and tells what they saw.
func operations(tb testing.TB, s *System, now func() int64, key, name string, seed uint64) (ops []porcupine.Operation) {
	tb.Helper()
	rule, _ := s.cfg.Limits().Rule(name)
	var (
		wait sync.WaitGroup
		mu   sync.Mutex
	)
	for i := range 6 {
		wait.Go(func() {
			random := rand.New(rand.NewPCG(seed, uint64(i)))
			for range 12 {
				r := spend(key, 1+random.Int64N(3), name)
				r.Receipt = true
				call := now()
				d, err := s.Check(tb.Context(), r)
				if err != nil {
					tb.Error(err)
					return
				}
				done := now()
				span := limit.Span{}
				if d.Allowed {
					span = d.Receipts[0].Span
				}
				mu.Lock()
				ops = append(ops, porcupine.Operation{
					ClientId: i, Call: call, Return: done, Output: span,
					Input: asked{rule.Length(r.Cost).NS, rule.Reach(), call, done},
				})
				mu.Unlock()
			}
		})
	}
	wait.Wait()
	return ops
}

// TestLinearizable compares short histories of one key with the sequential bucket. Of every second key, tokens come back so slowly that checks are
// denied on a slow machine too.
func TestLinearizable(t *testing.T) {
	for _, d := range durabilities {
		t.Run(string(d), func(t *testing.T) {
			now := clock.New().Now
			doc := document(t, "limits: {quick: {capacity: 8, refill: 1000/s}, slow: {capacity: 8, refill: 20/s}}")
			s := start(t, Config{
				Replicas: []Replica{open(t, storage.Config{Durability: d, Now: now})}, Now: now, Limits: fixed(doc),
			})
			allowed, denied := 0, 0
			for round := range 40 {
				seed := rand.Uint64()
				name := []string{"quick", "slow"}[round%2]
				ops := operations(t, s, now, "key:"+strconv.Itoa(round), name, seed)
				if result := porcupine.CheckOperationsTimeout(sequential, ops, 5*time.Minute); result != porcupine.Ok {
					slices.SortFunc(ops, func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) })
					t.Fatalf("round %d, seed %d: %s\n%+v", round, seed, result, ops)
				}
				for _, op := range ops {
					if op.Output == (limit.Span{}) {
						denied++
					} else {
						allowed++
					}
				}
			}
			if allowed < 100 || denied < 100 {
				t.Errorf("%d admissions and %d denials: the histories show nothing", allowed, denied)
			}
		})
	}
}

// TestSequentialModel shows what the model of the histories refuses.
func TestSequentialModel(t *testing.T) {
	const tau = 100
	op := func(client int, call, done, length int64, span limit.Span) porcupine.Operation {
		return porcupine.Operation{ClientId: client, Call: call, Return: done, Input: asked{length, tau, call, done}, Output: span}
	}
	denied := limit.Span{}
	for what, test := range map[string]struct {
		ok  bool
		ops []porcupine.Operation
	}{
		"one after the other": {true, []porcupine.Operation{
			op(0, 1000, 1010, 60, limit.Span{Start: 1005, End: 1065}), op(0, 1011, 1012, 60, denied), op(0, 1030, 1031, 60, limit.Span{Start: 1065, End: 1125}),
		}},
		"at once": {true, []porcupine.Operation{
			op(0, 1000, 1010, 60, denied), op(1, 1000, 1010, 60, limit.Span{Start: 1005, End: 1065}),
		}},
		"a denial after a long wait": {true, []porcupine.Operation{op(0, 1000, 1101, 60, denied)}},
		"overlapping spans": {false, []porcupine.Operation{
			op(0, 1000, 1010, 60, limit.Span{Start: 1005, End: 1065}), op(1, 1000, 1030, 40, limit.Span{Start: 1005, End: 1045}),
		}},
		"beyond the bucket": {false, []porcupine.Operation{
			op(0, 1000, 1010, 60, limit.Span{Start: 1005, End: 1065}), op(0, 1011, 1012, 60, limit.Span{Start: 1065, End: 1125}),
		}},
		"a denial for nothing":    {false, []porcupine.Operation{op(0, 1000, 1010, 60, denied)}},
		"a span before its call":  {false, []porcupine.Operation{op(0, 1000, 1010, 60, limit.Span{Start: 990, End: 1050})}},
		"a span after its call":   {false, []porcupine.Operation{op(0, 1000, 1010, 60, limit.Span{Start: 1020, End: 1080})}},
		"a span that is short":    {false, []porcupine.Operation{op(0, 1000, 1010, 60, limit.Span{Start: 1005, End: 1050})}},
		"line that was passed by": {false, []porcupine.Operation{op(0, 1000, 1010, 60, limit.Span{Start: 1005, End: 1065}), op(0, 1011, 1050, 10, limit.Span{Start: 1070, End: 1080})}},
	} {
		if ok := porcupine.CheckOperations(sequential, test.ops); ok != test.ok {
			t.Errorf("%s: linearizable = %v", what, ok)
		}
	}
}

// TestSleepAndWake compares decisions with those of the model while actors are forgotten and woken all the time.
func TestSleepAndWake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		random := rand.New(rand.NewPCG(seed, 0))
		now := clock.New().Now
		doc := document(t, strings.ReplaceAll(stored, "}", ", reserve: exact}")) // who holds line stays awake
		regs := newRegisters(now)
		s := start(t, Config{Now: now, Replicas: []Replica{regs}, Limits: fixed(doc)})
		var at int64 // when the check was made: it may have to pause until it knows what a sleeping actor had forgotten
		model := conformance.NewModel(doc, func() int64 { return at })
		names := []string{"demo", "fast", "odd", "slow"}
		woken, allowed := 0, 0
		for range 5000 {
			<-time.After(time.Duration(random.Int64N(int64(1) << (10 + random.IntN(25)))))
			r := spend([]string{"a", "b", "c"}[random.IntN(3)], random.Int64N(1<<random.IntN(5)))
			for _, j := range random.Perm(len(names))[:1+random.IntN(2)] {
				r.Limits = append(r.Limits, limit.Named(names[j]))
			}
			if overview(t, s).Awake == 0 {
				woken++
			}
			at = now()
			want, err := model.Check(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			got := decide(t, s, r)
			if got.Allowed != want.Allowed {
				t.Fatalf("at %d: %+v\ngot  %+v\nwant %+v", at, r, got, want)
			}
			if got.Allowed {
				allowed++
			}
		}
		if woken < 100 || allowed < 1000 || allowed > 4900 {
			t.Errorf("%d wakings and %d admissions: the history shows little", woken, allowed)
		}
	})
}
